"""Reads everything one pass needs, live, and hands it on as an Observation. I/O; decides nothing.

Without the object, its Deployments and its pods there is no pass. Whatever else can't be read, or not in
time, is unknown, and the pass goes on.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from specdeploy import judge
from specdeploy.answers import Listener, answers_of, forget_gone, unheard
from specdeploy.api.findings import Reading, read_spec, read_status
from specdeploy.api.names import ANNOTATION_ADOPT, KIND, LABEL_NAME
from specdeploy.api.status import Status, seconds
from specdeploy.cluster import (
    BUDGETS,
    DEPLOYMENTS,
    PODS,
    SERVICES,
    Cluster,
    ClusterError,
    Kind,
    NotFound,
    Object,
)
from specdeploy.engine.catalogue.load import NONE_OWN, Own
from specdeploy.engine.image import vllm_version
from specdeploy.measure import Measured, Measurer, Subject, tell
from specdeploy.memory import Hindrances, Memory
from specdeploy.metrics.sample import ScrapeFailure
from specdeploy.metrics.windows import MeasuredWindow
from specdeploy.nodes import Nodes
from specdeploy.observe import belongs, controller, deployment, owner_words, pods, strayed_labels
from specdeploy.rollout import Deployment, Observation, Pod, Unmade
from specdeploy.rollout.agreement import to_be_heard
from specdeploy.rollout.evidence import compares_serving
from specdeploy.rollout.quiet import overlaid
from specdeploy.rollout.scene import Scene, arms_of, scene, staged
from specdeploy.rollout.stalls import with_stalls

Key = tuple[str, str]


# How long a pass waits for the Service and the budget.
FRAME_SECONDS = 5.0
_FRAME = {SERVICES: "Service", BUDGETS: "PodDisruptionBudget"}
# An engine that does not tell its version is asked again, but not in every pass for ever.
VERSION_TRIES = 3


@dataclass(frozen=True)
class Gathered:
    """One pass's input: the object as read, its status as far as it could be read (`stored`) and with what is
    known since (`status`), what was seen, the live Service and budget by kind (None: there is none; absent:
    it could not be read), the window that has just ended, why pods were not read, and our Deployments with
    edited labels."""

    raw: Object
    stored: Status
    status: Status
    seen: Observation
    frame: Mapping[Kind, Object | None]
    measured: MeasuredWindow | None
    failures: tuple[ScrapeFailure, ...] = ()
    strays: tuple[Object, ...] = ()

    def extended(self) -> "Gathered":
        """The same pass without the window: it goes on until it holds enough."""
        return replace(self, seen=replace(self.seen, window=None))


class Gatherer:
    """Owns the reading side: API server, nodes, pods' counters."""

    def __init__(
        self,
        *,
        cluster: Cluster,
        measurer: Measurer,
        nodes: Nodes,
        clock: Callable[[], float],
        default_image: str,
        catalogue: Own = NONE_OWN,
        crd_outdated: str | None,
    ) -> None:
        self._cluster = cluster
        self._listener = Listener(cluster)
        self._measurer = measurer
        self._nodes = nodes
        self._clock = clock
        self._default_image = default_image
        self._catalogue = catalogue
        self._crd_outdated = crd_outdated

    async def gather(self, raw: Object, memory: Memory, *, slot_free: bool) -> Gathered:
        """Everything about the object `raw`, which was read a moment ago."""
        meta = raw["metadata"]
        namespace, name, uid = meta["namespace"], meta["name"], meta["uid"]
        selector = f"{LABEL_NAME}={name}"
        reading = read_spec(raw.get("spec"))
        stored, lost = read_status(raw.get("status"))
        status = overlaid(stored, memory.kept)
        raw_deployments = await self._cluster.list_all(DEPLOYMENTS, namespace, selector)
        deployments = tuple(deployment(d, uid) for d in raw_deployments)
        raw_pods = await self._cluster.list_all(PODS, namespace, selector)
        live = await self._pods(deployments, raw_pods)
        now = self._clock()
        frame = await self._frame(namespace, name, memory.unread, now)
        seen = Observation(
            now=now,
            name=name,
            namespace=namespace,
            uid=uid,
            generation=int(meta.get("generation") or 0),
            created=seconds(meta["creationTimestamp"]),
            reading=reading,
            annotations=meta.get("annotations") or {},
            deployments=deployments,
            pods=live,
            slot_free=slot_free,
            default_image=self._default_image,
            catalogue=self._catalogue,
            taken=(*_taken(raw, reading, frame), *memory.conflicts.words().values()),
            refused=memory.refused.words(),
            unmade={key: Unmade(found.since, found.words) for key, found in memory.unmade},
            hindered=memory.hindered(now),
            missing_label=await self._missing_label(reading, live),
            # What an old CRD cuts out of a status is no malformed part.
            lost_status=() if memory.pruned else lost,
            crd_outdated=self._crd_outdated or (memory.pruned.sentence if memory.pruned else None),
        )
        ips = _ips(raw_pods)
        seen = await self._heard(seen, status, memory)
        seen = replace(seen, vllm_version=await self._version(seen, status, ips, memory))
        subject = _subject(seen, status)
        measured = await self._measure(subject, seen, ips, memory)
        window = measured.window if measured else None
        told = with_stalls(seen.pods, memory.signs, memory.remade)
        memory.remade = memory.remade.after(told)
        seen = replace(
            seen,
            pods=told,
            window=window.window if window else None,
            window_end=subject.window_end(seen.now) if subject else None,
            unreadable=memory.unreadable,
        )
        failures = tuple(measured.failures.values()) if measured else ()
        strays = tuple(d for d in raw_deployments if belongs(d, uid) and strayed_labels(d))
        return Gathered(
            raw=raw,
            stored=stored,
            status=status,
            seen=seen,
            frame=frame,
            measured=window,
            failures=failures,
            strays=strays,
        )

    async def _frame(
        self, namespace: str, name: str, unread: Hindrances, now: float
    ) -> dict[Kind, Object | None]:
        """The live Service and budget, as far as they can be read, both at once."""
        frame: dict[Kind, Object | None] = {}

        async def look(kind: Kind) -> None:
            what = f"{_FRAME[kind]} {name} can't be read"
            try:
                async with asyncio.timeout(FRAME_SECONDS):
                    frame[kind] = await self._cluster.get(kind, namespace, name)
            except NotFound:
                frame[kind] = None
            except (ClusterError, TimeoutError) as error:
                unread.note(what, str(error) or f"no answer within {FRAME_SECONDS:.0f} s", now)
                return
            unread.clear(what)

        await asyncio.gather(*(look(kind) for kind in _FRAME))
        return frame

    async def _pods(self, deployments: tuple[Deployment, ...], raw_pods: list[Object]) -> tuple[Pod, ...]:
        """Pods of our own Deployments; others may carry our labels."""
        ours = {d.template for d in deployments if d.ours}
        live = [p for p in pods(raw_pods) if p.template in ours]
        kinds = await self._nodes.kinds(p.node for p in live if p.node)
        return tuple(replace(p, gpu=kinds.get(p.node or "")) for p in live)

    async def _missing_label(self, reading: Reading, live: tuple[Pod, ...]) -> str | None:
        if reading.spec is None or not any(p.unschedulable for p in live):
            return None
        return await self._nodes.advice(reading.spec.accelerator)

    async def _heard(self, seen: Observation, status: Status, memory: Memory) -> Observation:
        """The observation with what engines answered before they were ready."""
        forget_gone(memory.heard, seen.pods)
        wanted = to_be_heard(seen.reading.spec, status, seen.pods)
        await self._listener.hear(seen.namespace, wanted, memory.heard)
        return replace(
            seen, answers=answers_of(memory.heard, seen.pods), unheard=unheard(memory.heard, seen.pods)
        )

    async def _version(
        self, seen: Observation, status: Status, ips: Mapping[str, str], memory: Memory
    ) -> str | None:
        """vLLM's version where only an engine can tell it: one is asked, once for each image."""
        view = scene(seen, status)
        if view.spec is None or vllm_version(view.spec, view.image) is not None:
            return None
        stored = status.engine.vllm_version if status.engine and status.engine.image == view.image else None
        if stored is not None:
            return stored
        if memory.version is not None and memory.version[0] == view.image:
            return memory.version[1]
        pod = next((p for p in seen.pods if _may_tell(p, view) and memory.asked[p.uid] < VERSION_TRIES), None)
        if pod is None or pod.uid not in ips:
            return None
        memory.asked[pod.uid] += 1
        told = await self._measurer.version(pod, ips[pod.uid])
        memory.version = None if told is None else (view.image, told)
        return told

    async def _measure(
        self, subject: Subject | None, seen: Observation, ips: Mapping[str, str], memory: Memory
    ) -> Measured | None:
        if subject is None:  # no pod is ready, or the spec can't be read
            memory.unreadable, memory.troubles = {}, {}
            return Measured(None, {})
        measured = await self._measurer.measure(subject, seen, ips, memory.watch)
        if measured is not None:
            tell(subject.label, measured, memory.troubles)
            memory.troubles = measured.troubles
            memory.signs = measured.signs
            memory.unreadable = {name: failure.message for name, failure in measured.failures.items()}
        return measured


