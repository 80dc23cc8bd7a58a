"""The judge's bars out of recorded files, at a size that CI can bear."""

from statistics import median

import pytest

from benchmarks.decisions.cells import DROPPING, End, run, run_replay, stationary
from benchmarks.decisions.judges import SETTINGS, ThisJudge
from benchmarks.decisions.rules import Decision

RUNS = 200

pytestmark = pytest.mark.slow


def share(ends: list[End], decisions: frozenset[Decision]) -> float:
    return sum(end.decision in decisions for end in ends) / len(ends)


def windows(ends: list[End], decisions: frozenset[Decision]) -> list[int]:
    return [end.window for end in ends if end.decision in decisions]


def test_a_drafter_worth_nothing_is_seldom_called_slower_or_promoted() -> None:
    ends = run_replay(stationary(1.00), RUNS, SETTINGS)
    assert share(ends, frozenset({Decision.ROLLED_BACK})) <= 0.05
    assert share(ends, frozenset({Decision.PROMOTED})) <= 0.05


def test_a_loser_of_ten_percent_is_dropped() -> None:
    ends = run_replay(stationary(0.90), RUNS, SETTINGS)
    assert share(ends, DROPPING) >= 0.99
    assert median(windows(ends, DROPPING)) <= 31


def test_a_disaster_is_out_in_three_windows_and_always_in_five() -> None:
    ends = run_replay(stationary(0.44), RUNS, SETTINGS)
    found = windows(ends, frozenset({Decision.ROLLED_BACK}))
    assert sum(window <= 3 for window in found) >= 0.99 * RUNS
    assert len(found) == RUNS
    assert max(found) <= 5


def test_replay_decides_as_the_functions_do() -> None:
    cell = stationary(1.05)
    by_functions = run(cell, 50, {"judge": lambda history: ThisJudge(SETTINGS, history)})["judge"]
    assert run_replay(cell, 50, SETTINGS) == by_functions
