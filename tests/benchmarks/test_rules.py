"""Each rule does what its source says, on series made by hand."""

import math
from collections.abc import Sequence

import pytest

from benchmarks.decisions.rules import (
    OTHERS,
    Argo,
    Decision,
    Flagger,
    Kayenta,
    PairedT,
    Rule,
    at_least,
    not_below,
    speed_ratio,
)
from specdeploy.judge import BASELINE, TRIAL, PodWindow, Window

SPEED = 50.0
NO_TRAFFIC, NO_ANSWER = math.nan, None
PROMOTED, ROLLED_BACK = Decision.PROMOTED, Decision.ROLLED_BACK


def pod(speed: float) -> PodWindow:
    return PodWindow("p", 60.0, 24060.0, 60.0, 24000.0 / speed)


IDLE = PodWindow("p", 60.0, 0.0, 0.0, 0.0)


def window(index: int, ratio: float | None, speed: float = SPEED) -> Window:
    """The trial at `ratio` times the baseline's speed; NaN: nobody asks for anything, None: no answer."""
    if ratio is None:
        return Window(index, 60.0, {})
    if math.isnan(ratio):
        return Window(index, 60.0, {BASELINE: (IDLE,), TRIAL: (IDLE,)})
    return Window(index, 60.0, {BASELINE: (pod(speed),), TRIAL: (pod(speed * ratio),)})


def decide(rule: Rule, ratios: Sequence[float | None]) -> tuple[Decision, int]:
    """What the rule says, and after how many windows."""
    for index, ratio in enumerate(ratios):
        decision = rule.look(window(index, ratio))
        if decision is not None:
            return decision, index + 1
    return rule.end(), len(ratios)


def test_the_query_divides_the_two_arms() -> None:
    assert speed_ratio(window(0, 1.25)) == pytest.approx(1.25)
    assert math.isnan(speed_ratio(window(0, NO_TRAFFIC)) or 0.0)
    assert speed_ratio(window(0, NO_ANSWER)) is None
    assert speed_ratio(Window(0, 60.0, {BASELINE: (pod(SPEED),)})) is None


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        ([1.0] * 3, (PROMOTED, 3)),
        ([1.0, 0.94], (ROLLED_BACK, 2)),
        ([NO_TRAFFIC], (ROLLED_BACK, 1)),
        ([1.0, 1.0], (Decision.UNDECIDED, 2)),
    ],
)
def test_argo_with_a_success_condition_fails_on_one_bad_minute_and_on_none(
    ratios: list[float | None], expected: tuple[Decision, int]
) -> None:
    assert decide(Argo(at_least(0.95), count=3), ratios) == expected


def test_argo_with_only_a_failure_condition_passes_on_nan() -> None:
    """PD-01 turned round: a rate of 0/0 is no failure, so nothing measured is a pass."""
    assert decide(Argo(not_below(0.95), count=5), [NO_TRAFFIC] * 5) == (PROMOTED, 5)


def test_argo_counts_failures_for_ever_and_aborts_above_the_limit() -> None:
    """PD-18: a flaky metric fails a release, however far its failures lie apart."""
    ratios = [0.9, 1.2, 1.2, 0.9, 1.2, 1.2, 0.9]
    assert decide(Argo(at_least(0.95), count=30, failure_limit=2), ratios) == (ROLLED_BACK, 7)
    assert decide(Argo(at_least(0.95), count=7, failure_limit=3), ratios) == (PROMOTED, 7)


def test_argo_aborts_after_one_minute_without_an_answer() -> None:
    """PD-03 and PD-23: five tries ten seconds apart are less than a restart of Prometheus."""
    assert decide(Argo(not_below(0.95), count=30, failure_limit=3), [1.2, NO_ANSWER]) == (ROLLED_BACK, 2)


@pytest.mark.parametrize("strike", [0.99, NO_TRAFFIC, NO_ANSWER])
def test_for_flagger_a_bad_value_no_traffic_and_no_answer_are_the_same_strike(strike: float | None) -> None:
    """PD-05 and PD-24."""
    ratios = [1.2, strike] * 5
    assert decide(Flagger(1.0), ratios) == (ROLLED_BACK, 10)
    assert decide(Flagger(1.0, threshold=6), ratios) == (Decision.UNDECIDED, 10)


def test_flagger_promotes_after_its_iterations_however_many_strikes_came_between() -> None:
    assert decide(Flagger(1.0), [1.01, 0.5] * 4 + [1.01] * 6) == (PROMOTED, 14)


def series(ratio: float, count: int) -> list[float | None]:
    """Ratios around `ratio` that swing by 5 % from window to window."""
    return [ratio * (1.05 if index % 2 else 1 / 1.05) for index in range(count)]


@pytest.mark.parametrize(("ratio", "expected"), [(0.85, ROLLED_BACK), (1.0, PROMOTED), (1.2, PROMOTED)])
def test_kayenta_promotes_all_that_is_not_proven_slower(ratio: float, expected: Decision) -> None:
    assert decide(Kayenta((60,)), series(ratio, 60)) == (expected, 60)


def test_kayenta_passes_a_shift_that_it_cannot_tell_precisely() -> None:
    """The interval must lie beyond a quarter of the estimate: few points say nothing, and that is a pass."""
    assert decide(Kayenta((4,)), series(0.5, 4)) == (PROMOTED, 4)


def test_kayenta_leaves_out_minutes_without_a_value() -> None:
    ratios = [*series(1.0, 5), *[NO_TRAFFIC] * 25, *[NO_ANSWER] * 25, *series(1.0, 5)]
    assert decide(Kayenta((60,)), ratios) == (PROMOTED, 60)


def test_kayenta_without_any_value_of_its_only_metric_has_a_score_of_zero() -> None:
    assert decide(Kayenta((30, 60)), [NO_TRAFFIC] * 60) == (ROLLED_BACK, 30)


def test_kayenta_judges_the_growing_series_and_fails_at_the_first_look_that_fails() -> None:
    assert decide(Kayenta((30, 90)), [*series(1.0, 30), *series(0.5, 60)]) == (ROLLED_BACK, 90)


def test_kayenta_passes_a_drafter_that_has_lost_half_its_speed_for_half_of_the_time() -> None:
    """PD-08: the shift of the ranks, not what users got, decides."""
    assert decide(Kayenta((30, 60)), [*series(1.0, 30), *series(0.5, 30)]) == (PROMOTED, 60)


@pytest.mark.parametrize(("ratio", "expected"), [(1.2, PROMOTED), (0.8, ROLLED_BACK)])
def test_the_paired_test_decides_at_its_first_look_where_the_difference_is_large(
    ratio: float, expected: Decision
) -> None:
    assert decide(PairedT(), series(ratio, 60)) == (expected, 5)


def test_the_paired_test_leaves_out_what_has_no_value_and_may_end_undecided() -> None:
    ratios = [*series(1.0, 10), NO_TRAFFIC, NO_ANSWER]
    assert decide(PairedT(), ratios) == (Decision.UNDECIDED, 12)


def test_every_rule_of_the_table_starts_afresh_for_each_trial() -> None:
    for make in OTHERS.values():
        assert decide(make(), series(1.5, 120)) == decide(make(), series(1.5, 120))
