"""The running comparison of the trial with one other arm: sums of fixed size over the windows of evidence.

arm -> comparison -> interval. y, the evidence of one window, is the log ratio of decode speeds moved to equal
load.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from specdeploy.judge.bands import NO_BANDS, Bands, add_to_band
from specdeploy.judge.noise import LARGEST_LOG, SMALLEST_SD, Sums, bounded
from specdeploy.judge.slope import Slope

FIRST_DECISION = 10
CLIP_SDS = 4.0
FIRST_HALF = 15

__all__ = ["LARGEST_LOG", "SMALLEST_SD", "Comparison", "Evidence", "Sums"]


class Evidence(NamedTuple):
    """One window of the trial against another arm, in natural logs.

    `y` is what is averaged, `raw` the ratio of speeds. `batch` is the ratio of mean batches where `y` was
    moved by a weight of it, else 0; `load` the ratio of tokens per pod-second where it was not, else 0.
    `inverse_pods` is 1/pods of both arms added up.
    """

    y: float
    raw: float
    load: float
    batch: float
    inverse_pods: float


class Comparison(NamedTuple):
    """The trial against one arm. `whole` is all evidence, `half` that from before its more recent half, and
    `next_half` from before the next such half (they begin at windows 15, 30, 60, 120 ...). `raw`, `load`,
    `batch` and `inverse_pods` sum what `Evidence` has under these names, a log clipped only at a factor of 8.
    `bands` has `y` by the baseline's batch, clipped like these: what is unusual on the whole may be usual at
    one batch. `slope` has `y` over the log of that batch."""

    whole: Sums = Sums()
    half: Sums = Sums()
    next_half: Sums = Sums()
    last_value: float = 0.0
    last_index: int = 0
    raw: float = 0.0
    load: float = 0.0
    batch: float = 0.0
    inverse_pods: float = 0.0
    bands: Bands = NO_BANDS
    slope: Slope = Slope()

    def add(self, index: int, evidence: Evidence, batch: float) -> Comparison:
        """One window of evidence; `batch` is the baseline's mean batch per engine in it."""
        whole, half, next_half, last_value, last_index, raw, load, moved, inverse_pods, bands, slope = self
        log_ratio, log_raw, log_load, log_batch, pods = evidence
        log_ratio = bounded(log_ratio)
        value = _clip(log_ratio, whole)
        whole = whole.add(value, last_value if index == last_index + 1 else None)
        if whole.n % FIRST_HALF == 0 and _half_begins_after(whole.n):
            half, next_half = next_half, whole
        return Comparison(
            whole,
            half,
            next_half,
            value,
            index,
            raw + bounded(log_raw),
            load + bounded(log_load),
            moved + bounded(log_batch),
            inverse_pods + pods,
            add_to_band(bands, batch, log_ratio),
            slope.add(batch, value),
        )

    @property
    def recent(self) -> Sums:
        """The more recent half of the evidence."""
        return self.whole.since(self.half)


def _clip(value: float, earlier: Sums) -> float:
    """From the tenth window on, bounds a value by 4 sd around the mean of the earlier ones."""
    if earlier.n < FIRST_DECISION - 1:
        return value
    n, total, squares = earlier[:3]
    mean = total / n
    distance = value - mean
    variance = max((squares - total * mean) / (n - 1), SMALLEST_SD * SMALLEST_SD)
    if distance * distance <= CLIP_SDS * CLIP_SDS * variance:
        return value
    return mean + math.copysign(CLIP_SDS * math.sqrt(variance), distance)


def _half_begins_after(n: int) -> bool:
    """Is n, a multiple of 15, one of 15, 30, 60, 120, ...?"""
    doublings = n // FIRST_HALF
    return doublings & (doublings - 1) == 0
