"""Verdicts from evidence: the ordinary ways in which a trial ends."""

import math
import random

import pytest

from specdeploy.judge import (
    BASELINE,
    SERVING,
    TRIAL,
    Learned,
    Outcome,
    Settings,
    Verdict,
    Window,
    expire,
    forget_serving,
    observe,
    pack,
    start,
    summary,
    unpack,
)
from specdeploy.judge.comparison import Comparison
from specdeploy.judge.decide import CHECKS, case_of, decide, missing
from specdeploy.judge.noise import Sums
from tests.judge.windows import SPEED, judge, noisy_windows, pod, window

WOBBLE = (0.03, -0.02, 0.01, -0.03, 0.02, -0.01)
CALM = Settings(pod_sd=0.0)


def test_what_was_compared_with_another_serving_drafter_is_forgotten_the_baseline_is_not() -> None:
    comparing = Settings(pod_sd=0.0, compare_serving=True)
    state, _, _ = judge(around(1.3, 20, serving=1.28), comparing)
    fresh = forget_serving(state)
    assert summary(state).serving is not None
    assert summary(fresh).serving is None
    assert fresh.baseline == state.baseline
    assert unpack(pack(fresh)) == fresh


def around(
    ratio: float, count: int = 240, *, serving: float | None = None, seconds: float = 60.0
) -> list[Window]:
    """A calm trial: the ratio wobbles by a few percent around its mean."""
    return [
        window(index, ratio * math.exp(WOBBLE[index % 6]), serving=serving, seconds=seconds)
        for index in range(count)
    ]


def ended(windows: list[Window], settings: Settings) -> tuple[Outcome | None, str, int]:
    _, verdict, looked = judge(windows, settings)
    return (verdict.outcome, verdict.reason, looked) if verdict else (None, "", looked)


@pytest.mark.parametrize(
    ("ratio", "settings", "outcome", "reason", "looked"),
    [
        (1.20, CALM, Outcome.PROMOTED, "ProvenFaster", 30),
        (2.87, CALM, Outcome.PROMOTED, "ProvenFaster", 30),
        (1.00, CALM, Outcome.NOT_WORTH_IT, "BelowMinimumEffect", 30),
        (0.95, CALM, Outcome.SLOWER, "SlowerThanBaseline", 30),
        (0.80, CALM, Outcome.SLOWER, "SlowerThanBaseline", 10),
        (0.44, CALM, Outcome.DISASTER, "FarSlowerThanBaseline", 2),
        # proven faster, but by less than a promotion must be worth
        (1.06, Settings(pod_sd=0.01, minimum_effect=0.08), None, "", 200),
        # two pods of a kind may differ by more than this
        (1.03, Settings(pod_sd=0.05), None, "", 200),
    ],
)
def test_a_trial_ends_as_its_ratio_says(
    ratio: float, settings: Settings, outcome: Outcome | None, reason: str, looked: int
) -> None:
    assert ended(around(ratio, 200), settings) == (outcome, reason, looked)


@pytest.mark.parametrize(("seconds", "looked"), [(60.0, 30), (120.0, 15)])
def test_long_windows_need_fewer_of_them(seconds: float, looked: int) -> None:
    settings = Settings(pod_sd=0.0, window_seconds=seconds)
    assert ended(around(1.6, seconds=seconds), settings) == (Outcome.PROMOTED, "ProvenFaster", looked)


def test_a_later_attempt_must_be_proven_more_firmly() -> None:
    def promoted_after(attempt: int) -> int:
        windows = noisy_windows(random.Random(5), 1.1, 240)
        _, verdict, looked = judge(windows, Settings(pod_sd=0.0, attempt=attempt))
        assert verdict is not None
        assert verdict.outcome is Outcome.PROMOTED
        return looked

    assert promoted_after(30) > promoted_after(1)


def test_a_promotion_tells_its_numbers() -> None:
    _, verdict, _ = judge(around(1.2), CALM)
    assert verdict is not None
    numbers = verdict.numbers
    assert numbers.ratio == pytest.approx(1.2, rel=1e-3)
    assert numbers.lower is not None
    assert numbers.upper is not None
    assert 1.1 < numbers.lower < numbers.ratio < numbers.upper
    assert (numbers.windows_used, numbers.windows_seen, numbers.measured_seconds) == (30, 30, 1800.0)
    assert verdict.message == (
        f"1.200x [{numbers.lower:.3f}, {numbers.upper:.3f}] the baseline's decode speed over 30 windows "
        "at batch 8.0: proven faster (the lower end is above 1), and its mean above the 3% asked for, "
        "promoted"
    )


