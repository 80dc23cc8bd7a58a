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
from specdeploy.metrics.pulse import Felt, Key, Pulse, Reply
from specdeploy.metrics.sample import Sample, ScrapeFailure
from specdeploy.metrics.windows import MeasuredWindow, WindowBook, window_end, window_index
from specdeploy.rollout import Observation, Pod
from specdeploy.rollout.stalls import Signs

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
        self._pulse = Pulse()
        self._questions: dict[Key, asyncio.Task[Reply]] = {}

    def put(self, key: Key, question: asyncio.Task[Reply] | None) -> None:
        """A question to a pod; None: it could not be put now."""
        if question is not None:
            self._questions[key] = question

    def feel(self, samples: Mapping[Key, Sample | ScrapeFailure], now: float) -> Felt:
        """Take in a reading, with what has come of the questions by now: of those that could be read."""
        open_ = {key: question for key, question in self._questions.items() if key in samples}
        read = {key for key, answer in samples.items() if isinstance(answer, Sample)}
        replies = {key: _reply(question) for key, question in open_.items() if key in read}
        over = {key for key, reply in replies.items() if reply is not Reply.OPEN}
        self._questions = {key: question for key, question in open_.items() if key not in over}
        return self._pulse.feel(samples, replies, now)


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
    it could not be read; `signs`: of life, of all pods that are ready."""

    window: MeasuredWindow | None
    failures: Mapping[str, ScrapeFailure]
    signs: Signs = field(default_factory=dict)

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
        felt = watch.feel({(uid, up[uid].restarts): answer for uid, answer in samples.items()}, seen.now)
        for key in felt.ask:
            watch.put(key, self._reader.question(targets[key[0]], subject.model))
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
        return Measured(window, _failures(ready, samples), felt.signs)


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
