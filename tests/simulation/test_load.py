"""Demand, workloads and luck by time."""

from itertools import pairwise

import pytest

from specdeploy.simulation.load import Demand, factor, level, shares
from specdeploy.simulation.scenario import Noise, Traffic

HOUR = 3600.0
DAY = ((6 * HOUR, 10.0), (12 * HOUR, 40.0), (18 * HOUR, 20.0))


@pytest.mark.parametrize(
    ("hour", "value"), [(6, 10), (9, 25), (12, 40), (15, 30), (18, 20), (0, 15), (24, 15), (33, 25)]
)
def test_a_level_goes_straight_between_its_points_round_the_clock(hour: float, value: float) -> None:
    assert level(DAY, hour * HOUR) == pytest.approx(value)


@pytest.mark.parametrize(("elapsed", "value"), [(0, 1), (100, 1), (150, 2), (200, 3), (1e6, 3)])
def test_a_ramp_holds_its_ends(elapsed: float, value: float) -> None:
    assert factor(((100.0, 1.0), (200.0, 3.0)), elapsed) == pytest.approx(value)


def test_no_ramp_changes_nothing() -> None:
    assert factor((), 1e6) == 1


def test_shares_of_workloads_follow_the_time_of_day() -> None:
    assert shares({"chat": ((0.0, 0.7),), "code": DAY}, 12 * HOUR) == {"chat": 0.7, "code": 40.0}


def _demand(seed: int) -> Demand:
    traffic = Traffic.model_validate({"requestsPerSecond": 10, "outputTokens": {"mean": 100}})
    return Demand(traffic, Noise(window_sd=0.02, pod_sd=0.01, phi=0.5), 3, seed)


def test_luck_is_of_the_seed_and_of_the_place_and_of_nothing_else() -> None:
    one, again, other = _demand(1), _demand(1), _demand(2)
    drawn = [[place.log_speed for place in demand.places] for demand in (one, again, other)]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]
    assert len(set(drawn[0])) == 3


def test_the_noise_of_a_place_has_the_spread_and_the_memory_that_were_asked_for() -> None:
    demand, series = _demand(1), []
    for _ in range(20_000):
        demand.turn()
        series.append(demand.places[0].drift)
    variance = sum(x * x for x in series) / len(series)
    lag = sum(a * b for a, b in pairwise(series)) / len(series)
    assert variance**0.5 == pytest.approx(0.02, rel=0.05)
    assert lag / variance == pytest.approx(0.5, abs=0.03)
