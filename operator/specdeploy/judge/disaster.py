"""The fast lane: a trial far slower than the baseline is out after two windows, never after one.

A CUSUM of capped log e-values against "at least 0.8 of the baseline's speed". It looks at every window in
which both arms can be measured, evidence or not, from one window after a pod is ready.
"""

from __future__ import annotations

import math
from typing import NamedTuple

HARMLESS = math.log(0.8)
ALARM = math.log(1000)
LARGEST_STEP = 0.6 * ALARM
TILT = 0.6


class Lane(NamedTuple):
    """`score` is the CUSUM; `windows` and `total` (of log ratios) are what it was raised by since it was
    last 0."""

    score: float = 0.0
    windows: int = 0
    total: float = 0.0

    def add(self, ratio: float, sd: float) -> Lane:
        """One window's log ratio; `sd` is the noise a single window may have, in log units."""
        if ratio >= HARMLESS and not self.windows:
            return self
        weight = TILT / (sd * sd)
        step = weight * (HARMLESS - ratio) - weight * TILT / 2
        score = self.score + min(step, LARGEST_STEP)
        return Lane(score, self.windows + 1, self.total + ratio) if score > 0 else Lane()

    @property
    def alarmed(self) -> bool:
        return self.score >= ALARM

    @property
    def mean(self) -> float:
        """The mean log ratio over the windows that raised the score."""
        return self.total / self.windows if self.windows else 0.0
