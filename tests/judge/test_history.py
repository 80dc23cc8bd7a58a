import base64
import math
import random
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import settings as checked
from hypothesis import strategies as st

from specdeploy.judge import (
    BASELINE,
    SERVING,
    TRIAL,
    MalformedState,
    Obstacle,
    PodWindow,
    Reason,
    Settings,
    UnknownVersion,
    Window,
)
from specdeploy.judge.history import History, learn, pack_history, remember, unpack_history
from specdeploy.judge.learned import Learned
from tests.judge.engines import Engine, Pod, day, play, steady
from tests.judge.windows import SECONDS, SPEED, noise, pod

SETTINGS = Settings()


def taught(windows: Iterable[Window], settings: Settings = SETTINGS) -> History:
    history = History()
    for each in windows:
        history = remember(history, each, settings)
    return history


def learned(windows: Iterable[Window], settings: Settings = SETTINGS) -> Learned:
    return learn(taught(windows, settings), settings)


def alone(index: int, *pods: PodWindow, seconds: float = SECONDS) -> Window:
    return Window(index, seconds, {BASELINE: pods or (pod(),)})


def on_a_line(
    slope: float,
    count: int,
    *,
    spread: float = 0.2,
    sd: float = 0.02,
    phi: float = 0.0,
    demand_phi: float = 0.0,
    seed: int = 1,
) -> Iterator[Window]:
    """ln R = ln 50 + slope d + noise, d around the usual tokens."""
    rng = random.Random(seed)
    demand, rest = noise(rng, spread, demand_phi), noise(rng, sd, phi)
    for index in range(count):
        d = next(demand)
        yield alone(index, pod(SPEED * math.exp(slope * d + next(rest)), tokens=24000 * math.exp(d)))


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


