"""What is asked of the rules: streams with a known truth, and what would be a wrong verdict on each."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from benchmarks.decisions import streams
from benchmarks.decisions.judges import SETTINGS, WINDOWS, decision_of, record, replayed
from benchmarks.decisions.rules import Decision, Rule
from specdeploy.judge import BASELINE, TRIAL, Settings, Window
from specdeploy.judge.history import History, remember

PROMOTING = frozenset({Decision.PROMOTED})
DROPPING = frozenset({Decision.ROLLED_BACK, Decision.NOT_WORTH_IT})
GOOD, BAD = 1.20, 0.90


class Variant(NamedTuple):
    """A kind of stream: the true ratio, the fault, and the wrong verdicts."""

    ratio: float
    wrong: frozenset[Decision]
    fault: streams.Fault = streams.nothing


class Cell(NamedTuple):
    """A name and its variants; run n is of variant n modulo their number."""

    name: str
    variants: tuple[Variant, ...]

    def windows(self, run: int) -> Iterator[Window]:
        """The stream of one run, history first: always the same for the same cell and run."""
        variant = self.variant(run)
        rng = random.Random(f"{self.name} {run}")  # noqa: S311
        return streams.stream(rng, variant.ratio, variant.fault, WINDOWS)

    def variant(self, run: int) -> Variant:
        return self.variants[run % len(self.variants)]


class End(NamedTuple):
    """How a run ended under a rule: the decision, the window (from 1), and whether it was wrong."""

    decision: Decision
    window: int
    wrong: bool


Ends = dict[str, list[End]]


def stationary(ratio: float) -> Cell:
    """Nothing but noise. At 1.00 a drafter may be dropped, but must not be called slower."""
    if ratio == 1:
        wrong = frozenset({Decision.PROMOTED, Decision.ROLLED_BACK})
    else:
        wrong = DROPPING if ratio > 1 else PROMOTING
    return Cell(f"{ratio:.2f}", (Variant(ratio, wrong),))


def _both_ways(name: str, on_good: streams.Fault, on_bad: streams.Fault) -> Cell:
    return Cell(name, (Variant(GOOD, DROPPING, on_good), Variant(BAD, PROMOTING, on_bad)))


STATIONARY = tuple(stationary(ratio) for ratio in (1.00, 1.05, 0.95, 0.90, 0.44, 1.20))
SHAPES = (
    _both_ways("no traffic", streams.no_traffic, streams.no_traffic),
    _both_ways("outage", streams.outage, streams.outage),
    _both_ways("restart", streams.restart(TRIAL), streams.restart(BASELINE)),
    Cell("unequal load", (Variant(BAD, PROMOTING, streams.unequal_load),)),
    Cell("growing queue", (Variant(1.0, PROMOTING, streams.growing_queue),)),
)


def run(cell: Cell, runs: int, rules: Mapping[str, Callable[[History], Rule]]) -> Ends:
    """Lets every rule decide on the same `runs` streams; it is made with the baseline's history."""
    ends: Ends = {name: [] for name in rules}
    for number in range(runs):
        wrong = cell.variant(number).wrong
        windows = cell.windows(number)
        history = History()
        for window in islice(windows, streams.HISTORY):
            history = remember(history, window, SETTINGS)
        waiting = {name: make(history) for name, make in rules.items()}
        for count, window in enumerate(windows, 1):
            for name, rule in list(waiting.items()):
                decision = rule.look(window)
                if decision is not None:
                    ends[name].append(End(decision, count, decision in wrong))
                    del waiting[name]
            if not waiting:
                break
        for name, rule in waiting.items():
            decision = rule.end()
            ends[name].append(End(decision, WINDOWS, decision in wrong))
    return ends


def run_replay(cell: Cell, runs: int, settings: Settings) -> list[End]:
    """The same streams, recorded in a file and judged by replay, in the order of the runs."""
    with tempfile.TemporaryFile() as file:
        record(file, ((str(number), cell.windows(number)) for number in range(runs)))
        file.seek(0)
        found = {int(ended.trial): ended for ended in replayed(file, settings)}
    ends = []
    for number in range(runs):
        decision = decision_of(found[number].verdict)
        window = found[number].window - streams.HISTORY + 1
        ends.append(End(decision, window, decision in cell.variant(number).wrong))
    return ends
