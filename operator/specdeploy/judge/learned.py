"""What a trial takes over from the baseline's own history when it starts, and keeps unchanged to its end.

history -> learned -> trial. Frozen, so that nothing that happens under the trial can bend how it is judged.
"""

from __future__ import annotations

from typing import NamedTuple

BANDS = (0.0, 4.0, 16.0, 64.0)
"""Lower ends of the ranges of mean batch per engine in which evidence is kept apart; the last has no end."""


class Learned(NamedTuple):
    """Figures of the baseline's history; the defaults say "nothing is known".

    `windows`: baseline windows behind all of it. `weighed`: 1 where `weight` (w, in [0, 0.9]: the share of
    the effect at equal batch that is read from tokens per pod-second instead of from speed) and its standard
    error are known. `sd` and `phi`: noise of the baseline's ln R in one window, demand taken out, and its
    lag-one autocorrelation; under demand that clients set it is 1 / (1 - w) times the noise at equal batch.
    `residence`: mean seconds a request decodes, 0 if unknown. `finished`: requests finished in a window and
    pod. `pod_sd` (log units) with `pod_freedom` degrees of freedom: what two pods of the same kind differ by
    at equal load. `batch_low`, `batch_high`: range of the mean batch over the last one to two days of 60 s
    windows. `shares`: share of the last day's request-seconds in each of BANDS (older ones fade by 1/e a
    day); their sum is 1, or 0 if nothing is known.
    """

    windows: int = 0
    weighed: int = 0
    weight: float = 0.0
    weight_se: float = 0.0
    sd: float = 0.0
    phi: float = 0.0
    residence: float = 0.0
    finished: float = 0.0
    pod_sd: float = 0.01
    pod_freedom: int = 8
    batch_low: float = 0.0
    batch_high: float = 0.0
    shares: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)


def band_of(batch: float) -> int:
    """Position in BANDS of a mean batch."""
    return sum(batch >= low for low in BANDS[1:])
