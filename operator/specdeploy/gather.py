"""Reads everything one pass needs, live, and hands it on as an Observation. I/O; decides nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from specdeploy.api.findings import Reading, read_spec, read_status
from specdeploy.api.names import ANNOTATION_ADOPT, BASELINE, LABEL_NAME, PORT
from specdeploy.api.status import Status, seconds
from specdeploy.cluster import BUDGETS, DEPLOYMENTS, PODS, SERVICES, Cluster, Kind, NotFound, Object
from specdeploy.engine.accelerators import missing_label_advice
from specdeploy.judge import BASELINE as BASELINE_ARM
from specdeploy.judge import SERVING, TRIAL
from specdeploy.metrics.arms import MeasuredPod
from specdeploy.metrics.pods import PodReader, Target
from specdeploy.metrics.sample import ScrapeFailure
from specdeploy.metrics.windows import MeasuredWindow, WindowBook, window_end, window_index
from specdeploy.nodes import Nodes
from specdeploy.observe import belongs, deployment, owner_words, pods
from specdeploy.rollout import Deployment, Observation, Pod

Key = tuple[str, str]


@dataclass
class Memory:
    """What is remembered of one object between passes, in this process only. Losing it costs a window.

    `refused`: template -> the API server's words. `conflicts`: names of ours that others hold. `pruned`:
    why the CRD is too old for us, and the status that it cut, so that it is not written for ever.
    """

    refused: dict[str, str] = field(default_factory=dict)
    conflicts: dict[str, str] = field(default_factory=dict)
    pruned: str | None = None
    sent: Mapping[str, Any] | None = None
    unreadable: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Gathered:
    """One pass's input: the object as read, its status as far as it could be read, what was seen, the live
    Service and budget (None if there are none), and the window that has just ended."""

    raw: Object
    status: Status
    seen: Observation
    service: Object | None
    budget: Object | None
    measured: MeasuredWindow | None

    def extended(self) -> "Gathered":
        """The same pass without the window: it goes on until it holds enough."""
        return replace(self, seen=replace(self.seen, window=None))


class Gatherer:
    """Owns the reading side: API server, nodes, pods' counters."""

    def __init__(
        self,
        *,
        cluster: Cluster,
        reader: PodReader,
        book: WindowBook,
        nodes: Nodes,
        clock: Callable[[], float],
        default_image: str,
        crd_outdated: str | None,
    ) -> None:
        self._cluster = cluster
        self._reader = reader
        self._book = book
        self._nodes = nodes
        self._clock = clock
        self._default_image = default_image
        self._crd_outdated = crd_outdated

    async def gather(self, raw: Object, memory: Memory, *, slot_free: bool) -> Gathered:
        """Everything about the object `raw`, which was read a moment ago."""
        meta = raw["metadata"]
        namespace, name, uid = meta["namespace"], meta["name"], meta["uid"]
        selector = f"{LABEL_NAME}={name}"
        reading = read_spec(raw.get("spec"))
        status, lost = read_status(raw.get("status"))
        deployments = [
            deployment(d, uid) for d in await self._cluster.list_all(DEPLOYMENTS, namespace, selector)
        ]
        raw_pods = await self._cluster.list_all(PODS, namespace, selector)
        ours = {d.template for d in deployments if d.ours}
        kinds = await self._nodes.kinds(p["spec"]["nodeName"] for p in raw_pods if p["spec"].get("nodeName"))
        live = tuple(p for p in pods(raw_pods, kinds) if p.template in ours)
        service = await self._maybe(SERVICES, namespace, name)
        budget = await self._maybe(BUDGETS, namespace, name)
        now = self._clock()
        measured = await self._measure(uid, reading, status, deployments, live, _ips(raw_pods), memory, now)
        seen = Observation(
            now=now,
            name=name,
            namespace=namespace,
            uid=uid,
            generation=int(meta.get("generation") or 0),
            created=_created(meta),
            reading=reading,
            annotations=meta.get("annotations") or {},
            deployments=tuple(deployments),
            pods=live,
            window=measured.window if measured else None,
            window_end=self._next_end(uid, reading, live, now),
            slot_free=slot_free,
            default_image=self._default_image,
            taken=self._taken(raw, reading, service, budget, memory),
            refused=memory.refused,
            unreadable=memory.unreadable,
            missing_label=await self._missing_label(reading, live),
            lost_status=lost,
            crd_outdated=self._crd_outdated or memory.pruned,
        )
        return Gathered(raw, status, seen, service, budget, measured)

    async def _maybe(self, kind: Kind, namespace: str, name: str) -> Object | None:
        try:
            return await self._cluster.get(kind, namespace, name)
        except NotFound:
            return None

    def _taken(
        self, raw: Object, reading: Reading, service: Object | None, budget: Object | None, memory: Memory
    ) -> tuple[str, ...]:
        wants_service = reading.spec is None or reading.spec.service.create
        found = [("Service", service)] if wants_service else []
        found.append(("PodDisruptionBudget", budget))
        words = [
            name_taken(kind, live) for kind, live in found if live is not None and not may_write(raw, live)
        ]
        return (*words, *memory.conflicts.values())

    async def _missing_label(self, reading: Reading, live: tuple[Pod, ...]) -> str | None:
        wanted = reading.spec.accelerator if reading.spec else None
        if wanted is None or wanted.type is None or not any(p.unschedulable for p in live):
            return None
        if await self._nodes.offers(wanted.type):
            return None
        return missing_label_advice(wanted.type, wanted.resource_name)

    def _next_end(self, uid: str, reading: Reading, live: tuple[Pod, ...], now: float) -> float | None:
        if reading.spec is None or not any(p.ready for p in live):
            return None
        length = reading.spec.trial.window_seconds
        return window_end(window_index(now, seconds=length, uid=uid), seconds=length, uid=uid)

    async def _measure(
        self,
        uid: str,
        reading: Reading,
        status: Status,
        deployments: list[Deployment],
        live: tuple[Pod, ...],
        ips: Mapping[str, str],
        memory: Memory,
        now: float,
    ) -> MeasuredWindow | None:
        """The window that ended last, if it was not closed yet."""
        if reading.spec is None or not any(p.ready for p in live):
            return None
        length = reading.spec.trial.window_seconds
        index = window_index(now, seconds=length, uid=uid) - 1
        if self._book.done(uid, index):
            return None
        arms = arms_of(status)
        ready = [p for p in live if p.ready and not p.terminating and p.template in arms and p.uid in ips]
        samples = await self._reader.read([Target(p.uid, ips[p.uid], PORT) for p in ready])
        memory.unreadable = {
            p.name: s.message for p in ready if isinstance(s := samples.get(p.uid), ScrapeFailure)
        }
        edited = {d.template for d in deployments if d.edited}
        stored = status.trial.last_window if status.trial else None
        return self._book.close(
            uid,
            index,
            pods=[_measured(p, arms[p.template], edited, now) for p in ready],
            samples=samples,
            window_seconds=float(length),
            stored_index=stored,
        )


