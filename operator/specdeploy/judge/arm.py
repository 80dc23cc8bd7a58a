"""From the pods of one arm to the arm's numbers in one window.

An arm's logs are means over its pods of per-pod logs: speed falls with batch along a curve, so pods at batch
2 and 30 summed up would look slower than two pods at 16 that run the same engine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from specdeploy.judge.settings import Settings
from specdeploy.judge.window import PodWindow, Reason

LARGEST_COUNTER = 1e15
IDLE_TOKENS = 100.0
IDLE_BATCH = 0.1
WARM_REQUESTS = 50.0


class Arm(NamedTuple):
    """One arm in one window: means of per-pod natural logs over the `pods` that were busy, totals over all
    sane ones.

    `log_speed` is ln R, `log_rate` ln(decode tokens per pod-second), `log_batch` ln B; `batch_sd` is the
    sample standard deviation of ln B over the pods. `waiting` is the mean queue per pod, None where no pod
    told it. `trouble` says why no pod counted and is None if one did.
    """

    pods: int
    log_speed: float
    log_rate: float
    log_batch: float
    batch_sd: float
    decode_tokens: float
    first_tokens: float
    waiting: float | None
    trouble: Reason | None


def old_enough(pod: PodWindow, seconds: float) -> bool:
    """Was the pod ready for `seconds` when the window began? A pod of unknown age was.

    So was one whose window has no sensible length: measure_arm refuses it, with the right reason.
    """
    if pod.ready_seconds is None or not 0 < pod.seconds <= LARGEST_COUNTER:
        return True
    return pod.ready_seconds >= seconds + pod.seconds


def warm(pod: PodWindow, settings: Settings) -> bool:
    """A rule fixed before the data: the warm-up time, and 50 requests finished unless that takes too long."""
    if not old_enough(pod, settings.warmup):
        return False
    few = pod.finished_since_ready is not None and pod.finished_since_ready < WARM_REQUESTS
    return not few or old_enough(pod, settings.patience)


def measure_arm(pods: Sequence[PodWindow]) -> Arm:
    """Sums up the pods of one arm. Hostile numbers and idle pods are left out, never raised."""
    trouble = None if pods else Reason.NO_DATA
    logs: list[tuple[float, float, float]] = []
    decode = first = 0.0
    for pod in pods:
        refused = _refuse(pod)
        if refused is None:
            logs.append(_logs(pod))
        elif trouble is None:
            trouble = refused
        if refused is not Reason.BAD_NUMBERS and refused is not Reason.POD_RESTARTED:
            decode += pod.decode_tokens
            first += pod.first_tokens
    waiting = _mean_waiting(pods)
    if not logs:
        return Arm(0, 0.0, 0.0, 0.0, 0.0, decode, first, waiting, trouble)
    count = len(logs)
    if count == 1:
        return Arm(1, *logs[0], 0.0, decode, first, waiting, None)
    speed, rate, batch = (math.fsum(column) / count for column in zip(*logs, strict=True))
    variance = math.fsum((each[2] - batch) ** 2 for each in logs) / (count - 1)
    return Arm(count, speed, rate, batch, math.sqrt(variance), decode, first, waiting, None)


def _refuse(pod: PodWindow) -> Reason | None:
    """Why this pod has no speed in this window; None if it has one."""
    if not _sane(pod):
        return Reason.BAD_NUMBERS
    if pod.restarts:
        return Reason.POD_RESTARTED
    tokens = pod.generation_tokens - pod.first_tokens
    if tokens <= 0:
        return Reason.STALLED if pod.requests_running else Reason.NO_TRAFFIC
    if pod.itl_seconds <= 0:
        return Reason.BAD_NUMBERS
    # Few tokens from a pod that held requests all the time is slowness, and must be judged.
    if tokens < IDLE_TOKENS and pod.itl_seconds < IDLE_BATCH * pod.seconds:
        return Reason.NO_TRAFFIC
    return None


def _sane(pod: PodWindow) -> bool:
    """NaN fails every comparison, so it is refused like what is negative or enormous."""
    return (
        1e-3 <= pod.seconds <= LARGEST_COUNTER
        and 0 <= pod.generation_tokens <= LARGEST_COUNTER
        and 0 <= pod.first_tokens <= LARGEST_COUNTER
        and 0 <= pod.itl_seconds <= LARGEST_COUNTER
        and 1 <= pod.engines <= LARGEST_COUNTER
        and (pod.restarts is None or 0 <= pod.restarts <= LARGEST_COUNTER)
    )


def _logs(pod: PodWindow) -> tuple[float, float, float]:
    tokens = math.log(pod.generation_tokens - pod.first_tokens)
    held = math.log(pod.itl_seconds)
    seconds = math.log(pod.seconds)
    return tokens - held, tokens - seconds, held - seconds - math.log(pod.engines)


def _mean_waiting(pods: Iterable[PodWindow]) -> float | None:
    known = [
        pod.requests_waiting
        for pod in pods
        if pod.requests_waiting is not None and 0 <= pod.requests_waiting <= LARGEST_COUNTER
    ]
    return math.fsum(known) / len(known) if known else None
