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
RUN_WINDOWS = 28_800.0
"""Windows between false alarms, on average, or more: 20 days of 60 s windows."""
SIDES = 4


class Cusum(NamedTuple):
    """One signal: what it was while proven (`known`, with its last value), and how far it has gone up or down
    since, in standard deviations."""

    known: Sums = Sums()
    last_value: float = 0.0
    up: float = 0.0
    down: float = 0.0

    def learn(self, value: float, *, adjacent: bool) -> Cusum:
        """Takes a value into what is known, up to 240 windows."""
        if self.known.n >= LEARN_WINDOWS:
            return self
        return Cusum(self.known.add(value, self.last_value if adjacent else None), value)

    def watch(self, value: float) -> Cusum:
        """Compares a value with what is known, which says nothing before 60 windows."""
        if self.known.n < LEARN_AT_LEAST:
            return self
        away = (value - self.known.mean) / (self.known.sd * math.sqrt(1 + 1 / self._effective))
        shift = self.shift
        return self._replace(up=max(0.0, self.up + away - shift), down=max(0.0, self.down - away - shift))

    @property
    def shift(self) -> float:
        """The part of a shift that is let pass, in sd: half a sd, and twice the error of the mean known."""
        return SMALLEST_SHIFT + 2 / math.sqrt(self._effective)

    @property
    def limit(self) -> float:
        """The sum at which a shift is told. A CUSUM that lets k pass runs exp(2 k limit / v) v / (2 k^2)
        windows between false alarms, with v = (1 + phi) / (1 - phi)."""
        inflation = self.known.n / self._effective
        runs = SIDES * RUN_WINDOWS * 2 * self.shift**2 / inflation
        return inflation / (2 * self.shift) * math.log(1 + runs)

    @property
    def moved(self) -> int:
        """1 for up, -1 for down, 0 for neither."""
        if self.known.n < LEARN_AT_LEAST:
            return 0
        limit = self.limit
        return 1 if self.up >= limit else -1 if self.down >= limit else 0

    def checked(self) -> Cusum:
        """When a comparison with the baseline begins. What has moved is learnt anew beside it."""
        return Cusum() if self.moved else self._replace(up=0.0, down=0.0)

    @property
    def _effective(self) -> float:
        return self.known.effective(PRIOR_PHI)
