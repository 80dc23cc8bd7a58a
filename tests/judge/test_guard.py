"""The guard after promotion: what it finds, what it leaves alone, re-checks, and its state."""

import math
import random
from dataclasses import replace
from statistics import median

import pytest

from specdeploy.judge import (
    BASELINE,
    SERVING,
    TRIAL,
    Obstacle,
    PodWindow,
    Reason,
    Settings,
    Window,
    start,
)
from specdeploy.judge.guard import (
    CheckResult,
    behind,
    check_outcome,
    drifted,
    guard,
    guard_summary,
    start_check,
    start_guard,
    uncovered,
    windows_to_see,
)
from specdeploy.judge.learned import Learned
from tests.judge.guarded import EXACT, FIRST, SETTINGS, after, lonely, promoted, watched
from tests.judge.windows import SECONDS, SPEED, judge, noisy_windows, pod

WEIGHED = Learned(
    windows=500, weighed=1, weight=1 / 3, weight_se=0.01, sd=0.02, batch_low=4.0, batch_high=12.0
)


def test_what_is_still_faster_raises_no_alarm() -> None:
    state, alarm, looked = watched(promoted(), after(1.05, 1500))
    assert (alarm, looked) == (None, 1500)
    assert guard_summary(state).evidence < 1e-3


@pytest.mark.parametrize(("ratio", "most"), [(0.44, 3), (0.80, 12), (0.90, 30)])
def test_what_has_become_slower_is_found(ratio: float, most: int) -> None:
    found = []
    for seed in range(40):
        state = promoted(seed, EXACT)
        state, _, _ = watched(state, after(1.3, 100, seed=seed), EXACT)
        _, alarm, looked = watched(state, after(ratio, 300, seed=100 + seed, first=FIRST + 100), EXACT)
        assert alarm is not None
        found.append(looked)
    assert median(found) <= most


def test_the_alarm_names_the_ratio_the_windows_and_the_batch() -> None:
    _, alarm, _ = watched(promoted(), after(0.8, 100))
    assert alarm is not None
    assert alarm.cause == "GuardAlarm"
    assert alarm.message.endswith(
        "windows compared, at batch 4 to 16: what serves has become slower than the baseline, rolled back"
    )
    assert alarm.message.startswith("0.7") or alarm.message.startswith("0.8")
    assert alarm.numbers.evidence >= 1


def test_the_alarm_names_the_band_that_lost() -> None:
    state, _, _ = watched(promoted(), after(1.3, 100))
    rng, alarm, index = random.Random(3), None, FIRST + 100
    while alarm is None:
        busy = index % 4 > 0
        tokens, ratio = (90_000.0, 0.7) if busy else (5_000.0, 1.0)
        arms = {
            BASELINE: (pod(SPEED * math.exp(rng.gauss(0, 0.03)), tokens=tokens),),
            SERVING: (pod(SPEED * ratio * math.exp(rng.gauss(0, 0.03)), tokens=tokens),),
        }
        state, alarm = guard(state, Window(index, SECONDS, arms), SETTINGS)
        index += 1
    assert "at batch 16 to 64 most (0.690x over 7 of them)" in alarm.message


def test_pods_of_the_same_kind_may_differ_by_what_the_trial_left_open() -> None:
    terms = promoted().terms
    assert terms.kappa(2.0) == pytest.approx(1.96 * 0.01 * math.sqrt(2 * terms.untold))
    assert 0.98 < terms.untold < 1
    assert terms.kappa(1 / 8 + 1 / 2) < terms.kappa(2.0)
    assert promoted(settings=EXACT).terms.kappa(2.0) == 0


def test_a_trial_that_is_just_above_one_in_quiet_windows_tells_something_of_its_pods() -> None:
    state, _, _ = judge(noisy_windows(random.Random(1), 1.03, 60, sd=0.005))
    assert 0.7 < start_guard(state, SETTINGS).terms.untold < 0.95


def no_pods(window: Window) -> Window:
    return replace(window, arms={})


def no_serving(window: Window) -> Window:
    return replace(window, arms={BASELINE: window.arms[BASELINE]})


def restarted(window: Window) -> Window:
    return replace(window, arms={**window.arms, SERVING: (pod(SPEED * 0.1, restarts=1.0),)})


def counters_back(window: Window) -> Window:
    return replace(window, arms={**window.arms, SERVING: (pod(SPEED * 0.1, tokens=-5.0),)})


def not_a_number(window: Window) -> Window:
    return replace(window, arms={**window.arms, SERVING: (pod(SPEED, tokens=math.nan),)})


