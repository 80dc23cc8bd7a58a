"""Subtracts two samples of one pod. Pure; windows.WindowBook holds the samples and asks.

A counter in vLLM lives in the memory of its process. Whatever shows that the two samples are not of the same
process, or that one of them is not to be trusted, makes a Gap: that pod gives no evidence in this window,
neither good nor bad. There is no guess at what was counted before a restart.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from specdeploy.judge import PodWindow, Reason
from specdeploy.metrics.exposition import Counters, EngineCounters
from specdeploy.metrics.sample import Sample

_COUNTERS = (
    "generation_tokens",
    "first_tokens",
    "itl_seconds",
    "itl_count",
    "prompt_tokens",
    "finished_requests",
    "preemptions",
    "drafts",
    "draft_tokens",
    "accepted_tokens",
)


@dataclass(frozen=True, slots=True)
class Gap:
    """Why one pod has no figures in one window: the judge's word for it, and a short sentence for people."""

    reason: Reason
    message: str


def difference(
    before: Sample, after: Sample, *, pod: str, ready_seconds: float | None = None
) -> PodWindow | Gap:
    """What the pod counted between two samples, summed over its engines; gauges are those of `after`.

    `ready_seconds` is how long the pod has been Ready at `after`; it is passed on.
    """
    gap = _clock_gap(before, after) or _process_gap(before.counters, after.counters)
    if gap is not None:
        return gap
    return PodWindow(
        pod=pod,
        seconds=after.time - before.time,
        generation_tokens=_rise(before, after, "generation_tokens") or 0.0,
        first_tokens=_rise(before, after, "first_tokens") or 0.0,
        itl_seconds=_rise(before, after, "itl_seconds") or 0.0,
        requests_waiting=_total(after.counters, "requests_waiting"),
        requests_running=_total(after.counters, "requests_running"),
        # No request is finished before a pod is ready, so the process's own count is the count since then.
        finished_since_ready=_total(after.counters, "finished_requests"),
        ready_seconds=ready_seconds,
        restarts=0.0,
        drafts=_rise(before, after, "drafts"),
        draft_tokens=_rise(before, after, "draft_tokens"),
        accepted_tokens=_rise(before, after, "accepted_tokens"),
        engines=len(after.counters.engines),
    )


def _clock_gap(before: Sample, after: Sample) -> Gap | None:
    if before.time < after.time < math.inf:
        return None
    return Gap(Reason.BAD_NUMBERS, f"the clock went from {before.time:.3f} to {after.time:.3f}")


def _process_gap(before: Counters, after: Counters) -> Gap | None:
    """Do both pages come from the same process, with every counter where it was or higher?"""
    starts = (before.process_start, after.process_start)
    if None not in starts and starts[0] != starts[1]:
        return Gap(Reason.POD_RESTARTED, "the engine's process started anew")
    vanished = before.engines.keys() - after.engines.keys()
    if vanished:
        return Gap(Reason.POD_RESTARTED, f"engine {min(vanished)} is gone")
    appeared = after.engines.keys() - before.engines.keys()
    if appeared:
        return Gap(Reason.NO_DATA, f"engine {min(appeared)} was seen for the first time")
    gaps = (_engine_gap(engine, after.engines[label]) for label, engine in before.engines.items())
    return next((gap for gap in gaps if gap is not None), None)


def _engine_gap(before: EngineCounters, after: EngineCounters) -> Gap | None:
    gaps = (_counter_gap(name, old, new) for name, old, new in _pairs(before, after))
    return next((gap for gap in gaps if gap is not None), None)


def _pairs(before: EngineCounters, after: EngineCounters) -> Iterator[tuple[str, float | None, float | None]]:
    for name in _COUNTERS:
        yield name, getattr(before, name), getattr(after, name)
    old, new = before.accepted_by_position, after.accepted_by_position
    for position in range(max(len(old), len(new))):
        yield (
            f"accepted_tokens at position {position}",
            old[position] if position < len(old) else None,
            new[position] if position < len(new) else None,
        )


def _counter_gap(name: str, old: float | None, new: float | None) -> Gap | None:
    if old is None and new is None:
        return None
    if old is None:
        # vLLM's Rust front end has no series before its first sample, so this is no sign of a restart.
        return Gap(Reason.NO_DATA, f"{name} was seen for the first time")
    if new is None:
        return Gap(Reason.POD_RESTARTED, f"{name} is no longer counted")
    if not (0 <= old < math.inf and 0 <= new < math.inf):
        return Gap(Reason.BAD_NUMBERS, f"{name} went from {old} to {new}")
    if new < old:
        return Gap(Reason.POD_RESTARTED, f"{name} went back from {old:g} to {new:g}")
    return None


def _rise(before: Sample, after: Sample, name: str) -> float | None:
    old, new = _total(before.counters, name), _total(after.counters, name)
    return None if old is None or new is None else new - old


def _total(counters: Counters, name: str) -> float | None:
    """The sum over engines; None if no engine has it."""
    values = [getattr(engine, name) for engine in counters.engines.values()]
    known = [value for value in values if value is not None]
    return math.fsum(known) if known else None
