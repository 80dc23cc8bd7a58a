"""Does the drafter's gain fall as the load rises? A line through y over the log of the baseline's batch.

Beside the running comparison. A trial in the morning has seen the load of the morning; where its gain falls
fast, a little more load makes it a loss, and it must not be let on more pods before it has been there. The
line says nothing far from where it was measured, so it is followed only a little way.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from specdeploy.judge.noise import Sums

LEAST_WINDOWS = 15
LEAST_SPREAD = 0.05
SURE = 2.0
# How far beyond the batches of its trial a drafter must not become a loss, where no whole day of the baseline
# says that the load stays below.
FARTHEST = 1.5
DAY_WINDOWS = 1440


class Slope(NamedTuple):
    """Sums of x, x x and x y over the windows of evidence; x is the natural log of the baseline's batch."""

    x: float = 0.0
    squares: float = 0.0
    cross: float = 0.0

    def add(self, batch: float, value: float) -> Slope:
        """One window: the baseline's mean batch per engine (above 0) and y."""
        x = math.log(batch)
        return Slope(self.x + x, self.squares + x * x, self.cross + x * value)

    def expected(self, batch: float, whole: Sums, effective: float) -> float | None:
        """y at this batch by the line, where y falls with the batch for certain; else None.

        `whole` has the same windows' y, `effective` is how many independent windows they are worth.
        """
        n = whole.n
        if n < LEAST_WINDOWS or effective <= 2:
            return None
        spread = self.squares - self.x * self.x / n
        if spread < LEAST_SPREAD * LEAST_SPREAD * n:
            return None
        fall = (self.cross - self.x * whole.mean) / spread
        rest = max(0.0, whole.squares - whole.total * whole.mean - fall * fall * spread) / (n - 2)
        if fall >= -SURE * math.sqrt(rest / spread * n / effective):
            return None
        return whole.mean + fall * (math.log(batch) - self.x / n)


def batch_to_stand(batch_high: float, learned_high: float, learned_windows: int) -> float:
    """The batch at which a drafter must not be expected to lose: somewhat beyond the largest of its trial."""
    if learned_windows < DAY_WINDOWS:
        return batch_high * FARTHEST
    return min(max(batch_high, learned_high), batch_high * FARTHEST)
