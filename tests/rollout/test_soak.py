"""When a step of a promotion is over, and what it says that it waits for."""

import math

import pytest

from specdeploy.api.findings import read_spec
from specdeploy.api.reasons import TrialState
from specdeploy.api.spec import Spec
from specdeploy.api.status import TrialStatus, instant
from specdeploy.judge import BASELINE, SERVING, PodWindow, Settings, Window, start
from specdeploy.judge.guard import GuardState, guard, start_check, start_guard
from specdeploy.rollout.soak import expected, losing, unmeasured, unsoaked
from tests.rollout.scenes import EAGLE
from tests.rollout.world import START, spec

SETTINGS = Settings(pod_sd=0.0)
SHARES = (0.1, 0.9, 0.0, 0.0)


def read(**more: object) -> Spec:
    found = read_spec({**spec(EAGLE), **more}).spec
    assert found is not None
    return found


def pod(speed: float, tokens: float = 24_000.0) -> PodWindow:
    return PodWindow("p", 60.0, tokens + 60.0, 60.0, tokens / speed)


def soaked(*ratios: float, noise: float = 0.02) -> GuardState:
    """The guard after a step with these log-alternating ratios to the baseline's speed."""
    state = start_check(start_guard(start(SETTINGS), SETTINGS))
    for index, ratio in enumerate(ratios):
        swing = math.exp(noise if index % 4 in (0, 1) else -noise)
        arms = {BASELINE: (pod(50.0),), SERVING: (pod(50.0 * ratio * swing),)}
        state, _ = guard(state, Window(index, 60.0, arms), SETTINGS)
    return state


def step(windows: int, soak: int | None = 10) -> TrialStatus:
    moment = instant(START)
    return TrialStatus(
        drafter="eagle", revision="r", template="t", attempt=1, state=TrialState.PROMOTING,
        start_time=moment, state_time=moment, step=25, soaked=windows, soak=soak,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ratios", "says"),
    [
        ([1.5] * 9, "soak 9 of 10 windows compared"),
        ([1.5] * 30, None),
        ([1.01] * 12, "soak 12 windows: not yet proven at this step (1.01x); at window "),
        ([0.99] * 12, "soak 12 windows: not yet proven at this step (0.99x); at window "),
        ([0.99] * 30, "not yet proven at this step (0.99x [0."),
        ([0.995] * 130, "it waits until it is faster"),
        ([1.004] * 130, None),
        ([1.5] * 40 + [0.6] * 3, "soak 43 windows: its newest 3 windows are at 0.60x"),
    ],
)
def test_a_step_is_over_when_its_own_windows_prove_it_or_it_was_faster_for_long_and_still_is(
    ratios: list[float], says: str | None
) -> None:
    found = unsoaked(read(), soaked(*ratios), step(len(ratios)))
    assert (found is None) if says is None else (found is not None and says in found), found


def test_the_first_step_was_soaked_by_its_trial() -> None:
    assert unsoaked(read(), soaked(), step(0, soak=0)) is None


@pytest.mark.parametrize(
    ("windows", "noise", "number"),
    [(0, 0.1, 10), (9, 0.1, 10), (10, 0.001, 10), (10, 0.1, 120)],
)
def test_the_number_to_expect_is_that_of_the_spec_then_what_the_guard_needs_at_most_a_trials(
    windows: int, noise: float, number: int
) -> None:
    assert expected(read(), soaked(*[1.5] * 240, noise=noise), windows) == number


def test_the_number_to_expect_at_a_middling_noise_lies_between() -> None:
    assert 10 < expected(read(), soaked(*[1.5] * 240, noise=0.02), 10) < 120


@pytest.mark.parametrize(
    ("ratio", "windows", "missing", "slower"),
    [(1.1, 9, True, False), (1.1, 10, False, False), (0.97, 10, False, True)],
)
def test_beyond_half_a_step_needs_the_ranges_of_load_where_the_work_is_and_none_in_which_it_is_slower(
    ratio: float, windows: int, missing: bool, slower: bool
) -> None:
    state = soaked(*[ratio] * windows)
    assert (unmeasured(state, SHARES) is not None) is missing
    found = losing(state, SHARES)
    assert (found is not None) is slower
    assert found is None or "4 to 16 (0.97" in found
