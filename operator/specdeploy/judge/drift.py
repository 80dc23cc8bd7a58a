"""Has the arm that serves become another one than was proven? Watched while no baseline runs beside it.

guard -> drift. Two-sided CUSUMs on acceptance and on speed at equal demand. They decide nothing: content that
changes over the day moves both. They only bring the next comparison with a baseline forward.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from specdeploy.judge.noise import Sums

PRIOR_PHI = 0.6
LEARN_WINDOWS = 240
LEARN_AT_LEAST = 60
SMALLEST_SHIFT = 0.5
SIDES = 4


class Cusum(NamedTuple):
    """One signal: what it was while proven (`known`, with its last value), how far it has gone up or down
    since, in standard deviations, over how many windows."""

    known: Sums = Sums()
    last_value: float = 0.0
    up: float = 0.0
    down: float = 0.0
    up_windows: int = 0
    down_windows: int = 0

    def learn(self, value: float, *, adjacent: bool) -> Cusum:
        """Takes a value into what is known, up to 240 windows."""
        if self.known.n >= LEARN_WINDOWS:
            return self
        return Cusum(self.known.add(value, self.last_value if adjacent else None), value)

    def watch(self, value: float) -> Cusum:
        """Compares a value with what is known, which says nothing before 60 windows."""
        if self.known.n < LEARN_AT_LEAST:
            return self
        away = (value - self.known.mean) / self._sd
        up, down = max(0.0, self.up + away - self.shift), max(0.0, self.down - away - self.shift)
        return self._replace(
            up=up,
            down=down,
            up_windows=self.up_windows + 1 if up else 0,
            down_windows=self.down_windows + 1 if down else 0,
        )

    @property
    def shift(self) -> float:
        """The part of a shift that is let pass, in sd: half a sd, and twice the error of the mean known."""
        return SMALLEST_SHIFT + 2 / math.sqrt(self._effective)

    def limit(self, run_windows: float) -> float:
        """The sum at which a shift is told, for `run_windows` between false alarms of two such signals.

        A CUSUM that lets k pass runs exp(2 k limit / v) v / (2 k^2) windows, v = (1 + phi) / (1 - phi).
        """
        inflation = self.known.n / self._effective
        runs = SIDES * run_windows * 2 * self.shift**2 / inflation
        return inflation / (2 * self.shift) * math.log(1 + runs)

    def moved(self, run_windows: float) -> int:
        """1 for up, -1 for down, 0 for neither."""
        if self.known.n < LEARN_AT_LEAST:
            return 0
        limit = self.limit(run_windows)
        return 1 if self.up >= limit else -1 if self.down >= limit else 0

    def checked(self, run_windows: float) -> Cusum:
        """When a comparison with the baseline begins. What has moved is learnt anew beside it."""
        if self.moved(run_windows):
            return Cusum()
        return self._replace(up=0.0, down=0.0, up_windows=0, down_windows=0)

    def mean_since(self, way: int) -> float:
        """The mean since it began to move this `way` (1 or -1), in the unit of the values."""
        if way > 0:
            return self.known.mean + self._sd * (self.up / self.up_windows + self.shift)
        return self.known.mean - self._sd * (self.down / self.down_windows + self.shift)

    @property
    def sound(self) -> bool:
        """Can these numbers have come from windows?"""
        return (
            0 <= self.known.pairs <= self.known.n
            and (self.up > 0) == (self.up_windows > 0)
            and (self.down > 0) == (self.down_windows > 0)
            and min(self.up, self.down, self.up_windows, self.down_windows) >= 0
        )

    @property
    def _sd(self) -> float:
        """The sd of a window's value around the mean known, whose own error is part of it."""
        return self.known.sd * math.sqrt(1 + 1 / self._effective)

    @property
    def _effective(self) -> float:
        return self.known.effective(PRIOR_PHI)
