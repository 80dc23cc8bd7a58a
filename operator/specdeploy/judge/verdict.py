"""What the judge says: how a trial stands, and how it ended."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from specdeploy.judge.bands import uncovered
from specdeploy.judge.comparison import Comparison
from specdeploy.judge.interval import estimate
from specdeploy.judge.state import REASONS, TrialState
from specdeploy.judge.window import Reason

LARGEST_SHOWN = 10.0


class Outcome(StrEnum):
    """How a trial ended by its evidence. Ends of other kinds (unhealthy, aborted ...) are the rollout's."""

    PROMOTED = "Promoted"
    RUNNER_UP = "RunnerUp"
    SLOWER = "Slower"
    DISASTER = "Disaster"
    NOT_WORTH_IT = "NotWorthIt"
    INCONCLUSIVE = "Inconclusive"
    GUARDED = "Guarded"


class Cause(StrEnum):
    """The reason code of a verdict; where a guard vetoed it is a word of `Guard`."""

    PROVEN_FASTER = "ProvenFaster"
    SLOWER_THAN_SERVING = "SlowerThanServing"
    NOT_PROVEN_AGAINST_SERVING = "NotProvenAgainstServing"
    BELOW_EFFECT_AGAINST_SERVING = "BelowMinimumEffectAgainstServing"
    SLOWER_THAN_SERVING_IN_BAND = "SlowerThanServingInBand"
    SLOWER_IN_BAND = "SlowerInBand"
    SLOWER_AT_LOAD = "SlowerAtLoad"
    SLOWER_THAN_BASELINE = "SlowerThanBaseline"
    FAR_SLOWER = "FarSlowerThanBaseline"
    BELOW_EFFECT = "BelowMinimumEffect"
    TOO_NOISY = "TooNoisy"
    DEADLINE = "DeadlineReached"
    GUARD_ALARM = "GuardAlarm"


@dataclass(frozen=True, slots=True)
class Ratio:
    """Speed as a multiple of another arm's, with its confidence interval. None: not known yet."""

    ratio: float | None = None
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """How a trial stands. `ratio`, `lower` and `upper` are multiples of the baseline's speed, None while
    unknown.

    `skipped` has only the reasons that occurred; `last_skipped` is the newest window's reason, None if it was
    evidence. `batch_low` and `batch_high` are the range of the baseline's mean batch per pod, 0 without
    evidence. `serving` is the comparison with what serves, None where the baseline serves or nothing is
    known. `uncovered` are ranges of batch in which a fifth or more of the last day's requests ran and that
    the evidence does not cover; `stragglers` counts pods of trial and baseline 15 % off the rest of their
    arm.
    """

    ratio: float | None
    lower: float | None
    upper: float | None
    windows_used: int
    windows_seen: int
    skipped: Mapping[Reason, int]
    last_skipped: Reason | None
    batch_low: float
    batch_high: float
    measured_seconds: float
    serving: Ratio | None
    uncovered: tuple[str, ...] = ()
    stragglers: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a trial ended: the outcome, a reason code, one sentence with the numbers, and the numbers."""

    outcome: Outcome
    reason: str
    message: str
    numbers: Summary


def summarise(state: TrialState) -> Summary:
    """The numbers of a trial for people."""
    against_baseline = ratio_of(state.baseline, state)
    return Summary(
        ratio=against_baseline.ratio,
        lower=against_baseline.lower,
        upper=against_baseline.upper,
        windows_used=state.used,
        windows_seen=state.seen,
        skipped={reason: count for reason, count in zip(REASONS, state.skipped, strict=True) if count},
        last_skipped=REASONS[state.last_reason] if state.last_reason >= 0 else None,
        batch_low=state.batch_low,
        batch_high=state.batch_high,
        measured_seconds=state.measured_seconds,
        serving=ratio_of(state.serving, state) if state.serving.whole.n else None,
        uncovered=uncovered(state.baseline.bands, state.frozen.learned.shares),
        stragglers=state.watch.trial_pods.stragglers + state.watch.baseline_pods.stragglers,
    )


def ratio_of(comparison: Comparison, state: TrialState) -> Ratio:
    """A comparison as multiples, with the interval at the confidence asked for."""
    if not comparison.whole.n:
        return Ratio()
    found = state.corrections
    known = estimate(comparison, state.frozen, found)
    if known is None:
        return Ratio(multiple(comparison.whole.mean + found.surplus))
    alpha = state.frozen.alpha
    return Ratio(multiple(known.mean), multiple(known.lower(alpha)), multiple(known.upper(alpha)))


def multiple(log_ratio: float) -> float | None:
    """A log ratio as a multiple; None if it is so far out that it says nothing."""
    return math.exp(log_ratio) if abs(log_ratio) <= LARGEST_SHOWN else None