def _subject(seen: Observation, status: Status) -> Subject | None:
    """Whose pods are measured now; None while the spec can't be read or no pod is ready."""
    spec = seen.reading.spec
    if spec is None or not any(p.ready for p in seen.pods):
        return None
    return Subject(
        uid=seen.uid,
        label=f"{seen.namespace}/{seen.name}",
        model=spec.served_name,
        window_seconds=spec.trial.window_seconds,
        arms=arms_of(status),
        compared=_compared(seen, status),
        stored=status.trial.last_window if status.trial else None,
    )


def _may_tell(pod: Pod, view: Scene) -> bool:
    """Whether a pod runs the image in force, and answers."""
    return pod.ready and not pod.terminating and view.wanted(pod.template) is not None


def _compared(seen: Observation, status: Status) -> tuple[str, ...]:
    """The arms that judge and guard compare; none while only the baseline serves."""
    serving = (judge.SERVING,) if compares_serving(scene(seen, status), status) else ()
    trial = (judge.TRIAL,) if staged(status) is not None else ()
    return (judge.BASELINE, *trial, *serving) if trial or serving else ()


def _ips(raw_pods: list[Object]) -> dict[str, str]:
    return {p["metadata"]["uid"]: p["status"]["podIP"] for p in raw_pods if p.get("status", {}).get("podIP")}


