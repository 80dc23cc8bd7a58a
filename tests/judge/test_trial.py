"""Which windows a trial takes in, and what it counts."""

from dataclasses import replace

import pytest

from specdeploy.judge import (
    BASELINE,
    TRIAL,
    Obstacle,
    PodWindow,
    Reason,
    Settings,
    Window,
    observe,
    start,
    summary,
)
from tests.judge.windows import judge, pod, window

IDLE = PodWindow("p", 60.0, 0, 0, 0.0)


def test_every_window_is_seen_and_either_used_or_counted_by_its_reason() -> None:
    windows = [
        window(0),
        Window(1, 60.0, {}),
        window(2, IDLE),
        replace(window(3), obstacle=Obstacle(Reason.DIFFERENT_GPU, "MI300X and MI210")),
        window(4, pod(restarts=1)),
        window(5),
    ]
    state, _, _ = judge(windows)
    said = summary(state)
    assert (said.windows_seen, said.windows_used, said.measured_seconds) == (6, 2, 120.0)
    assert said.skipped == {
        Reason.NO_DATA: 1,
        Reason.NO_TRAFFIC: 1,
        Reason.POD_RESTARTED: 1,
        Reason.DIFFERENT_GPU: 1,
    }
    assert said.last_skipped is None


@pytest.mark.parametrize("index", [3, 4, 5, -1, 2**53, 10**400])
def test_a_window_out_of_order_changes_nothing_but_the_count(index: int) -> None:
    settings = Settings()
    state, _, _ = judge([window(0), window(5, 0.44)])
    after, verdict = observe(state, window(index, 0.44), settings)
    assert verdict is None
    assert summary(after).last_skipped is Reason.OUT_OF_ORDER
    assert (after.baseline, after.watch, after.last_index) == (state.baseline, state.watch, 5)


@pytest.mark.parametrize("index", [0, 1])
def test_after_a_step_back_of_the_clock_windows_count_again_but_not_the_first(index: int) -> None:
    settings = Settings()
    state, _, _ = judge([window(0), window(5, 1.2)])
    back, _ = observe(state, window(index, 1.2), settings)
    assert (back.baseline, back.watch, back.last_index) == (state.baseline, state.watch, index)
    after, _ = observe(back, window(index + 1, 1.2), settings)
    assert summary(after).windows_used == summary(state).windows_used + 1


@pytest.mark.parametrize("baseline_tokens", [24000.0, 500.0])
def test_an_arm_that_nobody_reaches_is_told_from_a_quiet_hour(baseline_tokens: float) -> None:
    settings, state, reasons = Settings(), start(Settings()), []
    for index in range(4):
        arms = {BASELINE: (pod(tokens=baseline_tokens),), TRIAL: (IDLE,)}
        state, _ = observe(state, Window(index, 600.0, arms), settings)
        reasons.append(summary(state).last_skipped)
    assert reasons == [Reason.NO_TRAFFIC] * 2 + [Reason.ARM_NOT_REACHED] * 2
    state, _ = observe(state, window(4), settings)
    state, _ = observe(state, window(5, IDLE), settings)
    assert summary(state).last_skipped is Reason.NO_TRAFFIC


def test_a_quiet_hour_on_both_arms_blames_no_arm() -> None:
    state, _, _ = judge(Window(i, 600.0, {BASELINE: (IDLE,), TRIAL: (IDLE,)}) for i in range(9))
    assert summary(state).skipped == {Reason.NO_TRAFFIC: 9}


def test_the_range_of_batch_is_that_of_the_evidence() -> None:
    def at(index: int, batch: float) -> Window:
        arms = {BASELINE: (pod(tokens=batch * 3000),), TRIAL: (pod(tokens=batch * 3000),)}
        return Window(index, 60.0, arms)

    state, _, _ = judge([at(0, 4), at(1, 2), at(2, 9), at(3, 0.1)])
    said = summary(state)
    assert (said.batch_low, said.batch_high) == (pytest.approx(2), pytest.approx(9))


def test_a_trial_without_evidence_has_no_numbers() -> None:
    said = summary(start(Settings()))
    assert (said.ratio, said.lower, said.upper, said.windows_seen, said.skipped) == (None, None, None, 0, {})


def test_a_ratio_is_known_before_its_interval() -> None:
    state, _, _ = judge([window(0, 1.2)])
    said = summary(state)
    assert said.ratio == pytest.approx(1.2)
    assert (said.lower, said.upper) == (None, None)
