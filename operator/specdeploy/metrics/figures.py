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
    together, `pods` how many were measured, `seconds` the longest period of one.
    """

    speed: float | None
    batch: float | None
    acceptance: float | None
    accepted_length: float | None
    tokens_per_second: float
    pods: int
    seconds: float


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
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value]
    return geometric_mean(known) if known else None


def _sum(pods: Sequence[PodWindow], figure: Callable[[PodWindow], float | None]) -> float | None:
    known = [value for value in map(figure, pods) if value is not None]
    return math.fsum(known) if known else None


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None