def _taken(raw: Object, reading: Reading, frame: Mapping[Kind, Object | None]) -> tuple[str, ...]:
    """Objects of our names that belong to others; a Service only where we would make one."""
    wants_service = reading.spec is not None and reading.spec.service.create
    found = ((kind, live) for kind, live in frame.items() if kind is not SERVICES or wants_service)
    return tuple(
        name_taken(_FRAME[kind], raw, live) for kind, live in found if live and not may_write(raw, live)
    )


def may_write(raw: Object, live: Object) -> bool:
    """Whether a live object of one of our names is ours, or an orphan that we were asked to adopt."""
    if belongs(live, raw["metadata"]["uid"]):
        return True
    return _orphan(raw, live) and (raw["metadata"].get("annotations") or {}).get(ANNOTATION_ADOPT) == "true"


def _orphan(raw: Object, live: Object) -> bool:
    """Made for a SpecDeployment of this name, and controlled by nobody."""
    label = (live["metadata"].get("labels") or {}).get(LABEL_NAME)
    return controller(live) is None and label == raw["metadata"]["name"]


def name_taken(kind: str, raw: Object, live: Object) -> str:
    """Who holds one of our names, and what to do."""
    what, owner = f"{kind} {live['metadata']['name']}", controller(live)
    if owner is not None and (owner.get("kind"), owner.get("name")) == (KIND, raw["metadata"]["name"]):
        return f"{what} is left over from a deleted {KIND} of this name; waiting until it is collected"
    fixes = ["delete it", f"give the {KIND} another name"]
    if _orphan(raw, live):
        fixes.append(f'annotate the {KIND} with {ANNOTATION_ADOPT}: "true" to take it over')
    if kind == "Service":
        fixes.append("set spec.service.create: false")
    return f"{what} belongs to {owner_words(live)} and is not taken over; {', or '.join(fixes)}"
