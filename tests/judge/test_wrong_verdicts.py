"""Wrong verdicts that other judges gave in public, and what this one says to the same.

Each test names what it guards against: the public report, and the scenario's number (PD-..). Two are not the
judge's: PD-07 (a load generator that succeeds though the server answers 500: no exit code is read here, and
5xx is a guard) and PD-95 (outputs that differ: they are not compared).
"""

import math
import random
from dataclasses import replace

import pytest

from specdeploy.judge import (
    BASELINE,
    SERVING,
    TRIAL,
    Learned,
    Outcome,
    PodWindow,
    Reason,
    Settings,
    Verdict,
    Window,
    expire,
    observe,
    pack,
    start,
    summary,
    unpack,
)
from specdeploy.judge.guard import drifted, guard, start_guard
from tests.judge.streams import Stream
from tests.judge.windows import SECONDS, judge, noisy_windows, pod, window

CALM = Settings(pod_sd=0.0)
IDLE = PodWindow("p", SECONDS, 0, 0, 0.0)
NO_NUMBERS = PodWindow("p", SECONDS, math.nan, math.nan, math.nan)


def speeds(trial: list[float], baseline: list[float]) -> list[Window]:
    return [
        Window(index, SECONDS, {BASELINE: (pod(slow),), TRIAL: (pod(fast),)})
        for index, (fast, slow) in enumerate(zip(trial, baseline, strict=True))
    ]


def outcome(verdict: Verdict | None) -> Outcome | None:
    return verdict.outcome if verdict else None


@pytest.mark.parametrize(
    "trial",
    [
        [50.0] * 8 + [50.0, 0.5, 50.0, 0.5, 50.0, 0.5, 50.0],
        [0.5] * 7 + [50.0] * 8,
        [50.0, 100.0, 5.0] * 5,
    ],
    ids=["spread-explodes", "7-of-10-are-100x-slower", "fast-and-slow-in-turn"],
)
def test_points_are_not_passed_because_ranks_look_alike(trial: list[float]) -> None:
    """Kayenta 780, spinnaker 6278 (PD-08): a spread that explodes, or 7 of 10 points a hundred times worse,
    passed a rank test. Nor are four times as many passed, by the deadline at the latest."""
    for points in (trial, trial * 4):
        state, verdict, _ = judge(speeds(points, [50.0] * len(points)), CALM)
        assert outcome(verdict or expire(state, CALM)) in (
            Outcome.DISASTER,
            Outcome.SLOWER,
            Outcome.NOT_WORTH_IT,
            Outcome.INCONCLUSIVE,
        )


def test_the_effect_that_is_shown_is_the_one_that_decides() -> None:
    """Kayenta 744: a mean ratio of 3 was shown, and a rank test of mostly small points decided."""
    mixed = [48.0, 48.0, 48.0, 400.0] * 8
    state, verdict, _ = judge(speeds(mixed, [50.0] * 32), CALM)
    said = summary(state)
    assert outcome(verdict) is None
    assert said.lower is not None
    assert said.ratio is not None
    assert said.lower < 1 < said.ratio


@pytest.mark.parametrize(
    ("arms", "reason"),
    [
        ({BASELINE: (IDLE,), TRIAL: (IDLE,)}, Reason.NO_TRAFFIC),
        ({BASELINE: (pod(tokens=500, first=3),), TRIAL: (pod(2, tokens=500, first=3),)}, Reason.NO_TRAFFIC),
        ({}, Reason.NO_DATA),
        ({BASELINE: (pod(),)}, Reason.NO_DATA),
        ({BASELINE: (pod(),), TRIAL: (IDLE,)}, Reason.ARM_NOT_REACHED),
        (
            {BASELINE: (pod(),), TRIAL: (PodWindow("p", SECONDS, math.nan, math.nan, math.nan),)},
            Reason.BAD_NUMBERS,
        ),
    ],
    ids=["PD-05-idle", "PD-19-few", "PD-03-empty", "PD-02-no-arm", "PD-02-not-reached", "PD-01-nan"],
)
def test_no_evidence_is_neither_good_nor_bad(arms: dict[str, tuple[PodWindow, ...]], reason: Reason) -> None:
    """Flagger 1035, 1689 and 1501, Argo 1905, 180 and 1466, suna 3403: no traffic, or no data, was a strike
    and rolled back; with a hand-written minimum it passed instead. Argo 1107 (PD-22): a quotient of rates
    over nothing needed tricks in the query, or never ended."""
    state, verdict, _ = judge(Window(index, 600.0, arms) for index in range(500))
    assert verdict is None
    assert summary(state).last_skipped is reason
    assert summary(state).windows_used == 0
    late = expire(state, CALM)
    assert late.outcome is Outcome.INCONCLUSIVE
    assert reason.value in late.message


