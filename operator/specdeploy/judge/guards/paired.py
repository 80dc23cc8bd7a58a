"""Two arms compared window by window: is the mean difference proven to lie beyond a limit?

The interval may be looked at after every window (judge.student); it counts the independent windows that
autocorrelated ones are worth. A young engine's difference fades: the last windows must show it, too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from specdeploy.judge.noise import Sums, bounded
from specdeploy.judge.student import sequential_radius

ALPHA = 0.05
PRIOR_PHI = 0.3
FIRST_DECISION = 15
"""No later than the first promotion, so that a guard can come before it."""
RECENT = 1 / 5
EPOCH = 60
"""Windows after which all is forgotten, or a good past would hide trouble that begins late."""


class Means(NamedTuple):
    """What the means of both arms are made of: an amount (seconds, tokens) of so many (requests, queries)."""

    trial: float
    trial_of: float
    baseline: float
    baseline_of: float


class Interval(NamedTuple):
    """A mean difference and its interval, in the unit of the values."""

    mean: float
    lower: float
    upper: float


class Paired(NamedTuple):
    """`recent`: an average that forgets, over about 5 windows. `linked`: 1 if the newest window was compared,
    so that the next one is its neighbour. The rest are the totals of both arms, as in `Means`."""

    sums: Sums = Sums()
    recent: float = 0.0
    last: float = 0.0
    linked: int = 0
    trial: float = 0.0
    trial_of: float = 0.0
    baseline: float = 0.0
    baseline_of: float = 0.0

    def add(self, difference: float, means: Means) -> Paired:
        """One window; `difference` is the trial's value minus the baseline's."""
        if self.sums.n >= EPOCH:
            return Paired().add(difference, means)
        sums, recent, last, linked, trial, trial_of, baseline, baseline_of = self
        return Paired(
            sums.add(difference, last if linked else None),
            recent + RECENT * (difference - recent) if sums.n else difference,
            difference,
            1,
            trial + means.trial,
            trial_of + means.trial_of,
            baseline + means.baseline,
            baseline_of + means.baseline_of,
        )

    def skip(self) -> Paired:
        """A window that could not be compared."""
        return self._replace(linked=0) if self.linked else self

    @property
    def sound(self) -> bool:
        """Can these numbers have come from windows?"""
        n, pairs = self.sums.n, self.sums.pairs
        amounts = min(self.trial, self.trial_of, self.baseline, self.baseline_of)
        return (
            0 <= pairs <= max(0, n - 1) and amounts >= 0 and (n == 0 or self.trial_of * self.baseline_of > 0)
        )

    @property
    def means(self) -> tuple[float, float]:
        """The means over all windows, of the trial and of the baseline; only after a first window."""
        return self.trial / self.trial_of, self.baseline / self.baseline_of

    @property
    def interval(self) -> Interval:
        """The mean difference; an infinite interval while too little is known."""
        effective = self.sums.effective(PRIOR_PHI)
        radius = sequential_radius(effective, ALPHA) * self.sums.sd / math.sqrt(max(1.0, effective))
        return Interval(self.sums.mean, self.sums.mean - radius, self.sums.mean + radius)

    def above(self, limit: float) -> bool:
        """Is the mean difference proven to be above `limit`, and is it so still?"""
        return self.sums.n >= FIRST_DECISION and self.recent > limit and self.interval.lower > limit

    def below(self, limit: float) -> bool:
        """Is the mean difference proven to be below `limit`, and is it so still?"""
        return self.sums.n >= FIRST_DECISION and self.recent < limit and self.interval.upper < limit


def log_ratio(means: Means) -> float | None:
    """ln of the trial's mean over the baseline's, within ln 8 either way; None where there is no mean."""
    trial, trial_of, baseline, baseline_of = means
    if trial <= 0 or baseline <= 0:
        return None
    ratio = math.log(trial) - math.log(trial_of) - math.log(baseline) + math.log(baseline_of)
    return bounded(ratio)
