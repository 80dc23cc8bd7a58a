"""The disaster lane and the guards: they look at every window, evidence or not."""

import math
from collections.abc import Iterable
from dataclasses import replace

import pytest

from specdeploy.judge import (
    BASELINE,
    TRIAL,
    Obstacle,
    Outcome,
    PodWindow,
    Reason,
    Settings,
    Window,
    observe,
    start,
)
from specdeploy.judge.disaster import Lane
from tests.judge.windows import judge, pod, window

WITHOUT = Window(0, 60.0, {BASELINE: (pod(),)})


def numbered(windows: Iterable[Window]) -> list[Window]:
    return [replace(each, index=index) for index, each in enumerate(windows)]


@pytest.mark.parametrize(
    ("ratio", "windows"),
    [(0.01, 2), (0.44, 2), (0.47, 2), (0.5, 3), (0.55, 7), (0.7, None), (0.8, None), (1.0, None)],
)
def test_a_disaster_is_out_after_so_many_windows(ratio: float, windows: int | None) -> None:
    lane = Lane()
    alarmed = []
    for number in range(1, 10):
        lane = lane.add(math.log(ratio), 0.2)
        alarmed += [number] if lane.alarmed else []
    assert alarmed[:1] == ([windows] if windows else [])


def test_one_window_never_decides_however_slow() -> None:
    for ratio in (1e-6, 0.01, 0.3):
        state, verdict, _ = judge([window(0), window(1, ratio), window(2), window(3), window(4, ratio)])
        assert verdict is None, state.watch.lane


def test_a_good_window_forgives_an_earlier_bad_one() -> None:
    assert Lane().add(math.log(0.44), 0.2).add(0.1, 0.2) == Lane()


def test_a_disaster_says_what_was_measured() -> None:
    _, verdict, looked = judge(window(index, 0.44) for index in range(5))
    assert verdict is not None
    assert (verdict.outcome, looked) == (Outcome.DISASTER, 2)
    assert verdict.numbers.ratio == pytest.approx(0.44)
    assert verdict.message == (
        "0.440x the baseline's decode speed over the last 2 windows: "
        "far slower, rolled back (evidence at batch 8.0)"
    )


@pytest.mark.parametrize(
    "more",
    [{"ready_seconds": 120.0}, {"ready_seconds": 120.0, "finished_since_ready": 0}],
)
def test_a_disaster_does_not_wait_for_the_warm_up(more: dict[str, float]) -> None:
    young = [window(index, pod(20, seconds=60.0, **more)) for index in range(2)]
    state, verdict, _ = judge(young)
    assert verdict is not None
    assert verdict.outcome is Outcome.DISASTER
    assert state.used == 0
    assert verdict.numbers.ratio == pytest.approx(0.4)
    assert "at batch" not in verdict.message


def test_the_first_window_of_a_pod_is_no_disaster() -> None:
    _, verdict, _ = judge(window(index, pod(20, ready_seconds=119.0)) for index in range(9))
    assert verdict is None


@pytest.mark.parametrize(
    ("obstacle", "outcome"),
    [
        (Obstacle(Reason.DIFFERENT_IMAGE, "v1 and v2"), Outcome.DISASTER),
        (Obstacle(Reason.TEMPLATE_EDITED, "by hand"), Outcome.DISASTER),
        (Obstacle(Reason.NO_DATA, "no answer"), None),
    ],
)
def test_a_disaster_is_seen_in_windows_that_are_no_evidence(
    obstacle: Obstacle, outcome: Outcome | None
) -> None:
    _, verdict, _ = judge(replace(window(index, 0.3), obstacle=obstacle) for index in range(9))
    assert (verdict.outcome if verdict else None) is outcome


def test_a_trial_far_under_the_floor_is_out_and_not_excused() -> None:
    _, verdict, looked = judge(window(index, pod(2.5, tokens=150, first=1)) for index in range(9))
    assert verdict is not None
    assert (verdict.outcome, looked) == (Outcome.DISASTER, 2)


def test_too_little_traffic_on_both_arms_is_no_disaster() -> None:
    quiet = [Window(i, 60.0, {BASELINE: (pod(tokens=500),), TRIAL: (pod(5, tokens=500),)}) for i in range(9)]
    state, verdict, _ = judge(quiet)
    assert verdict is None
    assert state.watch.lane == Lane()


def queues(*pairs: tuple[float | None, float | None]) -> list[Window]:
    def queuing(waiting: float | None) -> tuple[PodWindow, ...]:
        return (pod()._replace(requests_waiting=waiting),)

    return numbered(Window(0, 60.0, {TRIAL: queuing(a), BASELINE: queuing(b)}) for a, b in pairs)


@pytest.mark.parametrize(
    ("pairs", "looked"),
    [
        ([(5, 0)] * 5, 3),
        ([(5, 0), (0, 0), (5, 0), (0, 0), (5, 0)], 5),
        ([(5, 0), (0, 0), (0, 0), (5, 0), (0, 0), (5, 0)], None),
        ([(1, 0)] * 9, None),
        ([(5, 1)] * 9, 3),
        ([(5, 0.3)] * 9, 3),
        ([(5, 1.1)] * 9, None),
        ([(None, 0)] * 9, None),
        ([(5, None)] * 9, None),
        ([(5, 0), (None, None), (5, 0), (None, None), (None, None), (None, None), (5, 0)], 7),
        ([(math.inf, 0)] * 9, None),
        ([(math.nan, 0)] * 9, None),
    ],
)
def test_a_queue_on_the_trial_alone_is_less_capacity(
    pairs: list[tuple[float | None, float | None]], looked: int | None
) -> None:
    _, verdict, seen = judge(queues(*pairs))
    assert ((verdict.outcome, verdict.reason, seen) if verdict else None) == (
        (Outcome.GUARDED, "LessCapacity", looked) if looked else None
    )


def test_less_capacity_vetoes_however_fast_the_trial_is() -> None:
    fast = [window(i, pod(100, requests_waiting=0 if i < 28 else 9)) for i in range(40)]
    arms = [replace(each, arms={**each.arms, BASELINE: (pod(requests_waiting=0),)}) for each in fast]
    _, verdict, looked = judge(arms)
    assert verdict is not None
    assert verdict.outcome is Outcome.PROMOTED
    assert looked == 30
    _, verdict, looked = judge(arms[1:])
    assert verdict is not None
    assert (verdict.outcome, looked) == (Outcome.GUARDED, 30)
    assert "waited on its pods in 3 of the last 5 windows" in verdict.message


def test_no_data_leaves_the_alarms_as_they_were() -> None:
    settings = Settings()
    state, _ = observe(start(settings), window(0, 0.44), settings)
    after, verdict = observe(state, replace(WITHOUT, index=1), settings)
    assert (after.watch, verdict) == (state.watch, None)
