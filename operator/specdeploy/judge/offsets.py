"""What two pods of the same kind differ by, from a baseline arm of several pods.

history -> offsets -> learned. A pod's offset is constant: more windows do not average it away, so a trial on
one pod an arm must know its size. At most 8 pods are followed, told apart by a hash of their name; one that
has gone leaves its place to a new one.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from specdeploy.judge.demand import DECAY, HALF_LIFE
from specdeploy.judge.noise import LARGEST_PHI

PLACES = 8
PRIOR_FREEDOM = 8
SMALLEST_SD = 0.005
GONE_WINDOWS = 60
FEWEST_WINDOWS = 30
LARGEST_DEVIATION = 1.0
MEMORY = round(HALF_LIFE / math.log(2))


class PodMean(NamedTuple):
    """One pod: the mean of its deviations from its arm's mean log speed at equal load.

    `key` is 0 for a free place; `seen` is its newest window; `windows` stops at 2077, from where on the mean
    fades like all history.
    """

    key: int = 0
    seen: int = -1
    windows: int = 0
    mean: float = 0.0
    last: float = 0.0


class Offsets(NamedTuple):
    """The pods, and sums pooled over them of what varies from window to window within a pod: `squares` with
    `freedom`, `cross` over `pairs` of adjacent windows. `inverse` over `windows` is the mean of 1/pods of
    the arm."""

    windows: float = 0.0
    inverse: float = 0.0
    freedom: float = 0.0
    squares: float = 0.0
    pairs: float = 0.0
    cross: float = 0.0
    pods: tuple[PodMean, ...] = (PodMean(),) * PLACES

    def add(self, index: int, deviations: Sequence[tuple[str, float]]) -> Offsets:
        """The deviations of all pods of an arm by name, in log units, in the window `index`."""
        places = {pod.key: pod for pod in self.pods if pod.key}
        freedom, squares, pairs, cross = 0, 0.0, 0, 0.0
        for name, deviation in deviations:
            key = zlib.crc32(name.encode("utf-8", "replace")) + 1
            old = places.get(key) or _new_place(places, index)
            if old is None or old.seen == index:
                continue
            value = deviation
            if not -LARGEST_DEVIATION <= value <= LARGEST_DEVIATION:
                value = math.copysign(LARGEST_DEVIATION, value)
            windows = min(old.windows + 1, MEMORY)
            mean = old.mean + (value - old.mean) / windows
            places[key] = PodMean(key, index, windows, mean, value)
            if old.windows:
                freedom += 1
                squares += (value - old.mean) * (value - mean)
                if old.seen == index - 1:
                    pairs += 1
                    cross += (value - mean) * (old.last - mean)
        return Offsets(
            DECAY * self.windows + 1,
            DECAY * self.inverse + 1 / len(deviations),
            DECAY * self.freedom + freedom,
            DECAY * self.squares + squares,
            DECAY * self.pairs + pairs,
            DECAY * self.cross + cross,
            (*places.values(), *(PodMean(),) * (PLACES - len(places))),
        )


def known_pods(offsets: Offsets, prior_sd: float) -> tuple[float, int]:
    """The sd of pod offsets (log units) and its degrees of freedom: `prior_sd` behind 8 of them, and what
    the pods followed for 30 windows add. At least 0.5 % once there are such pods."""
    known = [pod for pod in offsets.pods if pod.key and pod.windows >= FEWEST_WINDOWS]
    if not known or offsets.windows <= 0:
        return prior_sd, PRIOR_FREEDOM
    within = _variance_of_a_mean(offsets)
    squares = sum(pod.mean * pod.mean - within / pod.windows for pod in known)
    # A deviation from the mean of m pods shows 1 - 1/m of an offset's variance.
    freedom = len(known) * (1 - min(1.0, offsets.inverse / offsets.windows))
    variance = (PRIOR_FREEDOM * prior_sd * prior_sd + squares) / (PRIOR_FREEDOM + freedom)
    return math.sqrt(max(variance, SMALLEST_SD * SMALLEST_SD)), PRIOR_FREEDOM + round(freedom)


def _variance_of_a_mean(offsets: Offsets) -> float:
    """The variance within a pod that one window adds to a mean, windows in a row being alike."""
    if offsets.freedom <= 0:
        return 0.0
    variance = offsets.squares / offsets.freedom
    if variance <= 0 or offsets.pairs <= 0:
        return max(0.0, variance)
    phi = max(0.0, min(LARGEST_PHI, offsets.cross / offsets.pairs / variance))
    return variance * (1 + phi) / (1 - phi)


def _new_place(places: dict[int, PodMean], index: int) -> PodMean | None:
    """A place for a new pod, None without one. The pod unseen for longest goes, after an hour's windows."""
    if len(places) < PLACES:
        return PodMean()
    oldest = min(places.values(), key=lambda pod: pod.seen)
    if index - oldest.seen < GONE_WINDOWS:
        return None
    del places[oldest.key]
    return PodMean()
