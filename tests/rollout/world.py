"""A cluster in miniature and in virtual time: Deployments make pods, pods load, serve, drain and go.

The real `advance` and `plan` run over it, pass by pass, as the reconciler would run them. What happens is
written down as a transcript, one line for each change that a person would see.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from specdeploy.api.findings import read_spec, read_status
from specdeploy.api.status import Status
from specdeploy.gather import arms_of
from specdeploy.judge import PodWindow, Window
from specdeploy.rollout import Deployment, Exit, Observation, Pod, advance, plan

START = 1_800_000_000.0


@dataclass
class Engine:
    """How the engine of a drafter behaves: speed relative to the baseline, seconds to load, its failure."""

    speed: float = 1.0
    load: float = 20.0
    crash: Exit | None = None
    never_ready: bool = False
    unschedulable: bool = False


@dataclass
class LivePod:
    uid: str
    template: str
    drafter: str
    created: float
    leaves: float | None = None
    restarts: int = 0


@dataclass
class LiveDeployment:
    name: str
    template: str
    revision: str
    drafter: str
    shape: str
    replicas: int
    version: int = 1
    manager: str = ""


@dataclass
class World:
    """One SpecDeployment and its children. `step` runs one pass and lets the cluster follow."""

    spec: dict[str, Any]
    engines: dict[str, Engine] = field(default_factory=dict)
    tick: float = 5.0
    drain: float = 10.0
    noise: float = 0.05
    now: float = START
    status: dict[str, Any] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    slot_free: bool = True
    traffic: bool = True
    refused: dict[str, str] = field(default_factory=dict)
    deployments: dict[str, LiveDeployment] = field(default_factory=dict)
    pods: list[LivePod] = field(default_factory=list)
    transcript: list[str] = field(default_factory=list)
    most_pods: int = 0
    generation: int = 1
    _serial: int = 0
    _window: int = -1
    _line: str = ""
    _rng: random.Random = field(default_factory=lambda: random.Random(7))

    def engine(self, drafter: str) -> Engine:
        return self.engines.get(drafter, Engine())

    # -- what a pass sees ---------------------------------------------------------------------------

    def observe(self) -> Observation:
        reading = read_spec(self.spec)
        status, lost = read_status(self.status)
        return Observation(
            now=self.now,
            name="gemma",
            namespace="default",
            uid="uid-1",
            generation=self.generation,
            created=START,
            reading=reading,
            annotations=self.annotations,
            deployments=tuple(self._deployment(d) for d in self.deployments.values()),
            pods=tuple(self._pod(p) for p in self.pods),
            window=self._window_for(status),
            window_end=START + (self._index() + 1) * self.window_seconds,
            slot_free=self.slot_free,
            default_image="vllm/vllm-openai-rocm:v0.33.0",
            refused=self.refused,
            lost_status=lost,
        )

    @property
    def window_seconds(self) -> float:
        return float(self.spec.get("trial", {}).get("windowSeconds", 60))

    def _index(self) -> int:
        return int((self.now - START) // self.window_seconds)

    def _deployment(self, d: LiveDeployment) -> Deployment:
        return Deployment(
            name=d.name, uid=f"uid-{d.name}", resource_version=str(d.version), template=d.template,
            revision=d.revision, drafter=d.drafter, shape=d.shape, render_version=1, replicas=d.replicas,
            replicas_manager=d.manager,
        )  # fmt: skip

    def _ready(self, pod: LivePod) -> bool:
        engine = self.engine(pod.drafter)
        if engine.crash or engine.never_ready or engine.unschedulable or pod.leaves is not None:
            return False
        return self.now >= pod.created + engine.load

    def _pod(self, pod: LivePod) -> Pod:
        engine = self.engine(pod.drafter)
        ready = self._ready(pod)
        loaded = self.now >= pod.created + engine.load
        crashed = engine.crash if loaded else None
        return Pod(
            name=f"gemma-{pod.drafter}-{pod.uid}",
            uid=pod.uid,
            template=pod.template,
            created=pod.created,
            ready=ready,
            ready_since=pod.created + engine.load if ready else None,
            terminating=pod.leaves is not None,
            started=ready,
            restarts=pod.restarts + (1 if crashed else 0),
            node=None if engine.unschedulable else "n1",
            image_id="sha256:1",
            unschedulable="0/1 nodes: Insufficient amd.com/gpu" if engine.unschedulable else None,
            exit=crashed,
        )

    def _window_for(self, status: Status) -> Window | None:
        index = self._index() - 1
        if index <= self._window or not any(self._ready(p) for p in self.pods):
            return None
        self._window = index
        begun = self.now - self.window_seconds
        arms: dict[str, tuple[PodWindow, ...]] = {}
        roles = arms_of(status)
        for pod in self.pods:
            since = pod.created + self.engine(pod.drafter).load
            if self._ready(pod) and since <= begun and pod.template in roles and self.traffic:
                arm = roles[pod.template]
                arms[arm] = (*arms.get(arm, ()), self._pod_window(pod, since))
        return Window(index, self.window_seconds, arms)

    def _pod_window(self, pod: LivePod, since: float) -> PodWindow:
        speed = 60.0 * self.engine(pod.drafter).speed * (1 + self._rng.gauss(0, self.noise))
        tokens, requests = 100.0 * self.window_seconds, 20.0
        return PodWindow(
            pod=pod.uid,
            seconds=self.window_seconds,
            generation_tokens=tokens + requests,
            first_tokens=requests,
            itl_seconds=tokens / speed,
            requests_running=3.0,
            requests_waiting=0.0,
            finished_since_ready=1000.0,
            ready_seconds=self.now - since,
        )

    # -- one pass -----------------------------------------------------------------------------------

    def step(self, *, die_before_children: bool = False) -> None:
        """One pass of the operator, then the cluster follows for one tick."""
        seen = self.observe()
        step = advance(seen, read_status(self.status)[0])
        self.status = step.status.wire()
        for event in step.events:
            self._say(f"  {event.type}/{event.reason}: {event.message}")
        if not die_before_children:
            self._apply(seen)
        self._show()
        self.follow()

    def _apply(self, seen: Observation) -> None:
        stored = read_status(self.status)[0]
        todo = plan(seen, stored)
        for gone in todo.delete:
            del self.deployments[gone.template]
        for existing, replicas in todo.scale:
            live = self.deployments[existing.template]
            live.replicas, live.version, live.manager = replicas, live.version + 1, ""
        for template, replicas in todo.create:
            if template.hash in self.refused:
                continue
            self.deployments[template.hash] = LiveDeployment(
                f"gemma-{template.drafter}-{template.hash}", template.hash, template.revision,
                template.drafter, template.shape, replicas,
            )  # fmt: skip

    def follow(self) -> None:
        """The controllers and the kubelet do their part; time passes."""
        for deployment in self.deployments.values():
            mine = [p for p in self.pods if p.template == deployment.template and p.leaves is None]
            for _ in range(deployment.replicas - len(mine)):
                self._serial += 1
                self.pods.append(
                    LivePod(f"p{self._serial}", deployment.template, deployment.drafter, self.now)
                )
            surplus = len(mine) - deployment.replicas
            for pod in sorted(mine, key=self._ready)[: max(0, surplus)]:
                pod.leaves = self.now + self.drain
        self.most_pods = max(self.most_pods, len([p for p in self.pods if p.leaves is None]))
        self.now += self.tick
        self.pods = [p for p in self.pods if p.leaves is None or p.leaves > self.now]

    def run(self, seconds: float, until: Callable[["World"], bool] | None = None) -> "World":
        end = self.now + seconds
        while self.now < end and not (until and until(self)):
            self.step()
        return self

    # -- what a person sees -------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        self.transcript.append(f"{self.now - START:6.0f}s {text}")

    def _show(self) -> None:
        status = read_status(self.status)[0]
        counts = {d.drafter: d.replicas for d in self.deployments.values() if d.replicas}
        pods = " ".join(f"{name}={n}" for name, n in sorted(counts.items()))
        trial = status.trial.summary if status.trial else "-"
        ready = status.condition("Ready")  # type: ignore[arg-type]
        serving = status.serving.name if status.serving else "-"
        speed = (status.serving.summary if status.serving else None) or "-"
        line = " | ".join(
            [
                status.capacity.summary if status.capacity else "-",
                serving,
                trial or "-",
                speed,
                ready.reason if ready else "-",
                pods or "no pods",
            ]
        )
        if line != self._line:
            self._line = line
            self._say(line)

    @property
    def typed(self) -> Status:
        return read_status(self.status)[0]

    def verdicts(self) -> dict[str, str]:
        return {v.drafter: v.outcome.value for v in self.typed.verdicts or []}

    def serving(self) -> str:
        return self.typed.serving.name if self.typed.serving else "-"

    def replicas(self) -> dict[str, int]:
        return {d.drafter: d.replicas for d in self.deployments.values() if d.replicas}

    def idle(self) -> bool:
        return self.typed.trial is None and self.now > START + 60

    def change(self, **spec: Any) -> "World":
        self.spec = {**self.spec, **spec}
        self.generation += 1
        return self


def drafter(name: str, method: str = "eagle3", n: int = 3) -> dict[str, Any]:
    return {"name": name, "method": method, "model": f"org/{name}", "numSpeculativeTokens": n}


def spec(*drafters: dict[str, Any], replicas: int = 4, **more: Any) -> dict[str, Any]:
    trial = {"windowSeconds": 10, "warmupSeconds": 20, "deadlineSeconds": 1200, **more.pop("trial", {})}
    return {"model": "org/target", "replicas": replicas, "drafters": list(drafters), "trial": trial, **more}


