"""The judge's stationary bars out of recorded files, the history in the same file: one row a bar.

The runs and the allowance for the luck of few are those of the judge's own bars. Windows are those of the
trial, from 1, evidence or not.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from statistics import median

import pytest

from benchmarks.decisions.cells import DROPPING, PROMOTING, End, run, run_replay, stationary
from benchmarks.decisions.judges import SETTINGS, SHIPPED, ThisJudge
from benchmarks.decisions.rules import Decision
from specdeploy.judge import Settings
from tests.judge.test_bars import RUNS, luck

pytestmark = pytest.mark.slow


def decided(*decisions: Decision) -> Callable[[End], bool]:
    return lambda end: end.decision in decisions


def out_by(window: int) -> Callable[[End], bool]:
    return lambda end: end.decision is Decision.ROLLED_BACK and end.window <= window


CALLED_SLOWER, PROMOTED, RETIRED = decided(Decision.ROLLED_BACK), decided(*PROMOTING), decided(*DROPPING)


@dataclass(frozen=True)
class Bar:
    """At most or at least a share of the trials at `ratio` counts; those that count end by window `by`
    (median)."""

    name: str
    ratio: float
    counts: Callable[[End], bool]
    most: float = 1.0
    least: float = 0.0
    by: float = math.inf
    settings: Settings = SETTINGS


BARS = [
    Bar("1.00 called slower", 1.00, CALLED_SLOWER, most=0.035),
    Bar("1.00 promoted", 1.00, PROMOTED, most=0.035),
    Bar("1.05 retired", 1.05, RETIRED, most=0.005),
    Bar("0.95 retired", 0.95, RETIRED, least=0.98, by=45),
    Bar("0.90 retired", 0.90, RETIRED, least=0.99, by=31),
    Bar("1.20 promoted", 1.20, PROMOTED, least=0.99, by=40),
    Bar("0.44 out in 3", 0.44, out_by(3), least=0.99),
    Bar("0.44 out in 5", 0.44, out_by(5), least=1.0),
    Bar("shipped, 1.00 called slower", 1.00, CALLED_SLOWER, most=0.02, settings=SHIPPED),
    Bar("shipped, 1.00 promoted", 1.00, PROMOTED, most=0.015, settings=SHIPPED),
    Bar("shipped, 0.90 retired", 0.90, RETIRED, least=0.98, settings=SHIPPED),
]


@cache
def ends_of(ratio: float, settings: Settings) -> list[End]:
    """The same recordings are judged once, whatever is counted in them."""
    return run_replay(stationary(ratio), RUNS, settings)


@pytest.mark.parametrize("bar", BARS, ids=lambda bar: bar.name)
def test_the_judge_reaches_its_bar_out_of_a_recorded_file(bar: Bar) -> None:
    ends = ends_of(bar.ratio, bar.settings)
    counted = [end for end in ends if bar.counts(end)]
    typical = median(end.window for end in counted) if counted else math.inf
    print(f"{bar.name}: {len(counted) / len(ends):.2%} of {len(ends)}, median window {typical:g}")
    assert len(counted) <= luck(bar.most, len(ends))
    assert len(ends) - len(counted) <= luck(1 - bar.least, len(ends))
    assert math.isinf(bar.by) or typical <= bar.by


def test_replay_decides_as_the_functions_do() -> None:
    cell = stationary(1.05)
    by_functions = run(cell, 50, {"judge": lambda history: ThisJudge(SETTINGS, history)})["judge"]
    assert run_replay(cell, 50, SETTINGS) == by_functions
