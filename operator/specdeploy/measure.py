"""Reads the counters of one object's pods once a window. I/O; `metrics.windows` keeps the book.

Nothing here can stop a pass: pods that can't be read are told once, counted, and are no evidence.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from specdeploy.api.names import PORT
from specdeploy.metrics.arms import MeasuredPod
from specdeploy.metrics.pods import PodReader, Target
from specdeploy.metrics.pulse import Pulse, Reply
from specdeploy.metrics.sample import Sample, ScrapeFailure
from specdeploy.metrics.windows import MeasuredWindow, WindowBook, window_end, window_index
from specdeploy.rollout import Observation, Pod
from specdeploy.rollout.stalls import Silences

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Whose pods are measured. `model`: the name that they serve; `arms`: template -> arm; `compared`: the
    arms that may differ in nothing but the drafter; `window_seconds` of the spec; `stored`: the last window
    in the stored evidence, None without evidence."""

    uid: str
    label: str
    model: str
    window_seconds: int
    arms: Mapping[str, str]
    compared: Collection[str]
    stored: int | None

    def last_window(self, now: float) -> int:
        """The number of the window that ended last."""
        return window_index(now, seconds=self.window_seconds, uid=self.uid) - 1

    def window_end(self, now: float) -> float:
        """When the window that runs now ends."""
        return window_end(self.last_window(now) + 1, seconds=self.window_seconds, uid=self.uid)


class Watch:
    """Over the pods of one object between its readings: their pulse, and the questions that are open."""

    def __init__(self) -> None:
        self.pulse = Pulse()
        self._open: dict[str, asyncio.Task[Reply]] = {}

    def put(self, uid: str, question: asyncio.Task[Reply] | None) -> None:
        """A question to a pod; None: it could not be put now."""
        if question is not None:
            self._open[uid] = question

    def replies(self) -> dict[str, Reply]:
        """What has come of the questions by now. An answer is told once."""
        told = {uid: _reply(question) for uid, question in self._open.items()}
        self._open = {uid: question for uid, question in self._open.items() if told[uid] is Reply.OPEN}
        return told


def _reply(question: asyncio.Task[Reply]) -> Reply:
    if not question.done():
        return Reply.OPEN
    if question.cancelled():
        return Reply.UNREACHED
    failure = question.exception()
    if failure is not None:
        log.error("a question to a pod failed", exc_info=failure)
        return Reply.UNREACHED
    return question.result()


@dataclass(frozen=True)
class Measured:
    """`window`: the one that has just ended (None: there is nothing to judge); `failures`: pod name -> why
    it could not be read; `silences`: of pods in which nothing moves."""

    window: MeasuredWindow | None
    failures: Mapping[str, ScrapeFailure]
    silences: Silences = field(default_factory=dict)

    @property
    def troubles(self) -> dict[str, str]:
        """What somebody should look into -> why: pods that can't be read, arms that can't be compared."""
        found = {
            f"pod {name} can't be measured": f"{failure.kind}: {failure.message}"
            for name, failure in self.failures.items()
        }
        obstacle = self.window.window.obstacle if self.window else None
        return found if obstacle is None else {**found, obstacle.reason: obstacle.message}


class Measurer:
    """Asks the ready pods of every arm and closes the window."""

    def __init__(self, reader: PodReader, book: WindowBook) -> None:
        self._reader = reader
        self._book = book

    async def version(self, pod: Pod, ip: str) -> str | None:
        """vLLM's version, as the pod's engine tells it; None if it does not."""
        return await self._reader.version(Target(pod.uid, ip, PORT))

    async def measure(
        self, subject: Subject, seen: Observation, ips: Mapping[str, str], watch: Watch
    ) -> Measured | None:
        """The window that ended last. None: it was closed before, its pods are not read again. `ips`: by
        the uid of the pod; `watch`: over the pods of this object."""
        index = subject.last_window(seen.now)
        if self._book.done(subject.uid, index):
            return None
        up = {p.uid: p for p in seen.pods if p.ready and not p.terminating and p.uid in ips}
        ready = [p for p in up.values() if p.template in subject.arms]
        targets = {uid: Target(uid, ips[uid], PORT) for uid in up}
        samples = await self._reader.read(list(targets.values()))
        felt = watch.pulse.feel(samples, watch.replies(), seen.now)
        for uid in felt.ask:
            watch.put(uid, self._reader.question(targets[uid], subject.model))
        edited = {d.template for d in seen.deployments if d.edited}
        window = self._book.close(
            subject.uid,
            index,
            pods=[_measured(p, subject.arms[p.template], edited, seen.now) for p in ready],
            samples=samples,
            window_seconds=float(subject.window_seconds),
            stored_index=subject.stored,
            compared=subject.compared,
        )
        silences = {(uid, up[uid].restarts): silence for uid, silence in felt.silences.items()}
        return Measured(window, _failures(ready, samples), silences)


def tell(label: str, measured: Measured, known: Collection[str]) -> None:
    """Log what is new; `known`: the troubles of the window before. Why a single pod gave no evidence, which
    is nothing unusual, only for debugging."""
    for what, why in measured.troubles.items():
        if what not in known:
            log.warning("%s: %s: %s", label, what, why)
    for pod, gap in measured.window.gaps.items() if measured.window else ():
        log.debug("%s: pod %s gave no evidence: %s: %s", label, pod, gap.reason, gap.message)


def _failures(
    ready: Sequence[Pod], samples: Mapping[str, Sample | ScrapeFailure]
) -> dict[str, ScrapeFailure]:
    return {p.name: answer for p in ready if isinstance(answer := samples[p.uid], ScrapeFailure)}


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