def young(window: Window) -> Window:
    return replace(window, arms={**window.arms, SERVING: (pod(SPEED * 0.1, ready_seconds=100.0),)})


def hindered(window: Window) -> Window:
    return replace(window, obstacle=Obstacle(Reason.DIFFERENT_IMAGE, "another image"))


@pytest.mark.parametrize(
    "spoil", [no_pods, no_serving, restarted, counters_back, not_a_number, young, hindered]
)
def test_a_window_that_is_no_evidence_is_neither_good_nor_bad(spoil: object) -> None:
    assert callable(spoil)
    state, _, _ = watched(promoted(), after(1.3, 10))
    for each in after(0.1, 30, first=FIRST + 10):
        before = state
        state, alarm = guard(state, spoil(each), SETTINGS)
        assert alarm is None
        assert state == before._replace(last_index=each.index, seen=before.seen + 1, guards=state.guards)


def test_a_window_out_of_order_changes_nothing() -> None:
    state, _, _ = watched(promoted(), after(1.3, 10))
    for index in (-1, FIRST + 6, FIRST + 9, 2**53):
        again = next(iter(after(0.1, 1, first=index)))
        assert guard(state, again, SETTINGS) == (state, None)


@pytest.mark.parametrize("index", [0, FIRST, FIRST + 5])
def test_after_a_step_back_of_the_clock_windows_count_again_but_not_the_first(index: int) -> None:
    state, _, _ = watched(promoted(), after(1.3, 10))
    first, *others = after(0.1, 30, first=index)
    back, alarm = guard(state, first, SETTINGS)
    assert (back, alarm) == (state._replace(last_index=index), None)
    assert watched(back, others)[1] is not None


def test_a_restarted_pod_is_left_out_and_the_others_speak_for_the_arm() -> None:
    state = promoted()
    for index in range(20):
        arms = {BASELINE: (pod(),), SERVING: (pod(SPEED * 1.3), pod(SPEED * 0.01, name="q", restarts=1.0))}
        state, alarm = guard(state, Window(FIRST + index, SECONDS, arms), SETTINGS)
        assert alarm is None
    assert guard_summary(state).ratio == pytest.approx(1.3)


def test_a_third_arm_is_not_looked_at() -> None:
    comparing = Settings(compare_serving=True)
    for each in after(1.3, 20):
        two, _ = guard(promoted(), each, SETTINGS)
        assert guard(promoted(), each, comparing)[0] == two


def test_more_load_on_what_serves_is_no_loss() -> None:
    """Without a weight learned from demand: speed falls as the square root of demand; it has 15 % more."""
    rng, state = random.Random(2), promoted()
    for index in range(2000):
        arms = {}
        for name, share in ((BASELINE, 1.0), (SERVING, 1.15)):
            speed = SPEED * share**-0.5 * math.exp(rng.gauss(0, 0.03))
            arms[name] = (pod(speed, tokens=24_000.0 * share),)
        state, alarm = guard(state, Window(FIRST + index, SECONDS, arms), SETTINGS)
        assert alarm is None


def test_a_weight_learned_from_demand_moves_speed_to_equal_load() -> None:
    state = start_guard(start(SETTINGS, WEIGHED), SETTINGS)
    for index in range(20):
        arms = {BASELINE: (pod(),), SERVING: (pod(SPEED * 1.15**-0.5, tokens=24_000.0 * 1.15),)}
        state, _ = guard(state, Window(FIRST + index, SECONDS, arms), SETTINGS)
    assert guard_summary(state).ratio == pytest.approx(1.15 ** (-1 / 3 + 1 / 3))


@pytest.mark.parametrize("known", [WEIGHED._replace(batch_high=6.0), WEIGHED._replace(weight=0.0)])
def test_where_no_weight_was_learned_speed_is_raw_and_more_load_on_what_serves_is_no_loss(
    known: Learned,
) -> None:
    """At batch 9 and a history up to batch 6, or where the engine's speed did not fall with demand."""
    rng, state = random.Random(2), start_guard(start(SETTINGS, known), SETTINGS)
    for index in range(500):
        arms = {}
        for name, share in ((BASELINE, 1.0), (SERVING, 1.15)):
            speed = SPEED * share**-0.5 * math.exp(rng.gauss(0, 0.02))
            arms[name] = (pod(speed, tokens=24_000.0 * share),)
        state, alarm = guard(state, Window(FIRST + index, SECONDS, arms), SETTINGS)
        assert alarm is None
    assert guard_summary(state).ratio == pytest.approx(1.15**-0.5, rel=0.01)
    assert state.penalty == pytest.approx(2 * math.log(1.15))