@pytest.mark.parametrize("hole", [1, 40, 5000], ids=["PD-20-flicker", "PD-23-outage", "PD-24-long-outage"])
def test_an_outage_of_the_metrics_changes_no_verdict(hole: int) -> None:
    """Argo's default of five errors (PD-23), Flagger 518 (PD-24), iter8 272 (PD-20): an outage aborted."""
    windows = list(noisy_windows(random.Random(3), 1.2, 60))
    torn = [
        *windows[:20],
        *(Window(20 + number, SECONDS, {}) for number in range(hole)),
        *(replace(each, index=each.index + hole) for each in windows[20:]),
    ]
    _, plain, _ = judge(windows, CALM)
    state, verdict, _ = judge(torn, CALM)
    assert outcome(verdict) is outcome(plain) is Outcome.PROMOTED
    assert summary(state).skipped == {Reason.NO_DATA: hole}


def test_ten_thousand_errors_do_not_grow_the_state() -> None:
    """Argo 3259 (PD-25): a bad address made a status of 58,000 lines."""
    state, _, _ = judge(Window(index, SECONDS, {}) for index in range(10_000))
    assert len(pack(state)) == len(pack(start(Settings()))) < 3072


def test_one_slow_window_is_no_verdict() -> None:
    """Archimedes 1713, suna 3403: a single cold sample, or one error at near-zero traffic, failed deploys."""
    for cold in (0.04, 0.01):
        for at in (5, 15):
            trial = [50 * 1.2] * 120
            trial[at] = 50 * cold
            assert outcome(judge(speeds(trial, [50.0] * 120), CALM)[1]) is Outcome.PROMOTED


def test_pods_of_one_kind_that_differ_are_no_win() -> None:
    """guelfoweb/orbit 295: identical configurations differed by 12 %, and +5.75 % was called a win."""
    rng, promoted = random.Random(5), 0
    for _ in range(40):
        _, verdict, _ = judge(noisy_windows(rng, 1.0, 120, sd=0.015, pod_sd=0.01), Settings())
        promoted += outcome(verdict) is Outcome.PROMOTED
    assert promoted <= 1


def test_the_time_between_tokens_of_a_step_decides_nothing() -> None:
    """vLLM 24015 and 51742: a drafter gives 3.5 tokens a step; a check of the mean inter-token latency reads
    its longer steps as a regression."""
    steps = {"drafts": 7000.0, "draft_tokens": 28000.0, "accepted_tokens": 17000.0}
    arms = {BASELINE: (pod(50),), TRIAL: (pod(90, **steps),)}
    _, verdict, _ = judge((Window(index, SECONDS, arms) for index in range(40)), CALM)
    assert outcome(verdict) is Outcome.PROMOTED


@pytest.mark.slow
def test_looking_after_every_window_makes_no_winners() -> None:
    """Optimizely (peeking): 57 % false winners when checking after every visitor. PD-18: A/A is a standing
    test."""
    rng, promoted = random.Random(6), 0
    for _ in range(60):
        _, verdict, _ = judge(
            Stream(1.0, windows=400).trial(rng), Settings(pod_sd=0.0, deadline_seconds=24000.0)
        )
        promoted += outcome(verdict) is Outcome.PROMOTED
    assert promoted <= 2


def test_acceptance_that_looks_fine_does_not_promote_a_loser() -> None:
    """vLLM 27379, 19254, 8439 and 6494 (PD-93, PD-94): acceptance was all that was checked."""
    good = {"drafts": 6000.0, "draft_tokens": 24000.0, "accepted_tokens": 23000.0}
    arms = {BASELINE: (pod(50),), TRIAL: (pod(45, **good),)}
    _, verdict, _ = judge((Window(index, SECONDS, arms) for index in range(60)), CALM)
    assert outcome(verdict) is Outcome.SLOWER


