"""From the pods of one arm to the arm's numbers in one window.

window -> arm -> assess. An arm's logs are means over its pods of per-pod logs: speed falls with batch along a
curve, so pods at batch 2 and 30 summed up would look slower than two pods at 16 that run the same engine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import log
from typing import NamedTuple

from specdeploy.judge.settings import Settings
from specdeploy.judge.window import PodWindow, Reason

LARGEST_COUNTER = 1e12
"""No pod counts so much in a window, and no arm: the sums of a trial stay small enough to be stored."""
SHORTEST_SECONDS = 1e-3
IDLE_TOKENS = 100.0
IDLE_BATCH = 0.1
WARM_REQUESTS = 50.0

NO_COUNTERS = (Reason.BAD_NUMBERS, Reason.POD_RESTARTED)
"""Where a pod's counters say nothing at all."""


class Extras(NamedTuple):
    """What pods may tell beside speed, summed over the arm; None where a pod did not tell it sensibly.

    `generation_tokens` are all tokens, `alive` the requests that run at the end of the window.
    """

    generation_tokens: float
    alive: float
    prompt_tokens: float | None
    finished_requests: float | None
    finished_tokens: float | None
    max_tokens: float | None


class Arm(NamedTuple):
    """One arm in one window: means of per-pod natural logs over the `pods` that were busy, totals over all
    sane ones.

    `log_speed` is ln R, `log_rate` ln(decode tokens per pod-second), `log_batch` ln B; `batch_sd` is the
    sample standard deviation of ln B over the pods, `seconds` are pod-seconds. `waiting` is the mean queue
    per pod, None where no pod told it. `trouble` says why no pod counted; where one did it is None, or
    STALLED if another holds requests and gives no token. `each` has name and ln R of the busy pods where they
    are several, by name. `more` is None where pods tell no more.
    """

    pods: int
    log_speed: float
    log_rate: float
    log_batch: float
    batch_sd: float
    decode_tokens: float
    first_tokens: float
    seconds: float
    waiting: float | None
    trouble: Reason | None
    each: tuple[tuple[str, float], ...]
    more: Extras | None


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
    if len(pods) == 1:
        return measure_pod(pods[0])
    troubles: list[Reason] = [] if pods else [Reason.NO_DATA]
    measured: list[tuple[str, tuple[float, float, float]]] = []
    decode = first = seconds = 0.0
    for pod in pods:
        refused = _refuse(pod)
        if refused is None:
            measured.append((pod.pod, _logs(pod)))
        else:
            troubles.append(refused)
        if refused not in NO_COUNTERS:
            decode += pod.decode_tokens
            first += pod.first_tokens
            seconds += pod.seconds
    decode, first = min(decode, LARGEST_COUNTER), min(first, LARGEST_COUNTER)
    waiting, more = _mean_waiting(pods), _extras(pods)
    # The others' speed says nothing of a pod that stands still: to leave it out would flatter the arm.
    stalled = Reason.STALLED if Reason.STALLED in troubles else None
    if not measured:
        trouble = stalled or troubles[0]
        return Arm(0, 0.0, 0.0, 0.0, 0.0, decode, first, seconds, waiting, trouble, (), more)
    count = len(measured)
    speed, rate, batch = (math.fsum(column) / count for column in zip(*(m[1] for m in measured), strict=True))
    variance = math.fsum((logs[2] - batch) ** 2 for _, logs in measured) / max(1, count - 1)
    each = tuple(sorted((name, logs[0]) for name, logs in measured)) if count > 1 else ()
    sd = math.sqrt(variance)
    return Arm(count, speed, rate, batch, sd, decode, first, seconds, waiting, stalled, each, more)


def measure_pod(pod: PodWindow) -> Arm:
    """An arm of one pod, as most are: the same as measure_arm, without summing."""
    waiting = None if pod.requests_waiting is None else _mean_waiting((pod,))
    more = None if pod.prompt_tokens is None and pod.finished_tokens is None else _extras((pod,))
    seconds, generated, first, held = pod[1:5]
    # What _refuse and _logs make of a pod that was busy, at a third of the time.
    if (
        SHORTEST_SECONDS <= seconds <= LARGEST_COUNTER
        and 0 <= first <= generated <= LARGEST_COUNTER
        and 0 < held <= LARGEST_COUNTER
        and generated - first >= IDLE_TOKENS
        and not pod.restarts
        and pod.engines == 1
    ):
        decode = generated - first
        tokens, held, span = log(decode), log(held), log(seconds)
        speed, rate, batch = tokens - held, tokens - span, held - span
        return Arm(1, speed, rate, batch, 0.0, decode, first, seconds, waiting, None, (), more)
    refused = _refuse(pod)
    if refused is None:
        speed, rate, batch = _logs(pod)
        return Arm(1, speed, rate, batch, 0.0, generated - first, first, seconds, waiting, None, (), more)
    if refused in NO_COUNTERS:
        return Arm(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, waiting, refused, (), more)
    return Arm(0, 0.0, 0.0, 0.0, 0.0, pod.decode_tokens, first, seconds, waiting, refused, (), more)


def _refuse(pod: PodWindow) -> Reason | None:
    """Why this pod has no speed in this window; None if it has one."""
    # NaN fails every comparison, so it is refused like what is negative or enormous.
    sane = (
        SHORTEST_SECONDS <= pod.seconds <= LARGEST_COUNTER
        and 0 <= pod.generation_tokens <= LARGEST_COUNTER
        and 0 <= pod.first_tokens <= LARGEST_COUNTER
        and 0 <= pod.itl_seconds <= LARGEST_COUNTER
        and 1 <= pod.engines <= LARGEST_COUNTER
        and (pod.restarts is None or 0 <= pod.restarts <= LARGEST_COUNTER)
    )
    if not sane:
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


def _logs(pod: PodWindow) -> tuple[float, float, float]:
    tokens = log(pod.generation_tokens - pod.first_tokens)
    held = log(pod.itl_seconds)
    seconds = log(pod.seconds)
    batch = held - seconds if pod.engines == 1 else held - seconds - log(pod.engines)
    return tokens - held, tokens - seconds, batch


def _mean_waiting(pods: Sequence[PodWindow]) -> float | None:
    known = [
        pod.requests_waiting
        for pod in pods
        if pod.requests_waiting is not None and 0 <= pod.requests_waiting <= LARGEST_COUNTER
    ]
    return math.fsum(known) / len(known) if known else None


def _extras(pods: Sequence[PodWindow]) -> Extras | None:
    if not pods or (pods[0].prompt_tokens is None and pods[0].finished_tokens is None):
        return None
    sane = [pod for pod in pods if _refuse(pod) not in NO_COUNTERS]
    if not sane:
        return None
    return Extras(
        min(LARGEST_COUNTER, math.fsum(pod.generation_tokens for pod in sane)),
        min(LARGEST_COUNTER, math.fsum(_alive(pod) for pod in sane)),
        _total([pod.prompt_tokens for pod in sane]),
        _total([pod.finished_requests for pod in sane]),
        _total([pod.finished_tokens for pod in sane]),
        _total([pod.max_tokens for pod in sane]),
    )


def _alive(pod: PodWindow) -> float:
    """Requests that run at the window's end; the mean number that decoded where the pod does not tell."""
    running = pod.requests_running
    if running is not None and 0 <= running <= LARGEST_COUNTER:
        return running
    return pod.itl_seconds / pod.seconds


def _total(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None and 0 <= value <= LARGEST_COUNTER]
    return min(LARGEST_COUNTER, math.fsum(known)) if len(known) == len(values) else None
