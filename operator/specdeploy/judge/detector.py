"""Has the arm that serves become slower than the baseline? The change detector behind the guard.

guard -> detector. A trial's interval tests the mean since its beginning: after a thousand good windows it
would look away for hundreds of bad ones. This e-detector tests whether there is *any* moment since which the
log ratio has been below 0 (Shiryaev-Roberts over three sizes of loss; Shin, Ramdas and Rinaldo, e-detectors).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from specdeploy.judge.noise import PHI_WEIGHT, SMALLEST_SD, Sums, independent_share

ALARM = 10_000.0
"""Mean of R at which the alarm goes off: at a ratio of exactly 1 as many windows, or more, lie between false
alarms, on average."""
LOSSES = (0.05, 0.10, 0.30)
LARGEST_STEP = 0.4 * math.log(ALARM)
LARGEST_LOG = 50.0
HALF_LIFE = 240.0
KEEP = 0.5 ** (1 / HALF_LIFE)
CLIP_SDS = 4.0
FEWEST_WINDOWS = 10
UNKNOWN_SD = 0.15
NEVER = 10_000
NINE_OF_TEN = 1.2816
VARIANCE_ERROR = 1.35


class Noise(NamedTuple):
    """What the log ratio moves by from window to window, where a change of level leaves nearly no trace.

    Sums that forget half in 240 windows: `squares` of the first differences d with their `weight`, `products`
    of d with the d before it and their `pairs`; both only over adjacent windows. `last_step` is the newest d,
    `row` the adjacent windows that end with the newest value (0, 1, or 2 for more). `prior` is the
    autocorrelation assumed before any is seen.
    """

    prior: float
    weight: float
    squares: float
    pairs: float
    products: float
    last_value: float = 0.0
    last_step: float = 0.0
    last_index: int = -1
    row: int = 0

    @property
    def variance(self) -> float:
        """Long-run variance of the log ratio: n times the variance of a mean over n windows.

        For an AR(1) with variance s^2: E d^2 = 2 s^2 (1 - phi), corr(d, d before) = -(1 - phi) / 2 and the
        long-run variance is s^2 (1 + phi) / (1 - phi); phi is kept on the safe side as in a trial.
        """
        prior, weight, squares, pairs, products, *_ = self
        square = max(squares / weight, 1e-12)
        phi = 1 + 2 * products / (pairs * square)
        share = independent_share((pairs * phi + PHI_WEIGHT * prior) / (pairs + PHI_WEIGHT), int(pairs))
        return max(SMALLEST_SD * SMALLEST_SD, square * (1 + share) / (4 * share * share))

    def add(self, index: int, value: float) -> Noise:
        prior, weight, squares, pairs, products, last_value, last_step, last_index, row = self
        if row == 0 or index != last_index + 1:
            return Noise(prior, weight, squares, pairs, products, value, 0.0, index, 1)
        # The one large step of a change of level must not hide that change.
        reach = CLIP_SDS * math.sqrt(squares / weight)
        step = min(reach, max(-reach, value - last_value))
        squares = KEEP * squares + step * step
        if row == 2:
            pairs, products = KEEP * pairs + 1, KEEP * products + step * last_step
        return Noise(prior, KEEP * weight + 1, squares, pairs, products, value, step, index, 2)


def known_noise(known: Sums, prior: float) -> Noise:
    """The noise of a trial's log ratios, whose windows count as so many; `prior` is the autocorrelation that
    is assumed. Fewer than 10 windows say nothing: then it is taken for large."""
    told = known.n >= FEWEST_WINDOWS
    share = known.independent(prior) if told else (1 - prior) / (1 + prior)
    rest = 2 * share / (1 + share)
    weight = min(float(known.n), 1 / (1 - KEEP)) if told else float(FEWEST_WINDOWS)
    square = 2 * (known.sd if told else UNKNOWN_SD) ** 2 * rest
    return Noise(prior, weight, weight * square, weight, -weight * square * rest / 2)


class Detector(NamedTuple):
    """`logs` are ln(1 + R) for each of LOSSES, 0 at the beginning; `noise` is that of the windows so far."""

    noise: Noise
    logs: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def add(self, index: int, value: float) -> Detector:
        """One window's log ratio, already raised by what pods of a kind may differ by."""
        variance = self.noise.variance
        one, two, three = self.logs
        logs = (
            _step(one, LOSSES[0], value, variance),
            _step(two, LOSSES[1], value, variance),
            _step(three, LOSSES[2], value, variance),
        )
        return Detector(self.noise.add(index, value), logs)

    @property
    def evidence(self) -> float:
        """Mean of R as a multiple of ALARM: 1 or more is an alarm."""
        one, two, three = self.logs
        return (math.expm1(one) + math.expm1(two) + math.expm1(three)) / (len(LOSSES) * ALARM)

    @property
    def alarmed(self) -> bool:
        return self.evidence >= 1


def _step(log: float, loss: float, value: float, variance: float) -> float:
    """R <- (1 + R) exp(step): the step is the log likelihood ratio of "slower by `loss`" to "as fast", capped
    so that no two windows alone decide: pods stumble now and then, and what serves may do so for weeks."""
    step = -loss * (value + loss / 2) / variance
    return math.log1p(math.exp(min(log + min(step, LARGEST_STEP), LARGEST_LOG)))


def windows_to_alarm(value: float, variance: float) -> int:
    """Windows within which the detector finds a lasting log ratio of `value` in 9 of 10 cases; NEVER (10,000)
    where it is too near to 0 to be found but by luck.

    The first passage of a random walk with drift, for the size of loss that gets there first. A third is
    added to the variance for its own error, and the many possible moments of change that R sums over lower
    the barrier by ln(1 + 1 / drift): with both within a factor of 1.5 of simulations.
    """
    return min(_first_passage(loss, value, VARIANCE_ERROR * variance) for loss in LOSSES)


def _first_passage(loss: float, value: float, variance: float) -> int:
    drift = min(LARGEST_STEP, -loss * (value + loss / 2) / variance)
    if drift <= 0:
        return NEVER
    barrier = math.log(len(LOSSES) * ALARM) - math.log1p(1 / drift)
    spread = NINE_OF_TEN * loss / math.sqrt(variance)
    root = (spread + math.sqrt(spread * spread + 4 * drift * max(barrier, 0.0))) / (2 * drift)
    return min(NEVER, max(2, math.ceil(root * root)))
