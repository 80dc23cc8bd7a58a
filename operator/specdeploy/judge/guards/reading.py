"""From the pods of one arm to what its guards compare: every field added up over the pods.

A field is None where a pod did not tell it or told no sense: its guard then skips the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from statistics import median
from typing import NamedTuple

from specdeploy.judge.window import PodWindow

LARGEST = 1e12
ALWAYS_TOLD = 3
SUMS = 14
"""Of the fields of `Told`: those that every window has, and those before the means."""

Pods = Sequence[PodWindow]
Row = Sequence[float | None]


class Told(NamedTuple):
    """What an arm's pods told of the fields of `PodWindow` with the same names; None: unknown.

    Sums; `requests_waiting` of the typical pod (the median), since one pod's long queue is not the arm's; and
    means per pod of the properties of the engine. Every window has the first three, but they may make no
    sense.
    """

    first_tokens: float | None
    generation_tokens: float | None
    seconds: float | None
    ttft_seconds: float | None
    finished_requests: float | None
    finished_tokens: float | None
    aborted_requests: float | None
    errored_requests: float | None
    preemptions: float | None
    http_requests: float | None
    client_errors: float | None
    server_errors: float | None
    prefix_queries: float | None
    prefix_hits: float | None
    requests_waiting: float | None
    kv_tokens: float | None
    max_model_len: float | None


_FIELDS = attrgetter(*Told._fields)
_NOTHING = (None,) * (len(Told._fields) - ALWAYS_TOLD)


def read(pods: Pods) -> Told | None:
    """Adds up the pods that told anything but speed; None if none did. Never raises.

    A pod that restarted is left out: its differences are of two lives.
    """
    rows = [row for pod in pods if not pod.restarts and (row := _FIELDS(pod))[ALWAYS_TOLD:] != _NOTHING]
    if len(rows) == 1:
        return Told(*_sane(rows[0]))
    if not rows:
        return None
    columns = list(zip(*map(_sane, rows), strict=True))
    sums = [_total(column) for column in columns[:SUMS]]
    means = (_mean(column) for column in columns[SUMS + 1 :])
    return Told._make((*sums, _median(columns[SUMS]), *means))


def settled(pods: Pods, seconds: float) -> Pods:
    """Pods that were ready for `seconds` when the window began; one of unknown age was."""
    return [pod for pod in pods if pod.ready_seconds is None or _old(pod, pod.ready_seconds, seconds)]


def _old(pod: PodWindow, ready: float, seconds: float) -> bool:
    return pod.seconds <= LARGEST and ready >= seconds + pod.seconds


def _sane(row: Row) -> Row:
    """NaN fails every comparison, so it is refused like what is negative or enormous."""
    return [value if value is not None and 0 <= value <= LARGEST else None for value in row]


def _total(column: Row) -> float | None:
    total = 0.0
    for value in column:
        if value is None:
            return None
        total += value
    return total


def _mean(column: Row) -> float | None:
    total = _total(column)
    return None if total is None else total / len(column)


def _median(column: Row) -> float | None:
    known = [value for value in column if value is not None]
    return median(known) if len(known) == len(column) else None
