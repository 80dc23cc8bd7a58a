"""How the baseline's speed falls with demand, from running sums: a line through ln R over ln(tokens per
second).

history -> demand -> learned. The line is fitted to demand and not to batch, because a slow spell raises the
batch while clients ask for the same: the batch is an effect of the noise, demand is not.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from specdeploy.judge.noise import LARGEST_LOG, LARGEST_PHI

HALF_LIFE = 1440
DECAY = 0.5 ** (1 / HALF_LIFE)
SMALLEST_SPREAD = 0.05
MOST_WINDOWS = (1 + DECAY) / (1 - DECAY)
"""Windows of equal weight that fading sums are ever worth: squared sum of weights by sum of squares."""
LIKELY_SDS = 4.0
SMALLEST_REACH = 0.10
"""Speed this near to the line, as a log, is always likely: a line may be learned in an hour without noise."""


class Demand(NamedTuple):
    """Sums over windows, each new one fading the earlier ones (half-life 1440 windows).

    d is ln(decode tokens per pod-second), y is ln R. `squared` sums the squared weights. `pairs` and what
    follows are over two adjacent windows: `ends_d` and `ends_y` sum both ends' values, `next_dd` the product
    of d with the next window's, `next_dy` both mixed products. `last_d` and `last_y` are the newest values.
    """

    weight: float = 0.0
    squared: float = 0.0
    d: float = 0.0
    y: float = 0.0
    dd: float = 0.0
    dy: float = 0.0
    yy: float = 0.0
    pairs: float = 0.0
    ends_d: float = 0.0
    ends_y: float = 0.0
    next_dd: float = 0.0
    next_dy: float = 0.0
    next_yy: float = 0.0
    last_d: float = 0.0
    last_y: float = 0.0

    def add(self, d: float, y: float, *, adjacent: bool) -> Demand:
        """One window; `adjacent` if the one before was added, too."""
        old = self
        pair = 1.0 if adjacent else 0.0
        return Demand(
            DECAY * old.weight + 1,
            DECAY * DECAY * old.squared + 1,
            DECAY * old.d + d,
            DECAY * old.y + y,
            DECAY * old.dd + d * d,
            DECAY * old.dy + d * y,
            DECAY * old.yy + y * y,
            DECAY * old.pairs + pair,
            DECAY * old.ends_d + pair * (d + old.last_d),
            DECAY * old.ends_y + pair * (y + old.last_y),
            DECAY * old.next_dd + pair * d * old.last_d,
            DECAY * old.next_dy + pair * (d * old.last_y + y * old.last_d),
            DECAY * old.next_yy + pair * y * old.last_y,
            d,
            y,
        )


class Line(NamedTuple):
    """ln R = c + `slope` d, never rising; `slope_se` is the slope's standard error, `known` says whether
    demand varied enough to tell it (else both are 0). `sd` and `phi` are the noise around the line in one
    window and its lag-one autocorrelation."""

    known: bool = False
    slope: float = 0.0
    slope_se: float = 0.0
    sd: float = 0.0
    phi: float = 0.0


def slope_of(sums: Demand) -> float | None:
    """The slope k of ln R = c + k d, never rising; None while demand varied too little to tell it."""
    if sums.weight <= 0:
        return None
    d = sums.d / sums.weight
    dd = sums.dd / sums.weight - d * d
    if dd < SMALLEST_SPREAD * SMALLEST_SPREAD:
        return None
    # A rising line would be common noise, never the engine.
    return min(0.0, (sums.dy / sums.weight - d * sums.y / sums.weight) / dd)


def likely(sums: Demand, d: float, y: float, *, noisy: bool) -> bool:
    """Are a window's values such as the earlier windows (at least one) make likely?

    Demand within a factor of 8 or 4 sd of its mean; speed within 4 sd of the line at that demand, `noisy`
    being whether the sd is known, else within a factor of 8.
    """
    middle_d, middle_y = sums.d / sums.weight, sums.y / sums.weight
    slope = slope_of(sums) or 0.0
    dd = max(0.0, sums.dd / sums.weight - middle_d * middle_d)
    if abs(d - middle_d) > max(LARGEST_LOG, LIKELY_SDS * math.sqrt(dd)):
        return False
    dy = sums.dy / sums.weight - middle_d * middle_y
    yy = sums.yy / sums.weight - middle_y * middle_y
    variance = max(0.0, yy - 2 * slope * dy + slope * slope * dd)
    reach = max(SMALLEST_REACH, LIKELY_SDS * math.sqrt(variance)) if noisy else LARGEST_LOG
    return abs(y - middle_y - slope * (d - middle_d)) <= reach


def fit(sums: Demand, reach: float = 0.0) -> Line:
    """The line behind the sums; needs three windows. `reach` is how long a request decodes, in windows."""
    n = sums.weight * sums.weight / sums.squared if sums.squared > 0 else 0.0
    n = min(n, MOST_WINDOWS)  # more is what a damaged state says
    if n < 3:
        return Line()
    known = slope_of(sums)
    slope = known or 0.0
    d, y = sums.d / sums.weight, sums.y / sums.weight
    dd = max(0.0, sums.dd / sums.weight - d * d)
    dy, yy = sums.dy / sums.weight - d * y, sums.yy / sums.weight - y * y
    variance = max(0.0, yy - 2 * slope * dy + slope * slope * dd)
    next_dd, next_residual = _next_products(sums, d, y, slope)
    phi = _correlation(next_residual, variance, sums.pairs)
    line = Line(known is not None, slope, 0.0, math.sqrt(variance * n / (n - 2)), phi)
    if known is None:
        return line
    return line._replace(slope_se=_slope_se(line, dd, next_dd, n, reach))


def _slope_se(line: Line, dd: float, next_dd: float, n: float, reach: float) -> float:
    """Standard error of the slope: chance, and what a change of speed itself does to the tokens.

    Noise that lasts counts for as many windows as demand lasts with it. Demand's correlation at longer lags
    is taken to be that of adjacent windows (a day's curve under Poisson noise), never less. And when speed
    falls, the tokens in work fall back by as much for the time of a request: `reach` of the new part of
    the noise is in the demand as well, and flattens the line.
    """
    variance = line.sd * line.sd
    lasting = max(0.0, min(1.0, next_dd / dd))
    inflation = 1 + 2 * lasting * line.phi / (1 - line.phi)
    flattened = min(1.0, reach) * (1 - line.phi) * variance / dd
    return math.hypot(math.sqrt(variance * inflation / (n * dd)), flattened)


def _next_products(sums: Demand, d: float, y: float, slope: float) -> tuple[float, float]:
    """Lag-one covariances of demand and of the residuals."""
    pairs = sums.pairs
    if pairs <= 0:
        return 0.0, 0.0
    dd = (sums.next_dd - d * sums.ends_d) / pairs + d * d
    dy = (sums.next_dy - d * sums.ends_y - y * sums.ends_d) / pairs + 2 * d * y
    yy = (sums.next_yy - y * sums.ends_y) / pairs + y * y
    return dd, yy - slope * dy + slope * slope * dd


def _correlation(covariance: float, variance: float, pairs: float) -> float:
    """Lag-one correlation, corrected for its bias in short series and bounded to [0, 0.95]; 0 if unknown."""
    if variance <= 0 or pairs <= 0:
        return 0.0
    found = max(-1.0, min(1.0, covariance / variance))
    return max(0.0, min(LARGEST_PHI, found + (1 + 3 * found) / (pairs + 1)))
