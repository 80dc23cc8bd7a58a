"""From the pods of one arm to what its guards compare: every field added up over the pods.

A field is None where a pod did not tell it or told no sense: its guard then skips the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from specdeploy.judge.window import PodWindow

LARGEST = 1e12
MEANS = 3
"""The first fields of `Told`, which are means."""

Pods = Sequence[PodWindow]


class Told(NamedTuple):
    """What an arm's pods told of the fields of `PodWindow` with the same names; None: unknown.

    Gauges and properties (`requests_waiting`, `kv_tokens`, `max_model_len`) are means per pod, the rest sums.
    """

    requests_waiting: float | None
    kv_tokens: float | None
    max_model_len: float | None
    first_tokens: float | None
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

    @property
    def waiting(self) -> float | None:
        """The mean queue per pod."""
        return self.requests_waiting


_FIELDS = attrgetter(*Told._fields)
_OPTIONAL = attrgetter(*(name for name in Told._fields if name != "first_tokens"))
_NOTHING = (None,) * (len(Told._fields) - 1)


def usable(pods: Pods) -> list[PodWindow]:
    """Pods that told anything but speed. One that restarted is left out: its differences are of two lives."""
    return [pod for pod in pods if not pod.restarts and _OPTIONAL(pod) != _NOTHING]


def settled(pods: Pods, seconds: float) -> list[PodWindow]:
    """Pods that were ready for `seconds` when the window began; one of unknown age was."""
    return [pod for pod in pods if pod.ready_seconds is None or pod.ready_seconds >= seconds + pod.seconds]


def read(pods: Pods) -> Told:
    """Adds up at least one pod. Never raises."""
    rows = [_sane(pod) for pod in pods]
    if len(rows) == 1:
        return Told(*rows[0])
    totals = [_total(column) for column in zip(*rows, strict=True)]
    means = [None if total is None else total / len(rows) for total in totals[:MEANS]]
    return Told(*means, *totals[MEANS:])


def _sane(pod: PodWindow) -> list[float | None]:
    """NaN fails every comparison, so it is refused like what is negative or enormous."""
    return [value if value is not None and 0 <= value <= LARGEST else None for value in _FIELDS(pod)]


def _total(column: tuple[float | None, ...]) -> float | None:
    total = 0.0
    for value in column:
        if value is None:
            return None
        total += value
    return total
