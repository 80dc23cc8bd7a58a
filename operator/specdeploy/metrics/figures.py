"""An arm's figures in one window, for telemetry and people. Pure; the judge reads the PodWindows itself."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from specdeploy.judge import PodWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmFigures:
    """One arm in one window. What can't be told (an idle arm, no drafter) is None, never 0.

    `speed` is R, decode tokens per request-decode-second; `batch` is B, requests decoding at once *per
    engine*; both are geometric means over the pods that decoded, as in the judge. `acceptance` is in [0, 1];
    `accepted_length` is tokens per verified draft, at least 1. `tokens_per_second` is the output of all pods
    together, `pods` how many were measured, `seconds` the longest period of one. `first_token_seconds` is the
    mean time to a first token, `waiting` the requests that wait in all pods at the end. `error_share` is that
    of HTTP statuses 4xx and 5xx among the answers of inference routes, `prefix_hit_share` that of prompt
    tokens found in the prefix cache among those looked up; both in [0, 1].
    """

    speed: float | None
    batch: float | None
    acceptance: float | None
    accepted_length: float | None
    tokens_per_second: float
    pods: int
    seconds: float
    first_token_seconds: float | None = None
    waiting: float | None = None
    error_share: float | None = None
    prefix_hit_share: float | None = None


def arm_figures(pods: Sequence[PodWindow]) -> ArmFigures:
    """Sum up an arm; restarted pods are left out."""
    measured = [pod for pod in pods if not pod.restarts and pod.seconds > 0]
    accepted = _sum(measured, lambda pod: pod.accepted_tokens)
    extra_length = _ratio(accepted, _sum(measured, lambda pod: pod.drafts))
    return ArmFigures(
        speed=_mean(pod.speed for pod in measured),
        batch=_mean(pod.batch for pod in measured if pod.speed),
        acceptance=_ratio(accepted, _sum(measured, lambda pod: pod.draft_tokens)),
        accepted_length=None if extra_length is None else 1.0 + extra_length,
        tokens_per_second=math.fsum(pod.generation_tokens / pod.seconds for pod in measured),
        pods=len(measured),
        seconds=max((pod.seconds for pod in measured), default=0.0),
        first_token_seconds=_ratio(
            _sum(measured, lambda pod: pod.ttft_seconds), _sum(measured, lambda pod: pod.first_tokens)
        ),
        waiting=_sum(measured, lambda pod: pod.requests_waiting),
        error_share=_ratio(_sum(measured, _errors), _sum(measured, lambda pod: pod.http_requests)),
        prefix_hit_share=_ratio(
            _sum(measured, lambda pod: pod.prefix_hits), _sum(measured, lambda pod: pod.prefix_queries)
        ),
    )


def _errors(pod: PodWindow) -> float | None:
    if pod.client_errors is None or pod.server_errors is None:
        return None
    return pod.client_errors + pod.server_errors


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value]
    return geometric_mean(known) if known else None


def _sum(pods: Sequence[PodWindow], figure: Callable[[PodWindow], float | None]) -> float | None:
    known = [value for value in map(figure, pods) if value is not None]
    return math.fsum(known) if known else None


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None
