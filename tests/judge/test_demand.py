"""The weight learned from demand, its stated error, and the noise that demand leaves over."""

import math
import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from statistics import fmean

import pytest

from specdeploy.judge import (
    BASELINE,
    Window,
)
from tests.judge.engines import Engine, Pod, day, play, steady
from tests.judge.histories import learned, on_a_line
from tests.judge.windows import noise


def engine_windows(
    sd: float, seed: int, demand: Callable[[Engine], Callable[[int], float]], count: int = 1440
) -> list[Window]:
    """An engine whose speed falls with the batch by a third (in logs) around batch 10, under noise that
    content adds for many windows on end."""
    rng = random.Random(seed)
    engine = Engine()
    engines = {BASELINE: [Pod(engine, rng, noise=noise(rng, sd, 0.9))]}
    return list(play(engines, demand(engine), count))


def around_ten(engine: Engine) -> Callable[[int], float]:
    return steady(engine.rate_for(10.0))


def over_the_day(engine: Engine) -> Callable[[int], float]:
    return day(engine.rate_for(6.0), engine.rate_for(14.0))


def slope_over_batch(windows: Iterable[Window]) -> float:
    pods = [each.arms[BASELINE][0] for each in windows]
    logs = [(math.log(each.batch or 1), math.log(each.speed or 1)) for each in pods]
    middle_x, middle_y = fmean(x for x, _ in logs), fmean(y for _, y in logs)
    squares = math.fsum((x - middle_x) ** 2 for x, _ in logs)
    return math.fsum((x - middle_x) * (y - middle_y) for x, y in logs) / squares


@pytest.mark.parametrize("sd", [0.05, 0.10])
@pytest.mark.parametrize("demand", [around_ten, over_the_day], ids=["steady", "day"])
def test_the_weight_is_the_engines_own_slope_whatever_the_noise_of_content(
    sd: float, demand: Callable[[Engine], Callable[[int], float]]
) -> None:
    truth = -Engine().elasticity(9.5)
    known = learned(engine_windows(sd, 2, demand))
    assert known.weighed
    assert abs(known.weight - truth) <= 2.5 * known.weight_se
    assert known.weight == pytest.approx(truth, abs=0.03)
    assert known.weight_se <= 0.45 * sd


@pytest.mark.parametrize(("sd", "least"), [(0.05, 0.08), (0.10, 0.25)])
def test_a_regression_on_batch_would_take_slow_spells_for_load(sd: float, least: float) -> None:
    windows = engine_windows(sd, 1, around_ten)
    truth = Engine().elasticity(10.0)
    assert slope_over_batch(windows) < truth - least
    assert -learned(windows).weight == pytest.approx(truth, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(("phi", "demand_phi"), [(0.0, 0.0), (0.8, 0.0), (0.8, 0.95), (0.3, 0.95)])
def test_the_stated_error_of_the_weight_covers_the_truth(phi: float, demand_phi: float) -> None:
    """At two standard errors, and without being more than twice as wide as the weights are spread."""
    runs, slope = 100, -0.5
    found = [
        learned(on_a_line(slope, 400, sd=0.08, phi=phi, demand_phi=demand_phi, seed=seed))
        for seed in range(runs)
    ]
    truth = -slope / (1 - slope)
    assert sum(abs(each.weight - truth) <= 2 * each.weight_se for each in found) >= 0.93 * runs
    spread = math.sqrt(fmean((each.weight - truth) ** 2 for each in found))
    assert fmean(each.weight_se for each in found) <= 2 * spread


def test_a_slow_wave_of_demand_under_lasting_noise_tells_less_than_independent_windows() -> None:
    lasting = learned(on_a_line(-0.5, 600, phi=0.8, demand_phi=0.95))
    mixed = learned(on_a_line(-0.5, 600, phi=0.8, demand_phi=0.0))
    assert lasting.weight_se > 2 * mixed.weight_se


def test_requests_as_long_as_a_window_carry_changes_of_speed_into_demand() -> None:
    """A slower engine gives fewer tokens until the batch has grown: the line is flattened, and says so."""
    short = learned(on_a_line(-0.5, 600, sd=0.1))
    long = learned(on_a_line(-0.5, 600, sd=0.1, first=10.0))
    assert long.residence == pytest.approx(6 * short.residence)
    assert long.weight == short.weight
    assert long.weight_se > 2 * short.weight_se


@pytest.mark.parametrize(
    ("slope", "weight"), [(-0.5, 1 / 3), (-1.0, 0.5), (-20.0, 0.9), (0.0, 0.0), (0.4, 0.0)]
)
def test_the_weight_comes_from_the_slope_and_is_bounded(slope: float, weight: float) -> None:
    known = learned(on_a_line(slope, 300, spread=0.08 if slope < -9 else 0.2, sd=1e-4))
    assert known.weighed
    assert known.weight == pytest.approx(weight, abs=0.002)


def test_flat_demand_gives_no_weight_and_the_noise_as_it_is() -> None:
    known = learned(on_a_line(-0.5, 300, spread=0.045, sd=0.03))
    assert (known.weighed, known.weight, known.weight_se) == (0, 0.0, 0.0)
    assert known.sd == pytest.approx(math.hypot(0.03, 0.0225), rel=0.1)


@pytest.mark.parametrize(("windows", "weighed", "noisy"), [(9, 0, 0), (10, 0, 1), (59, 0, 1), (60, 1, 1)])
def test_a_short_history_gives_no_weight(windows: int, weighed: int, noisy: int) -> None:
    known = learned(on_a_line(-0.5, windows))
    assert (known.windows, known.weighed, known.sd > 0) == (windows, weighed, noisy)


@pytest.mark.parametrize(("sd", "phi"), [(0.02, 0.0), (0.05, 0.3), (0.10, 0.8)])
def test_noise_is_what_demand_leaves_over(sd: float, phi: float) -> None:
    known = learned(on_a_line(-0.5, 2000, spread=0.3, sd=sd, phi=phi))
    assert known.sd == pytest.approx(sd, rel=0.12)
    assert known.phi == pytest.approx(phi, abs=0.07)


def test_a_gap_breaks_the_autocorrelation() -> None:
    windows = list(on_a_line(-0.5, 400, phi=0.8))
    assert learned(windows).phi > 0.7
    apart = [replace(each, index=2 * each.index) for each in windows]
    assert learned(apart).phi == 0
    assert learned(apart).weight == learned(windows).weight


def test_an_engine_that_changed_is_learned_anew() -> None:
    before = on_a_line(-0.2, 1440)
    after = (replace(each, index=each.index + 1440) for each in on_a_line(-1.0, 7200))
    assert learned([*before, *after]).weight == pytest.approx(0.5, abs=0.02)
