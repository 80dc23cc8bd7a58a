"""Evidence kept apart by the baseline's batch: a drafter may win at batch 2 and lose at batch 32.

Beside the running comparison. Bands never promote; one in which the drafter is proven slower forbids it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from specdeploy.judge.learned import BANDS
from specdeploy.judge.noise import SMALLEST_SD

WINDOWS_TO_VETO = 20
WINDOWS_TO_COVER = 10
SHARE_TO_COVER = 0.2


class Band(NamedTuple):
    """Sums of y over the windows in one range of batch."""

    n: int = 0
    total: float = 0.0
    squares: float = 0.0

    @property
    def mean(self) -> float:
        return self.total / self.n if self.n else 0.0

    @property
    def sd(self) -> float:
        """Sample standard deviation, at least 0.5 %."""
        if self.n < 2:
            return SMALLEST_SD
        variance = (self.squares - self.total * self.total / self.n) / (self.n - 1)
        return math.sqrt(max(variance, SMALLEST_SD * SMALLEST_SD))


Bands = tuple[Band, Band, Band, Band]
NO_BANDS: Bands = (Band(), Band(), Band(), Band())


def add_to_band(bands: Bands, batch: float, value: float) -> Bands:
    """`batch` is the baseline's mean batch per engine in that window."""
    one, two, three, four = bands
    if batch < BANDS[1]:
        return (_added(one, value), two, three, four)
    if batch < BANDS[2]:
        return (one, _added(two, value), three, four)
    if batch < BANDS[3]:
        return (one, two, _added(three, value), four)
    return (one, two, three, _added(four, value))


def uncovered(bands: Bands, shares: tuple[float, ...]) -> tuple[str, ...]:
    """The ranges of batch in which a fifth or more of the day's request-seconds run (`shares`) and that have
    fewer than 10 windows of evidence."""
    return tuple(
        name_of(position)
        for position, (band, share) in enumerate(zip(bands, shares, strict=True))
        if share >= SHARE_TO_COVER and band.n < WINDOWS_TO_COVER
    )


def name_of(position: int) -> str:
    """`4 to 16`, `64 and more`."""
    low = BANDS[position]
    return f"{low:g} to {BANDS[position + 1]:g}" if position + 1 < len(BANDS) else f"{low:g} and more"


def _added(band: Band, value: float) -> Band:
    return Band(band.n + 1, band.total + value, band.squares + value * value)
