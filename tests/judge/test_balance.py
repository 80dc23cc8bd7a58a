"""Do the arms carry the same load and the same requests? And tokens that nobody got, and pods of one arm."""

import math
import random

import pytest

from specdeploy.judge import (
    BASELINE,
    TRIAL,
    Learned,
    PodWindow,
    Reason,
    Settings,
    Window,
    observe,
    start,
    summary,
)
from specdeploy.judge.arm import measure_arm
from specdeploy.judge.balance import Balance
from specdeploy.judge.pods import Spread, with_pods_of
from specdeploy.judge.surplus import Surplus
from tests.judge.windows import SECONDS, judge, pod, window

PHI = 0.3


def balanced(trial: PodWindow, other: PodWindow, count: int) -> Reason | None:
    balance = Balance()
    for _ in range(count):
        balance = balance.add(measure_arm([trial]), measure_arm([other]))
    return balance.mismatch(PHI)


def at_load(share: float, *, ratio: float = 1.0) -> PodWindow:
    """`share` of the requests and the tokens, at `ratio` times the speed."""
    return pod(50 * ratio, tokens=24000 * share, first=60 * share)


@pytest.mark.parametrize(
    ("trial", "count", "reason"),
    [
        (at_load(1.0), 60, None),
        # a slower arm holds more requests, a faster one fewer: its own doing
        (at_load(1.0, ratio=0.5), 60, None),
        (at_load(1.0, ratio=2.0), 60, None),
        # pinned clients: arrivals follow the speed, the batch stays
        (at_load(1.5, ratio=1.5), 60, None),
        (at_load(0.5, ratio=0.5), 60, None),
        # another share of the load: more requests and a larger batch
        (at_load(0.5), 5, Reason.LOAD_MISMATCH),
        (at_load(2.0), 5, Reason.LOAD_MISMATCH),
        (at_load(3.0, ratio=0.8), 5, Reason.LOAD_MISMATCH),
        (at_load(0.92), 200, None),
        # beyond the tolerance, but not beyond two standard errors yet
        (at_load(0.85), 2, None),
        (at_load(0.80), 200, Reason.LOAD_MISMATCH),
    ],
)
def test_a_load_that_the_drafter_did_not_cause_is_a_mismatch(
    trial: PodWindow, count: int, reason: Reason | None
) -> None:
    assert balanced(trial, at_load(1.0), count) is reason


def test_requests_that_wait_have_arrived() -> None:
    """A queue that grows holds back first tokens: that is no smaller share of the load."""
    balance = Balance()
    for index in range(30):
        trial = pod(50, tokens=12000, first=30, requests_waiting=30.0 * index)
        balance = balance.add(measure_arm([trial]), measure_arm([pod(50, requests_waiting=0)]))
    assert abs(balance.load.arrivals / balance.load.n) < 0.05
    assert balance.mismatch(PHI) is None


@pytest.mark.parametrize(
    ("trial", "reason"),
    [
        ({"prompt_tokens": 30000}, None),
        ({"prompt_tokens": 36000}, Reason.MIX_MISMATCH),
        ({"prompt_tokens": 30000, "finished_requests": 60, "max_tokens": 40000}, Reason.MIX_MISMATCH),
        # few of its requests have finished yet, the short ones
        ({"prompt_tokens": 30000, "finished_requests": 20, "max_tokens": 6000}, None),
        # output length is for the guards
        ({"prompt_tokens": 30000, "finished_requests": 60, "finished_tokens": 50000}, None),
    ],
)
def test_only_prompts_and_what_was_asked_for_are_the_mix(
    trial: dict[str, float], reason: Reason | None
) -> None:
    usual = {"prompt_tokens": 30000, "finished_requests": 60, "max_tokens": 30000, "finished_tokens": 24000}
    assert balanced(pod(**{**usual, **trial}), pod(**usual), 20) is reason


def test_a_mismatch_is_no_evidence_and_is_named_with_advice() -> None:
    arms = {BASELINE: (at_load(1.0),), TRIAL: (at_load(0.5, ratio=1.4),)}
    state, verdict, _ = judge(Window(index, SECONDS, arms) for index in range(60))
    assert verdict is None
    said = summary(state)
    assert said.last_skipped is Reason.LOAD_MISMATCH
    assert said.windows_used <= 3


def test_a_mismatch_that_averages_out_ends() -> None:
    settings, state = Settings(), start(Settings())
    for index in range(120):
        share = 0.5 if index < 10 else 1.0
        arms = {BASELINE: (at_load(1.0),), TRIAL: (at_load(share),)}
        state, _ = observe(state, Window(index, SECONDS, arms), settings)
    assert summary(state).last_skipped is None


