"""One window with a senseless number, a counter that jumps or what is no number, changes no verdict."""

import math
import random
from dataclasses import replace

import pytest

from specdeploy.judge import BASELINE, TRIAL, Learned, Outcome, PodWindow, Reason, Settings, Window, summary
from specdeploy.judge.comparison import Comparison, Evidence
from tests.judge.windows import SECONDS, SPEED, judge, noisy_windows, pod

CALM = Settings(pod_sd=0.0)
RETIRED = (Outcome.SLOWER, Outcome.NOT_WORTH_IT)


def telling(each: PodWindow) -> PodWindow:
    """The pod with all that an engine tells of its requests."""
    return each._replace(
        finished_requests=each.first_tokens,
        finished_tokens=each.generation_tokens,
        prompt_tokens=500 * each.first_tokens,
        max_tokens=800 * each.first_tokens,
        requests_running=8.0,
        requests_waiting=0.0,
    )


def trial(ratio: float, at: int = -1, arm: str = TRIAL, **senseless: float) -> list[Window]:
    """Windows of a true `ratio`; one of them has senseless numbers on one arm."""
    windows = []
    for each in noisy_windows(random.Random(3), ratio, 120, sd=0.04):
        arms = {name: tuple(telling(one) for one in pods) for name, pods in each.arms.items()}
        if each.index == at:
            arms[arm] = tuple(one._replace(**senseless) for one in arms[arm])
        windows.append(replace(each, arms=arms))
    return windows


SENSELESS = [
    {"generation_tokens": 1e5},
    {"generation_tokens": 1e6},
    {"generation_tokens": 1e12},
    {"generation_tokens": 1e300},
    {"itl_seconds": 1e12},
    {"itl_seconds": 1e-9},
    {"first_tokens": 1e12},
    {"finished_tokens": 1e6},
    {"finished_tokens": 1e12},
    {"finished_requests": 1e12},
    {"prompt_tokens": 1e12},
    {"max_tokens": 1e12},
    {"requests_running": 1e12},
    {"requests_waiting": 1e12},
    {"seconds": 1e12},
    {"generation_tokens": 1e12, "itl_seconds": 1e12, "first_tokens": 1e12},
    {"generation_tokens": math.nan, "finished_tokens": math.nan},
    {"generation_tokens": -1e12},
]


@pytest.mark.parametrize("arm", [BASELINE, TRIAL])
@pytest.mark.parametrize("at", [0, 25])
@pytest.mark.parametrize("senseless", SENSELESS, ids=str)
def test_one_senseless_window_turns_no_winner_into_a_loser_nor_the_other_way(
    senseless: dict[str, float], at: int, arm: str
) -> None:
    _, winner, _ = judge(trial(1.2, at, arm, **senseless), CALM)
    assert winner is not None
    assert winner.outcome is Outcome.PROMOTED
    assert winner.numbers.ratio == pytest.approx(1.2, rel=0.1)
    _, loser, _ = judge(trial(0.85, at, arm, **senseless), CALM)
    assert loser is not None
    assert loser.outcome in RETIRED
    _, equal, _ = judge(trial(1.0, at, arm, **senseless), CALM)
    assert equal is None or equal.outcome in RETIRED


@pytest.mark.parametrize("tokens", [1e5, 1e7, 1e12])
@pytest.mark.parametrize(("ratio", "by"), [(1.1, 180), (1.2, 90)])
def test_a_jump_of_the_baselines_counter_costs_a_winner_some_windows_not_its_promotion(
    tokens: float, ratio: float, by: int
) -> None:
    """The sum of raw ratios, which a promotion asks to be above 0, is bounded as well."""
    windows = list(noisy_windows(random.Random(3), ratio, 240))
    jumped = windows[5].arms[BASELINE][0]._replace(generation_tokens=tokens)
    windows[5] = replace(windows[5], arms={**windows[5].arms, BASELINE: (jumped,)})
    _, verdict, looked = judge(windows, CALM)
    assert verdict is not None
    assert (verdict.outcome, looked <= by) == (Outcome.PROMOTED, True)
    assert Comparison().add(0, Evidence(-17.0, -17.0, 0.0, 0.0, 2.0), 8.0).raw == -math.log(8)


