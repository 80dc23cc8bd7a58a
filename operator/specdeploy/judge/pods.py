"""How much pods of one arm differ, learned from the trial's own arms where they have several.

Beside the running comparison: pods -> interval (the pod term), and stragglers for people to see. A straggler
is never left out here: that takes a cause outside of the metric (a sick node), which the caller knows and
tells as an obstacle, for all arms alike.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from specdeploy.judge.arm import Arm
from specdeploy.judge.offsets import LARGEST_DEVIATION

TRACKED = 4
WINDOWS_TO_LEARN = 30
WINDOWS_TO_FLAG = 10
STRAGGLING = 0.15
SMALLEST_POD_SD = 0.005
LARGEST_POD_SD = 1.0


class Spread(NamedTuple):
    """The first four pods of an arm, by name. `key` stands for their names: sums begin anew when they change.
    `totals` has each pod's summed log speed relative to the arm's mean, a window's within a factor of e, and
    `squares` sums the squares of all."""

    key: int = 0
    n: int = 0
    totals: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    squares: float = 0.0

    def add(self, arm: Arm) -> Spread:
        if arm.pods < 2:
            return self
        tracked = arm.each[:TRACKED]
        key = zlib.crc32("\n".join(name for name, _ in tracked).encode())
        before = self if key == self.key else Spread(key)
        apart = [_bounded(speed - arm.log_speed) for _, speed in tracked]
        apart += [0.0] * (TRACKED - len(apart))
        one, two, three, four = (old + new for old, new in zip(before.totals, apart, strict=True))
        return Spread(
            key,
            before.n + 1,
            (one, two, three, four),
            before.squares + sum(value * value for value in apart),
        )

    @property
    def pods(self) -> int:
        """Pods that are tracked; one that equals the arm's mean in all windows to the last bit is none."""
        return sum(total != 0 for total in self.totals)

    @property
    def stragglers(self) -> int:
        """Pods that are 15 % or more off the median of their arm over 10 windows or more."""
        totals = [total for total in self.totals if total]
        if self.n < WINDOWS_TO_FLAG or not totals:
            return 0
        middle = median(totals)
        return sum(abs(total - middle) > STRAGGLING * self.n for total in totals)

    def learned(self, independent: float) -> tuple[float, int]:
        """Sum of squared offsets of the pods from their mean, without the part that the noise of windows
        makes (so it may be negative), and its degrees of freedom; `independent` is the share of the windows
        that are independent."""
        pods = self.pods
        if self.n < WINDOWS_TO_LEARN or pods < 2:
            return 0.0, 0
        mean = sum(self.totals) / pods
        between = sum((total - mean) ** 2 for total in self.totals if total) / self.n
        noise = max(0.0, self.squares - between) / (pods * (self.n - 1))
        return between / self.n - (pods - 1) * noise / (self.n * independent), pods - 1


def with_pods_of(
    arms: Sequence[Spread], pod_sd: float, freedom: int, independent: float
) -> tuple[float, int]:
    """The pod sd (log units, at least 0.5 %) and its degrees of freedom after what the arms have shown."""
    found = [arm.learned(independent) for arm in arms]
    more = sum(degrees for _, degrees in found)
    if not more or pod_sd == 0:
        return pod_sd, freedom
    squares = freedom * pod_sd * pod_sd + sum(value for value, _ in found)
    total = freedom + more
    sd = math.sqrt(max(0.0, squares / total))
    return min(LARGEST_POD_SD, max(SMALLEST_POD_SD, sd)), total


def _bounded(deviation: float) -> float:
    return min(LARGEST_DEVIATION, max(-LARGEST_DEVIATION, deviation))
