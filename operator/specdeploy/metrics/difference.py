"""Subtracts two samples of one pod. Pure; windows.WindowBook holds the samples and asks.

A counter in vLLM lives in the memory of its process. Whatever shows that the two samples are not of the same
process, or that one of them is not to be trusted, makes a Gap: that pod gives no evidence in this window,
neither good nor bad. There is no guess at what was counted before a restart.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from specdeploy.judge import PodWindow, Reason
from specdeploy.metrics.counters import Counters, EngineCounters, HttpCounters
from specdeploy.metrics.sample import Sample

_COUNTERS = (
    "generation_tokens",
    "first_tokens",
    "itl_seconds",
    "itl_count",
    "ttft_seconds",
    "prompt_tokens",
    "finished_requests",
    "aborted_requests",
    "errored_requests",
    "finished_tokens",
    "max_tokens",
    "preemptions",
    "prefix_queries",
    "prefix_hits",
    "drafts",
    "draft_tokens",
    "accepted_tokens",
)
_HTTP_COUNTERS = ("requests", "client_errors", "server_errors")
_FROM_ZERO = frozenset({"aborted_requests", "errored_requests", "preemptions", "prefix_hits"})
"""Counts of events that may never come: where there was no series, none had come (vLLM's Rust front end
writes a series with its first sample)."""


_Pair = tuple[str, float | None, float | None]
"""A counter's name and its values in two samples."""


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
    old, new = before.counters, after.counters
    http = _http_rise(old.http, new.http)
    return PodWindow(
        pod=pod,
        seconds=after.time - before.time,
        generation_tokens=_rise(old, new, "generation_tokens") or 0.0,
        first_tokens=_rise(old, new, "first_tokens") or 0.0,
        itl_seconds=_rise(old, new, "itl_seconds") or 0.0,
        requests_waiting=_total(new, "requests_waiting"),
        requests_running=_total(new, "requests_running"),
        # No request is finished before a pod is ready, so the process's own count is the count since then.
        finished_since_ready=_total(new, "finished_requests"),
        ready_seconds=ready_seconds,
        restarts=0.0,
        drafts=_rise(old, new, "drafts"),
        draft_tokens=_rise(old, new, "draft_tokens"),
        accepted_tokens=_rise(old, new, "accepted_tokens"),
        engines=len(new.engines),
        prompt_tokens=_rise(old, new, "prompt_tokens"),
        ttft_seconds=_rise(old, new, "ttft_seconds"),
        finished_requests=_rise(old, new, "finished_requests"),
        finished_tokens=_rise(old, new, "finished_tokens"),
        max_tokens=_rise(old, new, "max_tokens"),
        aborted_requests=_rise(old, new, "aborted_requests"),
        errored_requests=_rise(old, new, "errored_requests"),
        http_requests=http.requests if http else None,
        client_errors=http.client_errors if http else None,
        server_errors=http.server_errors if http else None,
        preemptions=_rise(old, new, "preemptions"),
        prefix_queries=_rise(old, new, "prefix_queries"),
        prefix_hits=_rise(old, new, "prefix_hits"),
        kv_tokens=_room(new),
        max_model_len=after.max_model_len,
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
    gaps = (_counter_gap(name, old, new) for name, old, new in _pairs(before, after))
    return next((gap for gap in gaps if gap is not None), None)


def _pairs(before: Counters, after: Counters) -> Iterator[_Pair]:
    for label, engine in before.engines.items():
        yield from _engine_pairs(engine, after.engines[label])
    for name in _HTTP_COUNTERS if before.http else ():
        yield f"HTTP {name}", getattr(before.http, name), getattr(after.http, name, None)


def _engine_pairs(before: EngineCounters, after: EngineCounters) -> Iterator[_Pair]:
    for name in _COUNTERS:
        old, new = getattr(before, name), getattr(after, name)
        yield name, 0.0 if old is None and new is not None and name in _FROM_ZERO else old, new
    positions = zip_longest(before.accepted_by_position, after.accepted_by_position)
    for position, (old, new) in enumerate(positions):
        yield f"accepted_tokens at position {position}", old, new


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


def _rise(before: Counters, after: Counters, name: str) -> float | None:
    old, new = _total(before, name), _total(after, name)
    if old is None and name in _FROM_ZERO:
        old = 0.0
    return None if old is None or new is None else new - old


def _total(counters: Counters, name: str) -> float | None:
    """The sum over engines; None if no engine has it."""
    values = [getattr(engine, name) for engine in counters.engines.values()]
    known = [value for value in values if value is not None]
    return math.fsum(known) if known else None


def _http_rise(before: HttpCounters | None, after: HttpCounters | None) -> HttpCounters | None:
    """None while nothing was answered. A route has no series before its first answer, nor has a class of
    status, so what is seen for the first time rose from 0."""
    if after is None:
        return None
    before = before or HttpCounters()
    return HttpCounters(**{name: getattr(after, name) - getattr(before, name) for name in _HTTP_COUNTERS})


def _room(counters: Counters) -> float | None:
    """The room of the pod's KV caches together; None unless every engine tells: a part of it would look like
    a loss."""
    rooms = [engine.kv_tokens for engine in counters.engines.values()]
    known = [room for room in rooms if room is not None]
    return math.fsum(known) if len(known) == len(rooms) else None
