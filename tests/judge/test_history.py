"""The history as a whole: what counts, what fades, what it takes to keep, and what it is safe from."""

import base64
import math
import random
import struct
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import settings as checked
from hypothesis import strategies as st

from specdeploy.judge import (
    BASELINE,
    SERVING,
    TRIAL,
    MalformedState,
    Obstacle,
    Outcome,
    PodWindow,
    Reason,
    Settings,
    UnknownVersion,
    Window,
    start,
)
from specdeploy.judge.history import History, learn, pack_history, remember, unpack_history
from specdeploy.judge.learned import Learned
from tests.judge.histories import SETTINGS, alone, arm_of, learned, on_a_line, taught
from tests.judge.windows import SECONDS, SPEED, judge, noisy_windows, pod


def test_a_half_life_ago_counts_half() -> None:
    def held(first: int, seconds: float) -> Iterator[Window]:
        for index in range(first, first + 1440):
            yield alone(index, pod(24000 / (60 * seconds), first=60.0))

    history = taught(held(0, 4.0))
    assert learn(history, SETTINGS).residence == pytest.approx(4.0)
    for each in held(1440, 8.0):
        history = remember(history, each, SETTINGS)
    assert learn(history, SETTINGS).residence == pytest.approx((8.0 + 4.0 / 2) / 1.5, rel=0.01)


def at(index: int, batch: float) -> Window:
    """A window at this batch, at the usual speed."""
    return alone(index, pod(tokens=SPEED * SECONDS * batch))


def test_the_range_of_batch_is_that_of_the_last_windows() -> None:
    history = taught([at(0, 3.0), at(1, 20.0), *(at(index, 8.0) for index in range(2, 1441))])
    known = learn(history, SETTINGS)
    assert (known.batch_low, known.batch_high) == pytest.approx((3.0, 20.0))
    for index in range(1441, 2881):
        history = remember(history, at(index, 8.0), SETTINGS)
    known = learn(history, SETTINGS)
    assert (known.batch_low, known.batch_high) == pytest.approx((8.0, 8.0))


def test_bands_share_the_request_seconds_of_the_last_day() -> None:
    quiet = [at(index, 3.0) for index in range(100)]
    both = taught([*quiet, *(at(index, 20.0) for index in range(100, 115))])
    assert learn(both, SETTINGS).shares == pytest.approx((0.5, 0.0, 0.5, 0.0), abs=0.02)
    two_days_later = remember(both, at(115 + 2 * 1440, 3.0), SETTINGS)
    expected = (300 * math.exp(-2) + 3) / (600 * math.exp(-2) + 3)
    assert learn(two_days_later, SETTINGS).shares[0] == pytest.approx(expected, abs=0.01)


SENSELESS = [
    pod(tokens=1e12),
    pod(1e12),
    pod(1e-9),
    pod(SPEED, tokens=1e12, first=1e9),
    pod(SPEED * 100),
    pod(SPEED / 20, tokens=2400.0),
    pod(SPEED * 3, tokens=24e6),
]


@pytest.mark.parametrize("wrong", SENSELESS)
@pytest.mark.parametrize("place", [0, 12, 150, 199])
def test_one_senseless_window_teaches_nothing_of_note(wrong: PodWindow, place: int) -> None:
    windows = list(on_a_line(-0.5, 200, sd=0.03, phi=0.3))
    clean = learned(windows)
    windows[place] = alone(place, wrong)
    known = learned(windows)
    assert start(SETTINGS, known).frozen.disaster_sd == 0.20
    assert known.sd <= 1.5 * clean.sd
    assert known.phi <= clean.phi + 0.1
    assert known.weight == pytest.approx(clean.weight, abs=2 * clean.weight_se)
    assert known.shares == pytest.approx(clean.shares, abs=0.01)
    assert known.batch_high <= 1.1 * clean.batch_high
    assert known.residence == pytest.approx(clean.residence, rel=0.02)


def test_a_disaster_is_found_as_soon_after_a_history_with_a_senseless_window() -> None:
    windows = list(on_a_line(-0.5, 60, sd=0.03))
    windows[40] = alone(40, pod(1e12))
    for seed in range(10):
        stream = noisy_windows(random.Random(seed), 0.44, 30)
        _, verdict, looked = judge(stream, SETTINGS, learned(windows))
        assert verdict is not None
        assert verdict.outcome is Outcome.DISASTER
        assert looked <= 5


def test_a_change_that_lasts_is_believed_after_five_windows() -> None:
    before = [at(index, 3.0) for index in range(100)]
    for count, high in [(5, 3.0), (6, 60.0)]:
        after = [at(index, 60.0) for index in range(100, 100 + count)]
        assert learned([*before, *after]).batch_high == pytest.approx(high)


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


def test_after_a_step_back_of_the_clock_windows_teach_again_but_not_the_first() -> None:
    history = taught(at(index, 2.0) for index in range(1000, 1020))
    back = remember(history, at(10, 2.0), SETTINGS)
    assert back == history._replace(last_index=10)
    after = remember(back, at(11, 2.0), SETTINGS)
    assert after.windows == history.windows + 1
    assert sum(after.bands) <= sum(history.bands) + at(11, 2.0).arms[BASELINE][0].itl_seconds


def test_a_young_pod_is_left_out_beside_a_warm_one() -> None:
    both = alone(0, pod(ready_seconds=4000.0), pod(5.0, tokens=2400, name="young", ready_seconds=100.0))
    assert learned([both]) == learned([alone(0, pod(ready_seconds=4000.0))])


def test_windows_of_another_length_begin_a_history_anew() -> None:
    history = taught(alone(index) for index in range(100, 200))
    longer = Settings(window_seconds=120.0)
    history = remember(history, alone(50, pod(seconds=120.0), seconds=120.0), longer)
    assert (history.windows, history.last_index) == (1, 50)


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
@given(changes=st.dictionaries(st.integers(1, 79), hostile.filter(lambda x: abs(x) < 1e300 or x != x)))
@example(changes={6: 5e-324, 8: 285.0})  # worth more windows than there are
@example(changes={5: 1.0, 67: 5e-324})  # hardly a request was counted, and many seconds were held
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
