"""A cluster in miniature: Deployments make pods, pods take a GPU, load, serve, drain and go. Virtual time.

The operator's Plan goes in (`apply`), its Observation's Deployments and pods come out. Everything happens at
once but what takes time: loading and draining.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from specdeploy.engine.revision import RENDER_VERSION
from specdeploy.rollout import Deployment, Exit, Plan, Pod
from specdeploy.simulation.load import Place
from specdeploy.simulation.pods import Engine

_NODE, _IMAGE = "gpu-node", "sha256:simulated"
_NO_GPU = "0/1 nodes are available: 1 Insufficient amd.com/gpu"
_CRASH = Exit(1, "Error", "RuntimeError: HIP error: an illegal memory access was encountered")


class Times(NamedTuple):
    """Seconds until an engine is ready, and until one that leaves is gone."""

    load: float
    drain: float


@dataclass
class LivePod:
    """A pod. Instants in seconds since the epoch; `placed` None: no GPU is free for it."""

    name: str
    template: str
    drafter: str
    created: float
    place: int | None = None
    engine: Engine | None = None
    running_since: float | None = None
    ready_at: float = float("inf")
    gone_at: float | None = None
    ready: bool = False
    restarts: int = 0
    exit: Exit | None = None

    def seen(self) -> Pod:
        """As the operator sees it."""
        return Pod(
            name=self.name,
            uid=self.name,
            template=self.template,
            created=self.created,
            ready=self.ready,
            ready_since=self.ready_at if self.ready else None,
            terminating=self.gone_at is not None,
            gone_by=self.gone_at,
            started=self.ready,
            running_since=self.running_since,
            restarts=self.restarts,
            node=None if self.place is None else _NODE,
            image_id=_IMAGE,
            unschedulable=_NO_GPU if self.place is None else None,
            exit=self.exit,
        )


class Cluster:
    """One SpecDeployment's children on `places`, one GPU set each."""

    def __init__(self, name: str, places: tuple[Place, ...], times: dict[str, Times]) -> None:
        self._name = name
        self._places = places
        self._times = times
        self._serial = 0
        self.deployments: dict[str, Deployment] = {}
        self.pods: list[LivePod] = []

    def queues(self) -> tuple[float, ...]:
        """The requests that wait on each place."""
        waiting = {id(pod.engine.place): pod.engine.queue for pod in self.serving() if pod.engine is not None}
        return tuple(waiting.get(id(place), 0.0) for place in self._places)

    def serving(self) -> list[LivePod]:
        """The pods that get requests."""
        return [p for p in self.pods if p.ready]

    def next_change(self) -> float:
        """When a pod becomes ready or goes, if nothing else happens."""
        moments = [p.ready_at for p in self.pods if not p.ready and p.gone_at is None]
        return min([*moments, *(p.gone_at for p in self.pods if p.gone_at is not None)], default=float("inf"))

    def settle(self, now: float) -> bool:
        """Let everything happen that is due: pods go, come, and become ready. Whether anything changed."""
        before = [(p.name, p.ready, p.place, p.gone_at) for p in self.pods]
        self.pods = [p for p in self.pods if p.gone_at is None or p.gone_at > now]
        for deployment in self.deployments.values():
            self._scale(deployment, now)
        self._schedule(now)
        for pod in self.pods:
            if pod.gone_at is None and pod.ready_at <= now:
                pod.ready, pod.exit = True, None
        return before != [(p.name, p.ready, p.place, p.gone_at) for p in self.pods]

    def apply(self, todo: Plan) -> bool:
        """Do what the operator plans. Whether there was anything to do."""
        for gone in todo.delete:
            del self.deployments[gone.template]
        for existing, replicas in todo.scale:
            self.deployments[existing.template] = replace(existing, replicas=replicas)
        for template, replicas in todo.create:
            self.deployments[template.hash] = Deployment(
                name=f"{self._name}-{template.drafter}-{template.hash}",
                uid=f"uid-{template.hash}",
                resource_version="1",
                template=template.hash,
                revision=template.revision,
                drafter=template.drafter,
                shape=template.shape,
                render_version=RENDER_VERSION,
                replicas=replicas,
            )
        return bool(todo.delete or todo.scale or todo.create)

    def lose(self, template: str | None) -> LivePod | None:
        """A node takes a ready pod of a template with it; its Deployment makes another one."""
        pod = next((p for p in self.pods if p.ready and p.template == template), None)
        if pod is not None:
            self.pods.remove(pod)
        return pod

    def crash(self, drafter: str, now: float) -> LivePod | None:
        """The engine of a drafter's ready pod exits; the kubelet starts it again."""
        pod = next((p for p in self.pods if p.ready and p.drafter == drafter), None)
        if pod is not None:
            pod.ready, pod.exit = False, _CRASH
            pod.restarts += 1
            pod.running_since, pod.ready_at = now, now + self._times[drafter].load
        return pod

    def _scale(self, deployment: Deployment, now: float) -> None:
        mine = [p for p in self.pods if p.template == deployment.template and p.gone_at is None]
        for _ in range(deployment.replicas - len(mine)):
            self._serial += 1
            name = f"{deployment.name}-{self._serial}"
            self.pods.append(LivePod(name, deployment.template, deployment.drafter, now))
        # A ReplicaSet picks those first that are not ready, then the youngest.
        first = sorted(mine, key=lambda p: (p.ready, -p.created))
        for pod in first[: max(0, len(mine) - deployment.replicas)]:
            pod.ready = False
            pod.gone_at = now + (self._times[pod.drafter].drain if pod.place is not None else 0.0)

    def _schedule(self, now: float) -> None:
        free = sorted(set(range(len(self._places))) - {p.place for p in self.pods if p.place is not None})
        for pod in self.pods:
            if pod.place is None and pod.gone_at is None and free:
                pod.place = free.pop(0)
                pod.engine = Engine(self._places[pod.place])
                pod.running_since, pod.ready_at = now, now + self._times[pod.drafter].load