def test_a_young_pods_slowness_that_fades_retires_nobody() -> None:
    fading = [
        window(index, 1.05 * math.exp(0.3 * WOBBLE[index % 6] + math.log(0.9) * max(0.0, 1 - index / 30)))
        for index in range(240)
    ]
    assert ended(fading, CALM)[0] is Outcome.PROMOTED


@pytest.mark.parametrize(
    ("whole", "recent", "outcome"),
    [
        (0.96, 0.96, Outcome.SLOWER),
        (0.96, 1.05, None),
        (1.005, 1.005, Outcome.NOT_WORTH_IT),
        (1.005, 1.05, None),
        (0.80, 1.05, Outcome.SLOWER),
    ],
)
def test_short_of_a_clear_loss_the_recent_half_must_agree(
    whole: float, recent: float, outcome: Outcome | None
) -> None:
    def sums(ratio: float, count: int) -> Sums:
        result = Sums()
        for index in range(count):
            value = math.log(ratio) + WOBBLE[index % 6]
            result = result.add(value, None)
        return result

    everything = sums(whole, 60)
    comparison = Comparison(whole=everything, half=everything.since(sums(recent, 30)))
    verdict = decide(start(CALM)._replace(baseline=comparison), CALM)
    assert (verdict.outcome if verdict else None) is outcome


@pytest.mark.parametrize(
    ("ratio", "serving", "outcome", "reason"),
    [
        (1.6, 1.3, Outcome.PROMOTED, "ProvenFaster"),
        (1.3, 1.6, Outcome.RUNNER_UP, "SlowerThanServing"),
        (1.31, 1.3, Outcome.RUNNER_UP, "BelowMinimumEffectAgainstServing"),
        (1.02, 1.6, Outcome.NOT_WORTH_IT, "SlowerThanServing"),
        (0.8, 1.3, Outcome.SLOWER, "SlowerThanBaseline"),
        (0.4, 1.3, Outcome.DISASTER, "FarSlowerThanBaseline"),
    ],
)
def test_beside_a_serving_drafter_a_trial_must_beat_both(
    ratio: float, serving: float, outcome: Outcome, reason: str
) -> None:
    comparing = Settings(pod_sd=0.0, compare_serving=True)
    _, verdict, _ = judge(around(ratio, serving=serving), comparing)
    assert verdict is not None
    assert (verdict.outcome, verdict.reason) == (outcome, reason)
    if outcome is not Outcome.DISASTER:
        assert "that of what serves" in verdict.message
        assert verdict.numbers.serving is not None
        assert verdict.numbers.serving.ratio == pytest.approx(ratio / serving, rel=0.02)


def test_a_loser_to_what_serves_is_waited_for_while_it_looks_faster_than_the_baseline() -> None:
    comparing = Settings(pod_sd=0.0, compare_serving=True)
    state, verdict, looked = judge(around(1.3, 29, serving=1.6), comparing)
    assert (verdict, looked) == (None, 29)
    against_serving = summary(state).serving
    assert against_serving is not None
    assert against_serving.upper is not None
    assert against_serving.upper < 0.9


@pytest.mark.parametrize(
    ("windows", "settings", "outcome", "reason"),
    [
        (around(1.03, 40), Settings(pod_sd=0.03), Outcome.INCONCLUSIVE, "DeadlineReached"),
        (
            around(1.30, 40, serving=1.28),
            Settings(pod_sd=0.02, compare_serving=True),
            Outcome.RUNNER_UP,
            "NotProvenAgainstServing",
        ),
    ],
)
def test_at_the_deadline_what_is_not_proven_is_not_promoted(
    windows: list[Window], settings: Settings, outcome: Outcome, reason: str
) -> None:
    timed = Settings(
        pod_sd=settings.pod_sd, compare_serving=settings.compare_serving, deadline_seconds=40 * 60.0
    )
    assert ended(windows[:39], timed)[0] is None
    assert ended(windows, timed) == (outcome, reason, 40)
    state, _, _ = judge(windows[:39], timed)
    assert expire(state, timed).outcome is outcome


def test_a_trial_that_expires_without_evidence_says_so_and_what_to_do() -> None:
    quiet = [Window(index, 60.0, {}) for index in range(3)]
    state, verdict, _ = judge(quiet)
    assert verdict is None
    expired = expire(state, Settings())
    assert (expired.outcome, expired.reason) == (Outcome.INCONCLUSIVE, "DeadlineReached")
    assert expired.message == (
        "no window was evidence by the deadline (skipped: 3 NoData), not promoted; "
        "check that the pods are ready and that their /metrics can be read"
    )
    assert "no window was seen" in expire(start(Settings()), Settings()).message


