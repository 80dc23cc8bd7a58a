"""From a comparison to the interval for the speed-up, and what widens it besides noise.

comparison -> interval -> decide. The interval counts the *independent* windows the data are worth, and adds
what more windows do not average away: the difference between two pods of the same kind, the uncertainty of
the load's weight, and, without a weight, what unequal load may have given away.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from specdeploy.judge.bands import WINDOWS_TO_VETO, name_of
from specdeploy.judge.comparison import FIRST_DECISION, Comparison
from specdeploy.judge.learned import Learned
from specdeploy.judge.noise import Sums
from specdeploy.judge.student import sequential_radius, single_look_radius


class Frozen(NamedTuple):
    """What is fixed when a trial starts, so that a change of the spec cannot spend the error budget twice.

    `alpha` is for retiring, `promotion_alpha` for the k-th trial's promotion; `pod_sd` and `disaster_sd` are
    in log units; `pod_freedom` is the number of degrees of freedom behind `pod_sd`; `phi` is the prior
    autocorrelation; `weight` is that of `learned`, 0 if none is known.
    """

    alpha: float
    promotion_alpha: float
    pod_sd: float
    pod_freedom: int
    phi: float
    disaster_sd: float
    weight: float
    learned: Learned


class Corrections(NamedTuple):
    """What the trial has found out about itself: `surplus` is the log of the share of the trial's tokens that
    users got (0 or below); `pod_sd` and `pod_freedom` are the posterior of the difference between pods."""

    surplus: float
    pod_sd: float
    pod_freedom: int


class Estimate(NamedTuple):
    """Log ratio and the half-width around it; all in natural logs. `fixed` is the part of the half-width that
    more windows do not shrink; the penalties are what unequal load may have given away on either side."""

    mean: float
    se: float
    effective: float
    fixed: float
    low_penalty: float
    high_penalty: float

    def lower(self, alpha: float) -> float:
        return self.mean - self._radius(alpha) - self.low_penalty

    def upper(self, alpha: float) -> float:
        return self.mean + self._radius(alpha) + self.high_penalty

    def upper_at_one_look(self, alpha: float) -> float:
        radius = single_look_radius(self.effective - 1, alpha) * self.se
        return self.mean + radius + self.fixed + self.high_penalty

    def _radius(self, alpha: float) -> float:
        return sequential_radius(self.effective, alpha) * self.se + self.fixed


def estimate(comparison: Comparison, frozen: Frozen, found: Corrections) -> Estimate | None:
    """The estimate from all evidence; None before the tenth window."""
    whole = comparison.whole
    if whole.n < FIRST_DECISION:
        return None
    return _estimate(comparison, whole, frozen, found, whole.effective(frozen.phi))


def estimate_recent(comparison: Comparison, frozen: Frozen, found: Corrections) -> Estimate:
    """The estimate from the more recent half of the evidence."""
    recent = comparison.recent
    return _estimate(comparison, recent, frozen, found, recent.effective(frozen.phi))


def fixed_part(comparison: Comparison, frozen: Frozen, found: Corrections) -> float:
    """The part of the half-width, in log units, that stays whatever the number of windows."""
    pods = pod_term(comparison, frozen, found)
    if not comparison.batch:
        return pods
    moved = abs(comparison.batch) / comparison.whole.n
    chance = math.hypot(pods, _quantile(found, frozen) * frozen.learned.weight_se * moved)
    return chance + _bend(comparison, frozen.learned) * moved


def _bend(comparison: Comparison, learned: Learned) -> float:
    """How far the weight may be off at the batches of this trial. It is one number for the whole history, but
    speed falls faster at a larger batch: where a step takes a fixed time and some for each request, the
    weight's odds grow with the batch."""
    if not learned.batch_low > 0:
        return 0.0
    middle = (math.log(learned.batch_low) + math.log(learned.batch_high)) / 2
    here = comparison.slope.x / comparison.whole.n
    odds = learned.weight / (1 - learned.weight) * math.exp(here - middle)
    return abs(odds / (1 + odds) - learned.weight)


def pod_term(comparison: Comparison, frozen: Frozen, found: Corrections) -> float:
    """What two sets of pods of the same kind may differ by, in log units."""
    if not comparison.whole.n:
        return 0.0
    return pod_term_of(comparison.inverse_pods / comparison.whole.n, frozen, found)


def pod_term_of(inverse_pods: float, frozen: Frozen, found: Corrections) -> float:
    """The same for 1/m + 1/m' of the pods of the two sets."""
    return _quantile(found, frozen) * found.pod_sd * math.sqrt(inverse_pods)


def penalties(comparison: Comparison) -> tuple[float, float]:
    """What unequal load may have given the trial (taken from the lower bound) or taken from it.

    Without a weight the effect at equal load lies within twice the load's log ratio of the raw one, on one
    side.
    """
    load = comparison.load / comparison.whole.n
    return 2 * max(0.0, -load), 2 * max(0.0, load)


def losing_band(comparison: Comparison, frozen: Frozen, found: Corrections) -> str | None:
    """The range of the baseline's batch in which the trial is proven slower, with its ratio and interval, as
    `at batch 16 to 64: 0.850x [0.800, 0.903] over 60 windows`; None if none with 20 windows or more is."""
    independent = comparison.whole.independent(frozen.phi)
    fixed = fixed_part(comparison, frozen, found)
    low, high = penalties(comparison)
    for position, band in enumerate(comparison.bands):
        if band.n < WINDOWS_TO_VETO:
            continue
        effective = band.n * independent
        reach = sequential_radius(effective, frozen.alpha) * band.sd / math.sqrt(effective)
        mean = band.mean + found.surplus
        lower, upper = mean - reach - fixed - low, mean + reach + fixed + high
        if upper < 0:
            ratio = f"{math.exp(mean):.3f}x [{math.exp(lower):.3f}, {math.exp(upper):.3f}]"
            return f"at batch {name_of(position)}: {ratio} over {band.n} windows"
    return None


def _quantile(found: Corrections, frozen: Frozen) -> float:
    return single_look_radius(found.pod_freedom, frozen.alpha)


def _estimate(
    comparison: Comparison, sums: Sums, frozen: Frozen, found: Corrections, effective: float
) -> Estimate:
    return Estimate(
        sums.mean + found.surplus,
        sums.sd / math.sqrt(effective),
        effective,
        fixed_part(comparison, frozen, found),
        *penalties(comparison),
    )