def test_a_jump_of_one_of_two_pods_does_not_make_all_pods_differ() -> None:
    rng = random.Random(1)

    def arm(ratio: float) -> tuple[PodWindow, ...]:
        return tuple(pod(SPEED * ratio * math.exp(rng.gauss(0, 0.03)), name=name) for name in "ab")

    windows = [Window(index, SECONDS, {BASELINE: arm(1.0), TRIAL: arm(1.2)}) for index in range(60)]
    first, second = windows[3].arms[TRIAL]
    jumped = (first._replace(generation_tokens=1e12), second)
    windows[3] = replace(windows[3], arms={**windows[3].arms, TRIAL: jumped})
    state, verdict, _ = judge(windows)
    assert verdict is not None
    assert verdict.outcome is Outcome.PROMOTED
    assert state.corrections.pod_sd < 0.02


def two_trial_pods(index: int, other: PodWindow, share: float = 1.0) -> Window:
    """The first trial pod is good, and has `share` times the load of a baseline pod."""
    told = {"requests_running": 8.0, "requests_waiting": 0.0}
    speed = 1.2 * SPEED * math.exp(0.02 * math.sin(index))
    good = pod(speed, name="c", tokens=24000 * share, first=60 * share, **told)
    return Window(
        index, SECONDS, {BASELINE: (pod(name="a", **told), pod(name="b", **told)), TRIAL: (good, other)}
    )


@pytest.mark.parametrize("waiting", [0.0, 40.0])
@pytest.mark.parametrize("arm", [BASELINE, TRIAL])
def test_a_pod_that_stands_still_is_not_left_out_of_its_arm(waiting: float, arm: str) -> None:
    """Its healthy neighbour is 1.2x as fast; what holds requests and gives no token is not idle."""
    dead = PodWindow("d", SECONDS, 0, 0, 0.0, requests_running=8.0, requests_waiting=waiting)
    windows = [two_trial_pods(index, dead) for index in range(60)]
    if arm == BASELINE:
        windows = [
            replace(each, arms={BASELINE: each.arms[TRIAL], TRIAL: each.arms[BASELINE]}) for each in windows
        ]
    state, verdict, _ = judge(windows, CALM, Learned(windows=600))
    assert verdict is None or verdict.outcome is Outcome.GUARDED
    assert set(summary(state).skipped) == {Reason.STALLED}


def test_an_idle_pod_beside_a_busy_one_is_left_out() -> None:
    idle = PodWindow("d", SECONDS, 0, 0, 0.0, requests_running=0.0, requests_waiting=0.0)
    windows = [two_trial_pods(index, idle, share=2.0) for index in range(60)]
    _, verdict, _ = judge(windows, CALM, Learned(windows=600))
    assert verdict is not None
    assert verdict.outcome is Outcome.PROMOTED


def test_a_night_close_to_one_does_not_cut_the_loss_of_the_peak() -> None:
    """200 windows at 1.06x and batch 2, then 30 at 0.7x and batch 32: the band of the peak reads 0.7."""
    rng, comparison = random.Random(5), Comparison()
    for index in range(230):
        ratio, batch = (1.06, 2.0) if index < 200 else (0.70, 32.0)
        y = math.log(ratio) + rng.gauss(0, 0.04)
        comparison = comparison.add(index, Evidence(y, y, 0.0, 0.0, 2.0), batch)
    assert [band.n for band in comparison.bands] == [200, 0, 30, 0]
    assert math.exp(comparison.bands[2].mean) == pytest.approx(0.70, abs=0.02)