@pytest.mark.parametrize(
    ("slope", "weight"), [(-0.5, 1 / 3), (-1.0, 0.5), (-99.0, 0.9), (0.0, 0.0), (0.4, 0.0)]
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


def test_a_half_life_ago_counts_half() -> None:
    def held(first: int, seconds: float) -> Iterator[Window]:
        for index in range(first, first + 1440):
            yield alone(index, pod(24000 / (60 * seconds), first=60.0))

    history = taught(held(0, 4.0))
    assert learn(history, SETTINGS).residence == pytest.approx(4.0)
    for each in held(1440, 8.0):
        history = remember(history, each, SETTINGS)
    assert learn(history, SETTINGS).residence == pytest.approx((8.0 + 4.0 / 2) / 1.5)


def test_an_engine_that_changed_is_learned_anew() -> None:
    before = on_a_line(-0.2, 1440)
    after = (replace(each, index=each.index + 1440) for each in on_a_line(-1.0, 7200))
    assert learned([*before, *after]).weight == pytest.approx(0.5, abs=0.02)


def test_the_range_of_batch_is_that_of_the_last_windows() -> None:
    def at(index: int, batch: float) -> Window:
        return alone(index, pod(24000 / (60 * batch)))

    history = taught([at(0, 2.0), at(1, 30.0), *(at(index, 8.0) for index in range(2, 1441))])
    known = learn(history, SETTINGS)
    assert (known.batch_low, known.batch_high) == pytest.approx((2.0, 30.0))
    for index in range(1441, 2881):
        history = remember(history, at(index, 8.0), SETTINGS)
    known = learn(history, SETTINGS)
    assert (known.batch_low, known.batch_high) == pytest.approx((8.0, 8.0))


def test_bands_share_the_request_seconds_of_the_last_day() -> None:
    def at(index: int, batch: float) -> Window:
        return alone(index, pod(24000 / (60 * batch)))

    quiet = [at(index, 2.0) for index in range(100)]
    both = taught([*quiet, *(at(index, 20.0) for index in range(100, 110))])
    assert learn(both, SETTINGS).shares == pytest.approx((0.5, 0.0, 0.5, 0.0), abs=0.02)
    two_days_later = remember(both, at(110 + 2 * 1440, 2.0), SETTINGS)
    expected = (200 * math.exp(-2) + 2) / (400 * math.exp(-2) + 2)
    assert learn(two_days_later, SETTINGS).shares[0] == pytest.approx(expected, abs=0.01)


def test_a_history_without_windows_knows_nothing() -> None:
    assert learn(History(), SETTINGS) == Learned()


def test_requests_are_counted_by_window_and_pod() -> None:
    two = [
        alone(i, pod(name="a", finished_requests=40.0), pod(name="b", finished_requests=20.0))
        for i in range(9)
    ]
    assert learned(two).finished == pytest.approx(30.0)
    assert learned([alone(0, pod(first=50.0))]).finished == pytest.approx(50.0)


@pytest.mark.parametrize(
    "each",
    [
        alone(4),
        alone(5),
        alone(2**53),
        alone(10**400),
        alone(6, seconds=math.nan),
        alone(6, seconds=0.0),
        Window(6, SECONDS, {}),
        Window(6, SECONDS, {BASELINE: ()}),
        Window(6, SECONDS, {TRIAL: (pod(),), SERVING: (pod(),)}),
        replace(alone(6), obstacle=Obstacle(Reason.OPERATOR_RESTART, "restarted")),
        alone(6, pod(tokens=999)),
        alone(6, pod(first=9)),
        alone(6, pod(tokens=6000), pod(tokens=90000, name="q")),
        alone(6, pod(ready_seconds=200.0)),
        alone(6, pod(ready_seconds=400.0, finished_since_ready=49)),
        alone(6, pod(restarts=1)),
        alone(6, PodWindow("p", 60.0, math.nan, 60, 10.0)),
        alone(6, PodWindow("p", 60.0, 24000, 60, math.inf)),
        alone(6, PodWindow("p", 60.0, -24000, 60, 10.0)),
        alone(6, PodWindow("p", 60.0, 10**400, 60, 10.0)),
        alone(6, PodWindow("p", 0.0, 24000, 60, 10.0)),
    ],
)
def test_what_is_no_evidence_of_the_baseline_changes_nothing(each: Window) -> None:
    history = taught(alone(index) for index in range(6))
    assert remember(history, each, SETTINGS) == history


def test_a_young_pod_is_left_out_beside_a_warm_one() -> None:
    both = alone(0, pod(ready_seconds=4000.0), pod(5.0, tokens=2400, name="young", ready_seconds=100.0))
    assert learned([both]) == learned([alone(0, pod(ready_seconds=4000.0))])


def test_windows_of_another_length_begin_a_history_anew() -> None:
    history = taught(alone(index) for index in range(100, 200))
    longer = Settings(window_seconds=120.0)
    history = remember(history, alone(50, pod(seconds=120.0), seconds=120.0), longer)
    assert (history.windows, history.last_index) == (1, 50)


def arm_of(offsets: dict[str, float], index: int, rng: random.Random, sd: float = 0.05) -> Window:
    pods = (pod(SPEED * math.exp(rng.gauss(offset, sd)), name=name) for name, offset in offsets.items())
    return alone(index, *pods)


def test_pods_that_differ_are_told_from_noise() -> None:
    rng = random.Random(2)
    differing = {"a": -0.05, "b": -0.01, "c": 0.02, "d": 0.04}
    known = learned(arm_of(differing, index, rng) for index in range(500))
    squares = math.fsum(offset**2 for offset in differing.values())
    assert known.pod_freedom == 11
    assert known.pod_sd == pytest.approx(math.sqrt((8 * 0.01**2 + squares) / 11), rel=0.1)
    alike = learned(arm_of(dict.fromkeys("abcd", 0.0), index, rng) for index in range(500))
    assert alike.pod_freedom == 11
    assert alike.pod_sd == pytest.approx(math.sqrt(8 * 0.01**2 / 11), rel=0.15)


def test_noise_that_lasts_in_a_pod_is_no_offset() -> None:
    """Four pods, alike but for spells of 20 windows: their means over 150 windows still differ by chance."""
    found = []
    for seed in range(25):
        rng = random.Random(seed)
        streams = [noise(rng, 0.05, 0.9) for _ in range(4)]
        windows = (
            alone(i, *(pod(SPEED * math.exp(next(each)), name=f"p{k}") for k, each in enumerate(streams)))
            for i in range(150)
        )
        found.append(learned(windows).pod_sd ** 2)
    assert math.sqrt(fmean(found)) == pytest.approx(0.01, abs=0.004)


def test_a_pod_that_gets_more_requests_is_not_a_slower_pod() -> None:
    rng = random.Random(3)

    def arm(index: int) -> Window:
        day_log = rng.gauss(0, 0.2)
        pods = []
        for name, share in (("a", 0.1), ("b", -0.1)):
            d = day_log + share
            pods.append(pod(SPEED * math.exp(-0.5 * d), name=name, tokens=24000 * math.exp(d)))
        return alone(index, *pods)

    history = taught(arm(index) for index in range(3000))
    assert learn(history, SETTINGS).pod_sd < 0.011


@pytest.mark.parametrize(
    ("pods", "windows", "sd", "freedom"),
    [(1, 100, 0.02, 8), (2, 29, 0.02, 8), (2, 30, math.sqrt(8 / 9) * 0.02, 9), (100, 30, None, 16)],
)
def test_pods_followed_for_thirty_windows_teach(
    pods: int, windows: int, sd: float | None, freedom: int
) -> None:
    each = tuple(pod(name=f"p{number}") for number in range(pods))
    known = learned((alone(i, *each) for i in range(windows)), Settings(pod_sd=0.02))
    assert known.pod_freedom == freedom
    assert sd is None or known.pod_sd == pytest.approx(sd)


def test_the_pod_sd_is_at_least_half_a_percent() -> None:
    alike = (alone(i, pod(name="a"), pod(name="b")) for i in range(100))
    assert learned(alike, Settings(pod_sd=0.001)).pod_sd == 0.005


def test_a_new_pod_takes_the_place_of_one_that_has_gone() -> None:
    def arm(index: int, first: int) -> Window:
        return alone(index, *(pod(name=f"p{number}") for number in range(first, first + 8)))

    history = taught([arm(index, 0) for index in range(100)])
    followed = {each.key for each in history.offsets.pods}
    for index in range(100, 159):
        history = remember(history, arm(index, 4), SETTINGS)
    assert {each.key for each in history.offsets.pods} == followed
    for index in range(159, 161):
        history = remember(history, arm(index, 4), SETTINGS)
    kept = {each.key for each in history.offsets.pods}
    assert len(kept) == 8
    assert len(kept & followed) == 4


def test_ten_thousand_pods_take_no_more_room_than_one() -> None:
    crowd = tuple(pod(name=f"pod-{number}") for number in range(10_000))
    history = taught(alone(index, *crowd) for index in range(2))
    assert len(pack_history(history)) == len(pack_history(History())) < 1024
    assert learn(history, SETTINGS).finished == pytest.approx(60.0)


ordinary = st.floats(0.0, 1e6)
hostile = st.one_of(
    ordinary,
    st.sampled_from([float("nan"), float("inf"), -float("inf"), -1.0, 0.0, 5e-324, 1e15, 1e308, 10**400]),
)


def pods_of(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[PodWindow, ...]]:
    maybe = st.none() | numbers
    one = st.builds(
        PodWindow,
        pod=st.sampled_from(["a", "b", "\ud800", "c" * 300]),
        seconds=numbers | st.just(60.0),
        generation_tokens=numbers | st.just(24000.0),
        first_tokens=numbers | st.just(60.0),
        itl_seconds=numbers | st.just(480.0),
        finished_requests=maybe,
        finished_since_ready=maybe,
        ready_seconds=maybe,
        restarts=st.none() | st.just(0.0) | numbers,
    )
    return st.lists(one, max_size=4).map(tuple)


def stories(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[list[Window]]:
    index = st.integers(-2, 20) | st.sampled_from([2**53 - 1, 2**53, 10**400])
    arms = st.fixed_dictionaries({BASELINE: pods_of(numbers)})
    return st.lists(st.builds(Window, index=index, seconds=numbers | st.just(60.0), arms=arms), max_size=15)


def sane(known: Learned) -> bool:
    return (
        all(math.isfinite(number) for number in (*known[:12], *known.shares))
        and 0 <= known.weight <= 0.9
        and min(known.weight_se, known.sd, known.residence, known.finished, *known.shares) >= 0
        and 0 <= known.phi <= 0.95
        and known.pod_sd >= 0.005
        and 8 <= known.pod_freedom <= 16
        and sum(known.shares) == pytest.approx(1.0 if any(known.shares) else 0.0)
    )


@checked(max_examples=80, deadline=None)
@given(windows=stories(hostile))
def test_hostile_numbers_never_raise_and_always_survive_a_restart(windows: list[Window]) -> None:
    straight = restarted = History()
    for each in windows:
        straight = remember(straight, each, SETTINGS)
        restarted = unpack_history(pack_history(remember(restarted, each, SETTINGS)))
    assert pack_history(straight) == pack_history(restarted)
    assert straight == restarted
    assert sane(learn(straight, SETTINGS))


@checked(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), gaps=st.sets(st.integers(0, 79)), pods=st.integers(1, 10))
def test_a_restart_after_each_window_changes_no_bit(seed: int, gaps: set[int], pods: int) -> None:
    rng = random.Random(seed)
    straight = restarted = History()
    for index in set(range(80)) - gaps:
        each = arm_of({f"p{number}": 0.0 for number in range(pods)}, index, rng)
        straight = remember(straight, each, SETTINGS)
        restarted = unpack_history(pack_history(remember(restarted, each, SETTINGS)))
    assert pack_history(straight) == pack_history(restarted)
    assert learn(straight, SETTINGS) == learn(restarted, SETTINGS)


GOOD = pack_history(taught(arm_of({"a": 0.0, "b": 0.01}, index, random.Random(index)) for index in range(70)))


def repacked(changes: dict[int, float]) -> str:
    raw = base64.b64decode(GOOD)
    numbers = list(struct.unpack(f"<{len(raw) // 8}d", raw))
    for position, number in changes.items():
        numbers[position % len(numbers)] = number
    return base64.b64encode(struct.pack(f"<{len(numbers)}d", *numbers)).decode()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", MalformedState),
        ("no history", MalformedState),
        (GOOD[:-8], MalformedState),
        (GOOD + GOOD, MalformedState),
        (repacked({3: -1.0}), MalformedState),
        (repacked({2: 0.5}), MalformedState),
        (repacked({5: math.nan}), MalformedState),
        (repacked({0: 7.0}), UnknownVersion),
    ],
)
def test_a_text_that_is_no_history_is_refused(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        unpack_history(text)


@checked(max_examples=150, deadline=None)
@given(changes=st.dictionaries(st.integers(1, 78), hostile.filter(lambda x: abs(x) < 1e300 or x != x)))
def test_a_damaged_history_is_refused_or_can_be_gone_on_with(changes: dict[int, float]) -> None:
    try:
        history = unpack_history(repacked(changes))
    except MalformedState:
        return
    for _ in range(3):
        each = arm_of({"a": 0.0, "c": 0.1}, history.last_index + 1, random.Random(1))
        history = remember(history, each, SETTINGS)
        known = learn(history, SETTINGS)
        assert all(math.isfinite(number) for number in known[:12])
        assert 0 <= known.weight <= 0.9