def test_a_loss_is_found_beyond_the_batch_where_the_weight_was_learned() -> None:
    rng, alarm = random.Random(2), None
    state = start_guard(start(EXACT, WEIGHED._replace(batch_high=6.0)), EXACT)
    for index in range(100):
        arms = {
            BASELINE: (pod(SPEED * math.exp(rng.gauss(0, 0.02))),),
            SERVING: (pod(SPEED * 0.9**1.5 * math.exp(rng.gauss(0, 0.02)), tokens=21_600.0),),
        }
        state, alarm = guard(state, Window(FIRST + index, SECONDS, arms), EXACT)
        if alarm is not None:
            break
    assert alarm is not None


def test_harm_half_proven_in_the_trial_goes_on_being_proven() -> None:
    ok = pod(server_errors=0.0, http_requests=60.0)
    bad = pod(SPEED * 1.3, server_errors=30.0, http_requests=60.0)
    trial, verdict, _ = judge([Window(i, SECONDS, {BASELINE: (ok,), TRIAL: (bad,)}) for i in range(3)])
    assert verdict is None
    state = start_guard(trial, SETTINGS)
    _, alarm = guard(state, Window(FIRST, SECONDS, {BASELINE: (ok,), SERVING: (bad,)}), SETTINGS)
    assert alarm is not None
    assert alarm.cause == "ServerErrors"


def test_rechecks_that_come_sooner_may_be_brought_forward_sooner() -> None:
    trial = start(SETTINGS)
    assert start_guard(trial, SETTINGS).terms.run_windows == 28_800
    assert start_guard(trial, replace(SETTINGS, recheck_seconds=3600.0)).terms.run_windows == 1200


def test_a_guard_without_a_trials_evidence_starts_carefully() -> None:
    state = start_guard(start(SETTINGS), SETTINGS)
    _, alarm, _ = watched(state, after(1.0, 100))
    assert alarm is None


def test_a_recheck_is_over_when_its_own_windows_prove_it() -> None:
    state, _, _ = watched(promoted(), after(1.3, 100))
    state = start_check(state)
    assert check_outcome(state, 60) is None
    state, _, _ = watched(state, after(1.3, 40, seed=9, first=FIRST + 500))
    outcome = check_outcome(state, 60)
    assert outcome is not None
    assert outcome.result is CheckResult.KEPT
    assert "over the 40 windows of the re-check: still faster than the baseline, kept" in outcome.message


def test_a_recheck_that_proves_nothing_keeps_what_serves() -> None:
    state = start_check(promoted())
    state, alarm, _ = watched(state, after(1.0, 59, seed=5))
    assert (alarm, check_outcome(state, 60)) == (None, None)
    state, _, _ = watched(state, after(1.0, 1, first=FIRST + 59))
    outcome = check_outcome(state, 60)
    assert outcome is not None
    assert outcome.result is CheckResult.UNDECIDED
    assert outcome.message.endswith("neither proven faster nor found slower by the end of the re-check, kept")


def test_a_recheck_goes_on_with_the_evidence_there_was() -> None:
    state, alarm, _ = watched(promoted(), after(0.85, 6, seed=4))
    assert alarm is None
    again = start_check(state)
    assert again.detector == state.detector
    assert again.detector.evidence > 0.001
    again, alarm, looked = watched(again, after(0.85, 200, seed=5, first=FIRST + 1440))
    _, _, looked_anew = watched(start_check(promoted()), after(0.85, 200, seed=5, first=FIRST + 1440))
    assert alarm is not None
    assert looked < looked_anew
    outcome = check_outcome(again, 60)
    assert outcome is not None
    assert outcome.result is CheckResult.SLOWER


def test_a_fall_of_acceptance_without_a_baseline_brings_a_check_forward() -> None:
    rng, state = random.Random(1), promoted()
    for index in range(240):
        acceptance = 0.7 + rng.gauss(0, 0.02)
        both = lonely(FIRST + index, acceptance, SPEED * 1.3)
        state, _ = guard(state, replace(both, arms={**both.arms, BASELINE: (pod(),)}), SETTINGS)
    for index in range(240, 1680):
        state, alarm = guard(state, lonely(FIRST + index, 0.7 + rng.gauss(0, 0.02)), SETTINGS)
        assert (alarm, drifted(state)) == (None, None)
    detector = state.detector
    for index in range(1680, 1700):
        state, _ = guard(state, lonely(FIRST + index, 0.6 + rng.gauss(0, 0.02)), SETTINGS)
    assert drifted(state) == (
        "the acceptance of draft tokens has fallen from 70.2% to 60.5% since the last comparison "
        "with the baseline"
    )
    assert state.detector == detector
    assert drifted(start_check(state)) is None