@pytest.mark.parametrize(
    ("finished_tokens", "share"), [(24060, 0.0), (23990, 0.0), (23400, 0.027), (12000, 0.5), (60000, 0.0)]
)
def test_tokens_that_no_finished_request_got_are_a_surplus(finished_tokens: float, share: float) -> None:
    surplus = Surplus()
    for _ in range(200):
        told = {"finished_requests": 60.0, "requests_running": 8.0}
        trial = pod(finished_tokens=finished_tokens, **told)
        surplus = surplus.add(measure_arm([trial]), measure_arm([pod(finished_tokens=24060, **told)]))
    assert -math.expm1(surplus.log_share) == pytest.approx(share, abs=0.003)


def test_requests_that_clients_gave_up_on_both_arms_are_no_surplus() -> None:
    surplus, arm = Surplus(), measure_arm([pod(finished_tokens=20000, finished_requests=50)])
    for _ in range(200):
        surplus = surplus.add(arm, arm)
    assert surplus.trial.lost_share > 0.1
    assert surplus.log_share == 0


def test_a_surplus_lowers_the_speed_up_that_is_shown() -> None:
    def told(finished: float) -> dict[str, float]:
        return {"finished_tokens": finished, "finished_requests": 60.0, "requests_running": 8.0}

    arms = {BASELINE: (pod(**told(24060)),), TRIAL: (pod(60, **told(21654)),)}
    state, _, _ = judge((Window(index, SECONDS, arms) for index in range(25)), Settings(pod_sd=0.0))
    ratio = summary(state).ratio
    assert ratio is not None
    assert 1.07 < ratio < 1.12


def spread(rng: random.Random, offsets: list[float], count: int) -> Spread:
    sums = Spread()
    for _ in range(count):
        pods = [
            pod(50 * math.exp(offset + rng.gauss(0, 0.03)), name=f"p{number}")
            for number, offset in enumerate(offsets)
        ]
        sums = sums.add(measure_arm(pods))
    return sums


@pytest.mark.parametrize(("offset", "low", "high"), [(0.0, 0.005, 0.0105), (0.05, 0.02, 0.05)])
def test_an_arm_of_several_pods_teaches_what_pods_differ_by(offset: float, low: float, high: float) -> None:
    arm = spread(random.Random(1), [-offset, 0.0, offset], 120)
    sd, freedom = with_pods_of([arm, Spread()], 0.01, 8, 0.54)
    assert (low <= sd <= high, freedom) == (True, 10)
    assert with_pods_of([arm], 0.0, 8, 0.54) == (0.0, 8)
    assert with_pods_of([spread(random.Random(1), [-0.1, 0.1], 29)], 0.01, 8, 0.54) == (0.01, 8)


def test_the_pods_that_history_knows_do_not_count_twice() -> None:
    """The baseline's pods of a trial are those of its history; the trial's are new."""
    rng = random.Random(4)

    def arm(names: str) -> tuple[PodWindow, ...]:
        return tuple(pod(50 * math.exp(rng.gauss(0, 0.02)), name=name) for name in names)

    windows = [Window(index, SECONDS, {BASELINE: arm("abc"), TRIAL: arm("tu")}) for index in range(40)]
    freedom = {}
    for known in (8, 10):
        state, settings = start(Settings(), Learned(windows=600, pod_freedom=known)), Settings()
        for each in windows:
            state, _ = observe(state, each, settings)
        freedom[known] = state.corrections.pod_freedom
    assert freedom == {8: 8 + 2 + 1, 10: 10 + 1}


def test_pods_are_learned_anew_when_one_is_replaced() -> None:
    arm = spread(random.Random(1), [0.0, 0.0], 50)
    pods = [pod(name="p0"), pod(name="other")]
    assert (arm.n, arm.add(measure_arm(pods)).n) == (50, 1)


def test_a_straggler_is_shown_and_not_left_out() -> None:
    def pods(slow: float) -> tuple[PodWindow, ...]:
        return tuple(pod(50 * (slow if number == 0 else 1), name=f"p{number}") for number in range(3))

    arms = {BASELINE: pods(0.6), TRIAL: pods(1.0)}
    state, _, _ = judge(Window(index, SECONDS, arms) for index in range(12))
    said = summary(state)
    assert (said.stragglers, said.windows_used) == (1, 12)
    assert said.ratio == pytest.approx(0.6 ** (-1 / 3))


def test_ten_thousand_pods_are_an_arm() -> None:
    pods = tuple(pod(name=f"p{number}") for number in range(10_000))
    state, _, _ = judge([Window(0, SECONDS, {BASELINE: pods, TRIAL: pods}), window(1)])
    assert summary(state).windows_used == 2