def by_batch(small: float, large: float) -> list[Window]:
    """Half of the windows at batch 2, half at 32."""
    windows = []
    for index in range(120):
        tokens, ratio = ((6000.0, small), (96000.0, large))[index // 3 % 2]
        wobble = math.exp(0.02 * math.sin(index))
        arms = {BASELINE: (pod(50, tokens=tokens),), TRIAL: (pod(50 * ratio * wobble, tokens=tokens),)}
        windows.append(Window(index, SECONDS, arms))
    return windows


def test_a_drafter_that_loses_at_a_large_batch_is_told_so_by_band() -> None:
    """ArcticInference 185, vLLM 8439 (PD-93): slower than the baseline at high concurrency; one number for
    all batches hid it."""
    _, verdict, _ = judge(by_batch(1.8, 0.85), CALM)
    assert verdict is not None
    assert (verdict.outcome, verdict.reason) == (Outcome.GUARDED, "SlowerInBand")
    assert "faster on the whole, but slower at batch 16 to 64: 0.8" in verdict.message
    assert outcome(judge(by_batch(1.3, 1.2), CALM)[1]) is Outcome.PROMOTED


def test_a_promotion_names_the_batch_that_it_has_not_seen() -> None:
    """PD-93: a drafter of 1.30x at batch 2 and 0.56x at batch 32, tried at night, got all the pods."""
    learned = Learned(windows=1440, shares=(0.3, 0.1, 0.6, 0.0))
    night = [window(index, pod(65, tokens=6000)) for index in range(40)]
    quiet = [replace(each, arms={**each.arms, BASELINE: (pod(50, tokens=6000),)}) for each in night]
    _, verdict, _ = judge(quiet, CALM, learned)
    assert verdict is not None
    assert verdict.outcome is Outcome.PROMOTED
    assert verdict.numbers.uncovered == ("16 to 64",)
    assert "not yet measured at batch 16 to 64" in verdict.message
    assert "stops at half of the pods until it is" in verdict.message


def test_a_stopped_trial_has_not_passed() -> None:
    """Argo 1329, 228, 2158 and 4479 (PD-13), 943 (PD-14), 1360 (PD-15): what was stopped, was still being
    judged or had never run, counted as passed."""
    state, verdict, _ = judge(noisy_windows(random.Random(8), 1.3, 29), CALM)
    assert verdict is None
    assert expire(state, CALM).outcome is Outcome.INCONCLUSIVE
    assert expire(start(CALM), CALM).outcome is Outcome.INCONCLUSIVE


def test_swapped_arms_give_the_opposite_verdict() -> None:
    """Argo 1700 (PD-12): the analysis probed the stable arm, and a bad canary was promoted."""
    fast = list(noisy_windows(random.Random(9), 1.3, 60))
    swapped = [replace(w, arms={BASELINE: w.arms[TRIAL], TRIAL: w.arms[BASELINE]}) for w in fast]
    assert outcome(judge(fast, CALM)[1]) is Outcome.PROMOTED
    assert outcome(judge(swapped, CALM)[1]) is Outcome.SLOWER


def test_a_restart_drops_the_window_of_that_pod() -> None:
    """PD-26: a pod's restart sets counters back; the difference is no speed."""
    restarted = [window(index, pod(3.0, restarts=1)) for index in range(20)]
    state, verdict, _ = judge(restarted)
    assert verdict is None
    assert summary(state).skipped == {Reason.POD_RESTARTED: 20}


def test_a_series_that_only_one_arm_tells_is_no_evidence() -> None:
    """Flagger 1581 (PD-06): a metric that was never there was ignored, and a bad release was promoted."""
    silent = [window(index, 1.5) for index in range(60)]
    told = [replace(each, arms={**each.arms, BASELINE: (pod(requests_waiting=0),)}) for each in silent]
    state, verdict, _ = judge(told, CALM)
    assert verdict is None
    assert summary(state).skipped == {Reason.SERIES_MISSING: 60}


def test_the_numbers_behind_a_verdict_are_told_with_it() -> None:
    """iter8 1022, Kayenta 521 (PD-21): why did it win, why did it fail?"""
    _, verdict, _ = judge(noisy_windows(random.Random(10), 1.2, 60), CALM)
    assert verdict is not None
    numbers = verdict.numbers
    for part in (
        f"{numbers.ratio:.3f}x [{numbers.lower:.3f}, {numbers.upper:.3f}]",
        "over 30 windows",
        "at batch",
    ):
        assert part in verdict.message


def test_verdict_and_state_are_one_function() -> None:
    """Flagger 1801: 18 failed checks against a limit of 5 and no rollback; counter and state had parted. Here
    the next verdict follows from the packed state and the next window alone."""
    state, settings = start(CALM, Learned(windows=60)), CALM
    for each in noisy_windows(random.Random(11), 0.9, 60):
        one, verdict = observe(state, each, settings)
        again, same = observe(unpack(pack(state)), each, settings)
        assert (pack(one), verdict) == (pack(again), same)
        if verdict is not None:
            break
        state = one
    assert outcome(verdict) in (Outcome.SLOWER, Outcome.NOT_WORTH_IT)


def test_below_one_and_a_half_times_a_first_promotion_waits_for_the_baseline_to_be_known() -> None:
    """Without a weight, and with a baseline that nobody watched, an unequal load could look like a gain."""
    for ratio, windows in ((1.2, 60), (1.6, 30)):
        steady = (window(index, ratio * math.exp(0.02 * math.sin(index))) for index in range(90))
        _, verdict, looked = judge(steady, CALM, Learned())
        assert (outcome(verdict), looked) == (Outcome.PROMOTED, windows)


def test_an_acceptance_that_slides_is_seen_while_no_baseline_runs() -> None:
    """vLLM 41838 (PD-90): the accepted length fell over hours, and only a restart cured it."""
    rng = random.Random(12)

    def serving(share: float) -> PodWindow:
        return pod(65, draft_tokens=20000.0, accepted_tokens=20000 * (share + rng.gauss(0, 0.01)))

    trial, _, _ = judge(noisy_windows(rng, 1.3, 40), CALM)
    state = start_guard(trial, CALM)
    for index in range(100, 500):
        sliding = max(0, index - 380) * 0.0005
        arms = {SERVING: (serving(0.6 - sliding),), **({BASELINE: (pod(50),)} if index < 360 else {})}
        state, alarm = guard(state, Window(index, SECONDS, arms), CALM)
        assert alarm is None
        assert index >= 380 or drifted(state) is None
    assert "acceptance" in str(drifted(state))
