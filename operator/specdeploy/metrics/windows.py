"""Holds the samples between passes and closes windows from them. Pure: no I/O, no clock; memory only.

    read pods  ->  WindowBook.close  ->  judge, decide, write status  ->  commit or extend

Nothing is lost when a status write fails. A closed window stays as it is until `commit`, so the same pass
again sees the same numbers. If the write never comes, the next close covers both periods, since only a commit
or a restart of the engine moves a start sample. After a restart of the operator the book is empty, which
costs one window.
"""

import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from specdeploy.judge import Obstacle, PodWindow, Reason, Window
from specdeploy.metrics.arms import MeasuredPod, obstacle
from specdeploy.metrics.difference import Gap, difference
from specdeploy.metrics.figures import ArmFigures, arm_figures
from specdeploy.metrics.sample import Sample, ScrapeFailure

LONGEST_PERIOD_SECONDS = 600.0
"""How far the judge extends a window; a start sample older than this and two windows more is dropped."""

SHORTEST_SHARE = 0.5
"""A pod seen for a smaller share of a window keeps its start sample and is measured in the next one."""


def window_index(now: float, *, seconds: int, uid: str) -> int:
    """The number of the window that runs at `now` (Unix seconds).

    Windows of different objects begin at different whole seconds, so that not all pods are read at once.
    """
    return int((now - _phase(seconds, uid)) // seconds)


def window_end(index: int, *, seconds: int, uid: str) -> float:
    """When window `index` ends; at this very instant `window_index` gives the next number."""
    return float((index + 1) * seconds + _phase(seconds, uid))


def _phase(seconds: int, uid: str) -> int:
    return zlib.crc32(uid.encode()) % seconds


@dataclass(frozen=True, slots=True)
class MeasuredWindow:
    """`window` is for the judge, `figures` (by arm) for telemetry, `gaps` (by pod name) tell what is missing.

    A pod that restarted is a gap, and in `window` too, with `restarts` 1 and no counts: the judge must know.
    """

    window: Window
    figures: Mapping[str, ArmFigures] = field(default_factory=dict)
    gaps: Mapping[str, Gap] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Start:
    sample: Sample
    restart_count: int


@dataclass(frozen=True, slots=True)
class _PodResult:
    """One pod in one window, and its next start sample if the window is committed or extended."""

    outcome: PodWindow | Gap
    if_committed: _Start | None
    if_extended: _Start | None


@dataclass(frozen=True, slots=True)
class _Closed:
    """A window that waits for commit or extend, with the start samples after either."""

    measured: MeasuredWindow
    if_committed: Mapping[str, _Start]
    if_extended: Mapping[str, _Start]


@dataclass(slots=True)
class _Entry:
    """One object: start samples by pod uid, the last window done with, and the one that waits."""

    starts: Mapping[str, _Start]
    done_index: int | None = None
    closed: _Closed | None = None


class WindowBook:
    """Start samples and the waiting window of each SpecDeployment. `key` is the object's uid.

    Bounded by the pods named in the latest close of each key, and by `forget` for objects that are gone.
    """

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    def close(
        self,
        key: str,
        index: int,
        *,
        pods: Sequence[MeasuredPod],
        samples: Mapping[str, Sample | ScrapeFailure],
        window_seconds: float,
        stored_index: int | None,
        compared: Collection[str],
    ) -> MeasuredWindow | None:
        """Close window `index`: what each pod counted up to its sample in `samples` (by uid).

        `stored_index` is the last window in the stored status; it confirms a write whose answer was lost.
        `compared` are the arms that must run the same image on the same GPU. None means that there is nothing
        to judge: the window is done, or these are the first samples of an object without stored evidence.
        """
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _first_look(index, pods, samples, window_seconds, stored_index)
        if stored_index is not None:
            self.commit(key, stored_index)
        if self.done(key, index):
            return None
        if entry.closed is None or entry.closed.measured.window.index != index:
            entry.closed = _close(index, entry.starts, pods, samples, window_seconds, compared)
        return entry.closed.measured

    def done(self, key: str, index: int) -> bool:
        """Whether window `index` was committed or extended already: its pods need not be read again."""
        entry = self._entries.get(key)
        # Not "or a later one": with a longer window in the spec the numbers begin lower than before.
        return entry is not None and entry.done_index == index

    def commit(self, key: str, index: int) -> None:
        """Window `index` is in the stored status, or needs no writing: the next begins where it ended."""
        self._finish(key, index, extended=False)

    def extend(self, key: str, index: int) -> None:
        """The judge wants a longer window: the next close covers this period and the next one."""
        self._finish(key, index, extended=True)

    def forget(self, key: str) -> None:
        """The object is deleted, or not measured any more."""
        self._entries.pop(key, None)

    def _finish(self, key: str, index: int, *, extended: bool) -> None:
        entry = self._entries.get(key)
        closed = entry.closed if entry is not None else None
        if entry is None or closed is None or closed.measured.window.index != index:
            return
        entry.starts = closed.if_extended if extended else closed.if_committed
        entry.closed, entry.done_index = None, index


def _first_look(
    index: int,
    pods: Sequence[MeasuredPod],
    samples: Mapping[str, Sample | ScrapeFailure],
    window_seconds: float,
    stored_index: int | None,
) -> _Entry:
    starts = {pod.uid: start for pod in pods if (start := _start(pod, samples)) is not None}
    if stored_index is None:
        return _Entry(starts, done_index=index)
    restart = Obstacle(Reason.OPERATOR_RESTART, "the operator has just started and has no earlier reading")
    measured = MeasuredWindow(Window(index, window_seconds, {}, restart))
    return _Entry(starts, closed=_Closed(measured, starts, starts))


def _close(
    index: int,
    starts: Mapping[str, _Start],
    pods: Sequence[MeasuredPod],
    samples: Mapping[str, Sample | ScrapeFailure],
    window_seconds: float,
    compared: Collection[str],
) -> _Closed:
    results = [
        (pod, _measure(pod, starts.get(pod.uid), samples.get(pod.uid), window_seconds)) for pod in pods
    ]
    arms = _arms(results, window_seconds)
    lengths = [each.seconds for arm in arms.values() for each in arm if not each.restarts]
    return _Closed(
        MeasuredWindow(
            Window(index, max(lengths, default=window_seconds), arms, obstacle(pods, compared)),
            {arm: arm_figures(measured) for arm, measured in arms.items()},
            {pod.name: result.outcome for pod, result in results if isinstance(result.outcome, Gap)},
        ),
        {pod.uid: result.if_committed for pod, result in results if result.if_committed is not None},
        {pod.uid: result.if_extended for pod, result in results if result.if_extended is not None},
    )


def _measure(
    pod: MeasuredPod, start: _Start | None, answer: Sample | ScrapeFailure | None, window_seconds: float
) -> _PodResult:
    """The checks in order of weight; each says what the pod is and which start sample it goes on with."""
    end = _Start(answer, pod.restart_count) if isinstance(answer, Sample) else None
    if pod.template_edited:
        return _PodResult(Gap(Reason.TEMPLATE_EDITED, "its Deployment was edited"), None, None)
    if start is not None and start.restart_count != pod.restart_count:
        return _PodResult(Gap(Reason.POD_RESTARTED, "its container restarted"), end, end)
    if end is None:
        message = answer.message if isinstance(answer, ScrapeFailure) else "it was not read"
        return _PodResult(Gap(Reason.NO_DATA, message), start, start)
    if start is None:
        return _PodResult(Gap(Reason.NO_DATA, "it was read for the first time"), end, end)
    return _subtract(pod, start, end, window_seconds)


def _subtract(pod: MeasuredPod, start: _Start, end: _Start, window_seconds: float) -> _PodResult:
    outcome = difference(start.sample, end.sample, pod=pod.name, ready_seconds=pod.ready_seconds)
    if isinstance(outcome, Gap):
        return _PodResult(outcome, end, end)
    if outcome.seconds > LONGEST_PERIOD_SECONDS + 2 * window_seconds:
        gap = Gap(Reason.NO_DATA, f"its reading before this one is {outcome.seconds:.0f} s old")
        return _PodResult(gap, end, end)
    if outcome.seconds < SHORTEST_SHARE * window_seconds:
        gap = Gap(Reason.NO_DATA, f"it has been measured for only {outcome.seconds:.0f} s")
        return _PodResult(gap, start, start)
    return _PodResult(outcome, end, start)


def _start(pod: MeasuredPod, samples: Mapping[str, Sample | ScrapeFailure]) -> _Start | None:
    answer = samples.get(pod.uid)
    return _Start(answer, pod.restart_count) if isinstance(answer, Sample) else None


def _arms(
    results: Sequence[tuple[MeasuredPod, _PodResult]], window_seconds: float
) -> dict[str, tuple[PodWindow, ...]]:
    arms: dict[str, tuple[PodWindow, ...]] = {}
    for pod, result in results:
        if isinstance(result.outcome, PodWindow):
            arms[pod.arm] = (*arms.get(pod.arm, ()), result.outcome)
        elif result.outcome.reason is Reason.POD_RESTARTED:
            arms[pod.arm] = (*arms.get(pod.arm, ()), _restarted(pod, window_seconds))
    return arms


def _restarted(pod: MeasuredPod, window_seconds: float) -> PodWindow:
    return PodWindow(
        pod=pod.name,
        seconds=window_seconds,
        generation_tokens=0.0,
        first_tokens=0.0,
        itl_seconds=0.0,
        ready_seconds=pod.ready_seconds,
        restarts=1.0,
    )
