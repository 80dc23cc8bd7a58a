"""The noise of one series of windows: mean, spread, and how many independent windows it is worth.

Under every comparison: comparison -> noise. Windows follow each other in a real system, so neighbours are
alike, and n of them say less than n independent ones would.
"""

from __future__ import annotations

import math
from typing import NamedTuple

SMALLEST_SD = 0.005
LARGEST_PHI = 0.95
PHI_WEIGHT = 20.0
LARGEST_LOG = math.log(8)


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

    def since(self, earlier: Sums) -> Sums:
        """The values added after `earlier`, an older state of the same sums."""
        return Sums._make(now - then for now, then in zip(self, earlier, strict=True))

    @property
    def mean(self) -> float:
        return self.total / self.n if self.n else 0.0

    @property
    def deviations(self) -> float:
        """Sum of squared deviations from the mean."""
        return max(0.0, self.squares - self.total * self.total / self.n) if self.n else 0.0

    @property
    def sd(self) -> float:
        """Sample standard deviation, at least 0.5 %."""
        if self.n < 2:
            return SMALLEST_SD
        return math.sqrt(max(self.deviations / (self.n - 1), SMALLEST_SD * SMALLEST_SD))

    def independent(self, prior: float) -> float:
        """The share of the windows that are independent: (1 - phi) / (1 + phi), phi shrunk to `prior` and on
        the safe side by half a standard error."""
        known = min(self.pairs + 1, self.n) if self.pairs else 0
        observed = self._lag_correlation(known) if known else 0.0
        return independent_share((known * observed + PHI_WEIGHT * prior) / (known + PHI_WEIGHT), known)

    def effective(self, prior: float) -> float:
        """How many independent values these are worth."""
        return self.n * self.independent(prior)

    def _lag_correlation(self, known: int) -> float:
        """Lag-one correlation over adjacent windows, corrected for its bias in short series."""
        mean = self.mean
        covariance = self.cross - mean * (self.lead + self.lag) + self.pairs * mean * mean
        variance = max(self.deviations, 1e-12) / self.n
        correlation = covariance / (variance * known)
        return _clamp(correlation + (1 + 3 * correlation) / known, -0.5, LARGEST_PHI)


def independent_share(phi: float, windows: int) -> float:
    """(1 - phi) / (1 + phi), with phi raised by half the standard error it has from so many windows."""
    phi = _clamp(phi, 0.0, LARGEST_PHI)
    phi = min(LARGEST_PHI, phi + 0.5 * math.sqrt((1 - phi * phi) / (windows + PHI_WEIGHT)))
    return (1 - phi) / (1 + phi)


def bounded(log_ratio: float) -> float:
    """A log ratio of one window, within a factor of 8 either way: beyond that it is no speed."""
    if -LARGEST_LOG <= log_ratio <= LARGEST_LOG:
        return log_ratio
    return math.copysign(LARGEST_LOG, log_ratio)


def _clamp(value: float, low: float, high: float) -> float:
    return min(high, max(low, value))