def arms_of(status: Status) -> dict[str, str]:
    """Template -> arm. Where the baseline serves, its pods are the baseline arm."""
    arms: dict[str, str] = {}
    if status.trial is not None:
        arms[status.trial.template] = TRIAL
    if status.serving is not None:
        arms[status.serving.template] = BASELINE_ARM if status.serving.name == BASELINE else SERVING
    if status.baseline is not None:
        arms[status.baseline.template] = BASELINE_ARM
    return arms


def _measured(pod: Pod, arm: str, edited: set[str], now: float) -> MeasuredPod:
    return MeasuredPod(
        uid=pod.uid,
        name=pod.name,
        arm=arm,
        ready_seconds=None if pod.ready_since is None else max(0.0, now - pod.ready_since),
        restart_count=pod.restarts,
        image_id=pod.image_id or "",
        gpu=pod.gpu or "",
        template_edited=pod.template in edited,
    )


def _ips(raw_pods: list[Object]) -> dict[str, str]:
    return {p["metadata"]["uid"]: p["status"]["podIP"] for p in raw_pods if p.get("status", {}).get("podIP")}


def _created(meta: Mapping[str, Any]) -> float:

    return seconds(meta["creationTimestamp"])


def may_write(raw: Object, live: Object) -> bool:
    """Whether a live object of one of our names is ours, or an orphan that we were asked to adopt."""
    meta = raw["metadata"]
    if belongs(live, meta["uid"]):
        return True
    orphan = not any(o.get("controller") for o in live["metadata"].get("ownerReferences") or [])
    labelled = (live["metadata"].get("labels") or {}).get(LABEL_NAME) == meta["name"]
    return orphan and labelled and (meta.get("annotations") or {}).get(ANNOTATION_ADOPT) == "true"


def name_taken(kind: str, live: Object) -> str:
    """Who holds one of our names, and what to do."""
    meta = live["metadata"]
    fix = "delete it, or give the SpecDeployment another name"
    if kind == "Service":
        fix += ", or set spec.service.create: false"
    return f"{kind} {meta['name']} belongs to {owner_words(live)} and is not taken over; {fix}"