def test_speed_alone_drifts_only_where_demand_can_be_taken_out() -> None:
    learned = Learned(windows=500, weighed=1, weight=0.3, weight_se=0.01, sd=0.02)
    found = []
    for known in (Learned(), learned):
        rng, state = random.Random(1), start_guard(start(SETTINGS, known), SETTINGS)
        for index in range(100):
            arms = {BASELINE: (pod(),), SERVING: (pod(SPEED * math.exp(0.3 + rng.gauss(0, 0.03))),)}
            state, _ = guard(state, Window(FIRST + index, SECONDS, arms), SETTINGS)
        for index in range(100, 140):
            state, _ = guard(state, lonely(FIRST + index, 0.7, SPEED), SETTINGS)
        found.append(drifted(state))
    assert found == [
        None,
        "the speed at equal demand has fallen to 0.811x of what it was since the last comparison "
        "with the baseline",
    ]


def test_a_guard_beside_speed_raises_the_alarm_with_its_own_cause() -> None:
    state, alarm, index = promoted(), None, FIRST
    while alarm is None and index < FIRST + 50:
        arms = {BASELINE: (pod(requests_waiting=0.0),), SERVING: (pod(SPEED * 1.3, requests_waiting=9.0),)}
        state, alarm = guard(state, Window(index, SECONDS, arms), SETTINGS)
        index += 1
    assert alarm is not None
    assert alarm.cause == "LessCapacity"
    assert alarm.message.startswith("requests waited on its pods in 3 of the last 5 windows")
    assert alarm.numbers.newest == (pytest.approx(1.3), 3)


def test_the_ranges_of_batch_without_proof_are_named() -> None:
    state = promoted()
    assert uncovered(state, (0.1, 0.4, 0.3, 0.2)) == ("16 to 64", "64 and more")
    for index in range(10):
        arms = {BASELINE: (pod(tokens=90_000.0),), SERVING: (pod(SPEED * 1.3, tokens=90_000.0),)}
        state, _ = guard(state, Window(FIRST + index, SECONDS, arms), SETTINGS)
    assert uncovered(state, (0.1, 0.4, 0.3, 0.2)) == ("64 and more",)


@pytest.mark.parametrize(
    ("share", "windows", "said"),
    [
        (0.2, 10, ("16 to 64 (0.950x over 10 windows)",)),
        (0.2, 9, ()),
        (0.19, 10, ()),
    ],
)
def test_a_range_of_batch_with_much_of_the_days_work_in_which_it_is_slower_is_named(
    share: float, windows: int, said: tuple[str, ...]
) -> None:
    state = promoted()
    for index in range(FIRST, FIRST + windows):
        arms = {BASELINE: (pod(tokens=90_000.0),), SERVING: (pod(SPEED * 0.95, tokens=90_000.0),)}
        state, _ = guard(state, Window(index, SECONDS, arms), SETTINGS)
    assert behind(state, (0.1, 0.7 - share, share, 0.2)) == said


def test_the_newest_windows_are_the_last_ten_or_those_in_which_the_evidence_rises() -> None:
    state = promoted(settings=EXACT)
    assert guard_summary(state).newest is None
    state, _, _ = watched(state, after(1.3, 40), EXACT)
    newest = guard_summary(state).newest
    assert newest == (pytest.approx(1.3, rel=0.05), 10)
    state, alarm, _ = watched(state, after(0.8, 40, first=FIRST + 40), EXACT)
    assert alarm is not None
    assert alarm.numbers.newest is not None
    assert alarm.numbers.newest.ratio == pytest.approx(0.8, rel=0.1)
    assert f"the last {alarm.numbers.newest.windows} windows" in alarm.message


def test_a_soak_is_as_long_as_the_guard_needs() -> None:
    state = promoted()
    assert 30 <= windows_to_see(state) <= 160
    assert windows_to_see(state, 0.5) < windows_to_see(state, 0.8) < windows_to_see(state)
    assert windows_to_see(promoted(settings=EXACT)) < windows_to_see(state)
    assert windows_to_see(state, 1.2) == 10_000


def test_a_trial_arm_in_the_window_is_not_what_serves() -> None:
    state = promoted()
    one = next(iter(after(1.3, 1)))
    other = replace(one, arms={**one.arms, TRIAL: (PodWindow("t", 60.0, 1e5, 60.0, 1e6),)})
    assert guard(state, one, SETTINGS) == guard(state, other, SETTINGS)
