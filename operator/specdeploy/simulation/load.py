"""What comes, and from whom: demand, workloads, and the luck of each GPU, by time. Deterministic for a seed.

Luck belongs to places (GPUs), not to pods, and is drawn once a window for each, whatever runs there: two
policies of one seed meet the same requests and the same noise.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from random import Random

from specdeploy.simulation.scenario import ByElapsed, ByTime, Noise, Points, Traffic

_DAY = 86400.0


def level(points: ByTime, moment: float) -> float:
    """The value at a time of day, straight between the points, round the clock."""
    if len(points) == 1:
        return points[0][1]
    at = moment % _DAY
    after = bisect_right(points, at, key=lambda point: point[0])
    low, high = points[after - 1], points[after % len(points)]
    return _between(at, low, high, _DAY)


def factor(points: ByElapsed, elapsed: float) -> float:
    """The value after some time, straight between the points, held before the first and after the last."""
    if not points:
        return 1.0
    after = bisect_right(points, elapsed, key=lambda point: point[0])
    if after in (0, len(points)):
        return points[max(0, after - 1)][1]
    return _between(elapsed, points[after - 1], points[after], math.inf)


def _between(at: float, low: tuple[float, float], high: tuple[float, float], period: float) -> float:
    span = high[0] - low[0]
    if span <= 0:
        span += period
    gone = at - low[0]
    if gone < 0:
        gone += period
    return low[1] + (high[1] - low[1]) * (gone / span if span else 0.0)


def shares(workloads: dict[str, Points], moment: float) -> dict[str, float]:
    """How much of the demand is of which kind at a time of day."""
    return {kind: level(points, moment) for kind, points in workloads.items()}


@dataclass
class Place:
    """One GPU's luck in this window, as standard normals: `arrivals`, `lengths` of outputs, `sticky`
    acceptance. `log_speed`: its offset and its noise together."""

    random: Random
    noise: Noise
    offset: float = field(init=False)
    drift: float = field(init=False, default=0.0)
    arrivals: float = field(init=False, default=0.0)
    lengths: float = field(init=False, default=0.0)
    sticky: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self.offset = self.random.gauss(0.0, self.noise.pod_sd)
        self.drift = self.random.gauss(0.0, self.noise.window_sd)

    @property
    def log_speed(self) -> float:
        return self.offset + self.drift

    def turn(self) -> None:
        """To the next window."""
        gauss, phi = self.random.gauss, self.noise.phi
        self.drift = phi * self.drift + gauss(0.0, self.noise.window_sd * math.sqrt(1 - phi * phi))
        self.arrivals, self.lengths, self.sticky = gauss(), gauss(), gauss()


class Demand:
    """The requests of one run, and the luck of all its places. `turn` once a window, in order."""

    def __init__(self, traffic: Traffic, noise: Noise, places: int, seed: int) -> None:
        self._traffic = traffic
        self._random = Random(f"{seed} demand")  # noqa: S311
        self._weather = 1.0
        luck = [Random(f"{seed} place {i}") for i in range(places)]  # noqa: S311
        self.places = tuple(Place(random, noise) for random in luck)
        self.turn()

    def turn(self) -> None:
        """To the next window: other noise on demand and on every place."""
        self._weather = math.exp(self._random.gauss(0.0, self._traffic.noise))
        for place in self.places:
            place.turn()

    def rate(self, moment: float, elapsed: float) -> float:
        """Requests per second in this window, over all pods."""
        usual = level(self._traffic.requests_per_second, moment)
        return usual * factor(self._traffic.ramp, elapsed) * self._weather
