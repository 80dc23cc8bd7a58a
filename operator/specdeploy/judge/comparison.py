"""The running comparison of the trial with one other arm: sums of fixed size and the interval they give.

y is the log ratio of decode speed in one window. Windows follow each other in a real system, so the interval
counts the *independent* windows the data are worth, and adds what differs between two pods of the same kind,
which more windows do not average away.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from specdeploy.judge.student import sequential_radius, single_look_radius

LARGEST_LOG = math.log(8)
SMALLEST_SD = 0.005
FIRST_DECISION = 10
CLIP_SDS = 4.0
PHI_WEIGHT = 20.0
FIRST_HALF = 15
POD_FREEDOM = 8


class Frozen(NamedTuple):
    """What is fixed when a trial starts, so that a change of the spec cannot spend the error budget twice.

    `alpha` is for retiring, `promotion_alpha` for the k-th trial's promotion; `pod_sd` and `disaster_sd` are
    in log units; `pod_freedom` is the number of degrees of freedom behind `pod_sd`; `phi` is the prior
    autocorrelation.
    """

    alpha: float
    promotion_alpha: float
    pod_sd: float
    pod_freedom: int
    phi: float
    disaster_sd: float


class Sums(NamedTuple):
    """Sums over values; `pairs`, `lead`, `lag` and `cross` only over values of adjacent windows, or a gap
    would break the autocorrelation."""

    n: int = 0
    total: float = 0.0
    squares: float = 0.0
    pairs: int = 0
    lead: float = 0.0
    lag: float = 0.0
    cross: float = 0.0

    def add(self, value: float, previous: float | None) -> Sums:
        """`previous` is the value of the window just before, None after a gap."""
        n, total, squares, pairs, lead, lag, cross = self
        if n == 0 or previous is None:
            return Sums(n + 1, total + value, squares + value * value, pairs, lead, lag, cross)
        return Sums(
            n + 1,
            total + value,
            squares + value * value,
            pairs + 1,
            lead + value,
            lag + previous,
            cross + value * previous,
        )

    @property
    def mean(self) -> float:
        return self.total / self.n if self.n else 0.0

    @property
    def sd(self) -> float:
        """Sample standard deviation, at least 0.5 %."""
        if self.n < 2:
            return SMALLEST_SD
        variance = (self.squares - self.total * self.total / self.n) / (self.n - 1)
        return math.sqrt(max(variance, SMALLEST_SD * SMALLEST_SD))

    def effective(self, prior: float) -> float:
        """How many independent values these are worth: n (1 - phi) / (1 + phi), phi shrunk to `prior` and on
        the safe side by half a standard error."""
        phi = self._shrunk_phi(prior)
        return self.n * (1 - phi) / (1 + phi)

    def _shrunk_phi(self, prior: float) -> float:
        known = self.pairs + 1 if self.pairs else 0
        observed = self._lag_correlation() if known else 0.0
        phi = _clamp((known * observed + PHI_WEIGHT * prior) / (known + PHI_WEIGHT), 0.0, 0.95)
        return min(0.95, phi + 0.5 * math.sqrt((1 - phi * phi) / (known + PHI_WEIGHT)))

    def _lag_correlation(self) -> float:
        """Lag-one correlation over adjacent windows, corrected for its bias in short series."""
        mean = self.mean
        known = self.pairs + 1
        covariance = self.cross - mean * (self.lead + self.lag) + self.pairs * mean * mean
        variance = max(self.squares - self.n * mean * mean, 1e-12) / self.n
        correlation = covariance / (variance * known)
        return _clamp(correlation + (1 + 3 * correlation) / known, -0.5, 0.95)


class Comparison(NamedTuple):
    """The trial against one arm. `whole` is all evidence, `recent` its more recent half (from windows 15, 30,
    60, 120 ... on), `newest` the next such half in the making. `raw` sums the unclipped log ratios, `load`
    the log ratios of decode tokens per pod-second, `inverse_pods` 1/pods of both arms."""

    whole: Sums = Sums()
    recent: Sums = Sums()
    newest: Sums = Sums()
    last_value: float = 0.0
    last_index: int = 0
    raw: float = 0.0
    load: float = 0.0
    inverse_pods: float = 0.0

    def add(self, index: int, *, ratio: float, load: float, inverse_pods: float) -> Comparison:
        """One window of evidence: log ratios of speed and of tokens per pod-second, and 1/m + 1/m' of the
        pods."""
        whole = self.whole
        value = _clip(ratio, whole)
        previous = self.last_value if index == self.last_index + 1 else None
        whole = whole.add(value, previous)
        recent = self.recent.add(value, previous)
        newest = self.newest.add(value, previous)
        if _half_begins_after(whole.n):
            recent, newest = newest, Sums()
        return Comparison(
            whole,
            recent,
            newest,
            value,
            index,
            self.raw + ratio,
            self.load + _clamp(load, -LARGEST_LOG, LARGEST_LOG),
            self.inverse_pods + inverse_pods,
        )


class Estimate(NamedTuple):
    """Log ratio and the half-width around it, before what unequal load takes away; all in natural logs."""

    mean: float
    se: float
    effective: float
    pods: float
    low_penalty: float
    high_penalty: float

    def lower(self, alpha: float) -> float:
        return self.mean - self._radius(alpha) - self.low_penalty

    def upper(self, alpha: float) -> float:
        return self.mean + self._radius(alpha) + self.high_penalty

    def upper_at_one_look(self, alpha: float) -> float:
        radius = single_look_radius(self.effective - 1, alpha) * self.se
        return self.mean + radius + self.pods + self.high_penalty

    def _radius(self, alpha: float) -> float:
        return sequential_radius(self.effective, alpha) * self.se + self.pods


def estimate(comparison: Comparison, frozen: Frozen) -> Estimate | None:
    """The estimate from all evidence; None before the tenth window."""
    if comparison.whole.n < FIRST_DECISION:
        return None
    return _estimate(comparison, comparison.whole, frozen)


def estimate_recent(comparison: Comparison, frozen: Frozen) -> Estimate:
    """The estimate from the more recent half of the evidence."""
    return _estimate(comparison, comparison.recent, frozen)


def pod_term(comparison: Comparison, frozen: Frozen) -> float:
    """What two sets of pods of the same kind may differ by, whatever the number of windows, in log units."""
    if not comparison.whole.n:
        return 0.0
    inverse_pods = comparison.inverse_pods / comparison.whole.n
    return single_look_radius(frozen.pod_freedom, frozen.alpha) * frozen.pod_sd * math.sqrt(inverse_pods)


def _estimate(comparison: Comparison, sums: Sums, frozen: Frozen) -> Estimate:
    # Without a weight learned from demand, a difference in load is a bias of unknown size: the effect at
    # equal load lies within twice the load's log ratio of the raw one, on one side.
    load = comparison.load / comparison.whole.n
    effective = sums.effective(frozen.phi)
    return Estimate(
        mean=sums.mean,
        se=sums.sd / math.sqrt(effective),
        effective=effective,
        pods=pod_term(comparison, frozen),
        low_penalty=2 * max(0.0, -load),
        high_penalty=2 * max(0.0, load),
    )


def _clip(value: float, earlier: Sums) -> float:
    """Bounds a value by ln 8 and, from the tenth window on, by 4 sd around the mean of the earlier ones."""
    value = _clamp(value, -LARGEST_LOG, LARGEST_LOG)
    if earlier.n < FIRST_DECISION - 1:
        return value
    reach = CLIP_SDS * earlier.sd
    return _clamp(value, earlier.mean - reach, earlier.mean + reach)


def _half_begins_after(n: int) -> bool:
    """Is n one of 15, 30, 60, 120, ...?"""
    doublings, rest = divmod(n, FIRST_HALF)
    return rest == 0 and doublings & (doublings - 1) == 0


def _clamp(value: float, low: float, high: float) -> float:
    return min(high, max(low, value))
