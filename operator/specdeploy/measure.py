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
from specdeploy.rollout.observation import Silence

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


@dataclass(frozen=True)
class Measured:
    """`window`: the one that has just ended (None: there is nothing to judge); `failures`: pod name -> why
    it could not be read; `silences`: of pods that give no token, by name."""

    window: MeasuredWindow | None
    failures: Mapping[str, ScrapeFailure]
    silences: Mapping[str, Silence] = field(default_factory=dict)

    @property
    def troubles(self) -> dict[str, str]:
        """What somebody should look into -> why: pods that can't be read, arms that can't be compared."""
        found = {
            f"pod {name} can't be measured": f"{failure.kind}: {failure.message}"
            for name, failure in self.failures.items()
        }
        found |= {
            f"pod {name} gives no token": f"{silence.held:.0f} requests are held"
            for name, silence in self.silences.items()
            if silence.seconds > 0
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
        self, subject: Subject, seen: Observation, ips: Mapping[str, str], pulse: Pulse
    ) -> Measured | None:
        """The window that ended last. None: it was closed before, its pods are not asked again. `ips`: by
        the uid of the pod; `pulse`: of this object."""
        index = subject.last_window(seen.now)
        if self._book.done(subject.uid, index):
            return None
        ready = [p for p in seen.pods if _measurable(p, subject.arms) and p.uid in ips]
        targets = {p.uid: Target(p.uid, ips[p.uid], PORT) for p in ready}
        samples = await self._reader.read(list(targets.values()))
        replies = await self._ask([targets[uid] for uid in pulse.feel(samples)], subject.model)
        silences = pulse.note(samples, replies, seen.now)
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
        silent = {p.name: silences[p.uid] for p in ready if p.uid in silences}
        return Measured(window, _failures(ready, samples), silent)

    async def _ask(self, targets: Sequence[Target], model: str) -> dict[str, Reply]:
        replies = await asyncio.gather(*(self._reader.ask(target, model) for target in targets))
        return {target.uid: reply for target, reply in zip(targets, replies, strict=True)}


def tell(label: str, measured: Measured, known: Collection[str]) -> None:
    """Log what is new; `known`: the troubles of the window before. Why a single pod gave no evidence, which
    is nothing unusual, only for debugging."""
    for what, why in measured.troubles.items():
        if what not in known:
            log.warning("%s: %s: %s", label, what, why)
    for pod, gap in measured.window.gaps.items() if measured.window else ():
        log.debug("%s: pod %s gave no evidence: %s: %s", label, pod, gap.reason, gap.message)


def _measurable(pod: Pod, arms: Mapping[str, str]) -> bool:
    return pod.ready and not pod.terminating and pod.template in arms


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