def test_an_undecided_trial_says_what_the_pods_may_differ_by() -> None:
    _, verdict, _ = judge(around(1.03, 40), Settings(pod_sd=0.01, deadline_seconds=2400.0))
    assert isinstance(verdict, Verdict)
    assert "pods of the same kind may differ by 3.3%" in verdict.message


@pytest.mark.parametrize(
    "wrong",
    [
        {"window_seconds": 0.0},
        {"window_seconds": math.inf},
        {"minimum_effect": -0.1},
        {"minimum_effect": math.nan},
        {"confidence": 1.0},
        {"confidence": 0.2},
        {"deadline_seconds": 0.0},
        {"warmup_seconds": -1.0},
        {"pod_sd": -0.01},
        {"attempt": 0},
    ],
)
def test_settings_with_which_nothing_could_be_judged_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} is out of range"):
        Settings(**wrong)  # type: ignore[arg-type]


def test_a_band_that_loses_to_what_serves_makes_a_runner_up() -> None:
    windows = []
    for index in range(120):
        tokens, trial, serving = (96000.0, 1.3, 1.5) if index % 3 else (6000.0, 4.0, 1.0)
        speeds = {BASELINE: 1.0, TRIAL: trial * math.exp(WOBBLE[index % 6]), SERVING: serving}
        arms = {name: (pod(SPEED * speed, tokens=tokens),) for name, speed in speeds.items()}
        windows.append(Window(index, 60.0, arms))
    comparing = Settings(pod_sd=0.0, compare_serving=True)
    _, verdict, _ = judge(windows, comparing)
    assert verdict is not None
    assert (verdict.outcome, verdict.reason) == (Outcome.RUNNER_UP, "SlowerThanServingInBand")
    assert "at batch 16 to 64" in verdict.message


def test_a_deadline_under_a_mismatch_promotes_nothing() -> None:
    """What was proven, and held back by a pause, is not promoted after the load went apart."""
    settings = Settings(pod_sd=0.0)
    state, verdict, _ = judge(around(1.3), settings)
    assert expire(state, settings).outcome is Outcome.PROMOTED
    for index in range(30, 60):
        arms = {BASELINE: (pod(),), TRIAL: (pod(SPEED * 1.3, tokens=2400, first=6),)}
        state, verdict = observe(state, Window(index, 60.0, arms), settings)
    assert verdict is None
    expired = expire(state, settings)
    assert expired.outcome is Outcome.INCONCLUSIVE
    assert "LoadMismatch" in expired.message
    assert "it lacks arms that carry the same load" in expired.message


@pytest.mark.parametrize("pod_sd", [0.0, 0.01])
@pytest.mark.parametrize("ratio", [0.92, 1.0, 1.04, 1.15])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_a_window_that_is_spared_the_interval_would_not_have_decided(
    ratio: float, pod_sd: float, confidence: float
) -> None:
    """The short cut before the interval changes no verdict: all checks together say nothing either."""
    settings = Settings(pod_sd=pod_sd, confidence=confidence)
    state = start(settings, Learned(windows=60))
    for each in noisy_windows(random.Random(ratio), ratio, 80, sd=0.03):
        state, verdict = observe(state, each, settings)
        case = case_of(state, settings)
        assert verdict == next((found for check in CHECKS if (found := check(case)) is not None), None)
        if verdict is not None:
            break


@pytest.mark.parametrize(
    ("ratio", "windows", "words"),
    [
        (1.3, 12, "18 more windows"),
        (1.3, 40, "more windows of the baseline, as it is below 1.5x"),
        (1.01, 70, "a mean of 3% above 1"),
        (2.0, 29, "1 more window"),
    ],
)
def test_what_a_promotion_still_lacks_is_told(ratio: float, windows: int, words: str) -> None:
    """Guards against a trial that stands at 40/30 windows and does not say what it waits for."""
    state, settings = start(Settings(pod_sd=0.0, deadline_seconds=1e6)), Settings(pod_sd=0.0)
    for index in range(windows):
        arms = {BASELINE: (pod(),), TRIAL: (pod(SPEED * ratio),)}
        state, _ = observe(state, Window(index, 60.0, arms), settings)
    assert words in missing(state, settings)
