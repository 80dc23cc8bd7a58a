"""`python -m benchmarks.decisions`: prints the decision table."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable
from itertools import chain

from benchmarks.decisions import table
from benchmarks.decisions.cells import SHAPES, STATIONARY, Ends, run, run_replay
from benchmarks.decisions.judges import SETTINGS, SHIPPED, ThisJudge
from benchmarks.decisions.legend import LEGEND, STANDING, WHY
from benchmarks.decisions.rules import OTHERS, Rule
from specdeploy.judge.history import History

DEFAULTS = "this judge, as shipped"
JUDGE = "this judge, pods known to be alike"
REPLAY = "the same, out of replay"
JUDGES = (DEFAULTS, JUDGE)


def _without_history(make: Callable[[], Rule]) -> Callable[[History], Rule]:
    return lambda _: make()


RULES: dict[str, Callable[[History], Rule]] = {
    **{name: _without_history(make) for name, make in OTHERS.items()},
    DEFAULTS: lambda history: ThisJudge(SHIPPED, history),
    JUDGE: lambda history: ThisJudge(SETTINGS, history),
}


def measure(runs: int) -> dict[str, Ends]:
    """All cells, by name. Says on stderr how far it is."""
    results: dict[str, Ends] = {}
    for cell in (*STATIONARY, *SHAPES):
        began = time.process_time()
        results[cell.name] = run(cell, runs, RULES)
        if cell in STATIONARY:
            results[cell.name][REPLAY] = run_replay(cell, runs, SETTINGS)
        print(f"  {cell.name}: {time.process_time() - began:.0f} s", file=sys.stderr, flush=True)
    return results


def show(results: dict[str, Ends]) -> str:
    """How to read the tables, the tables, and the standing of the judge, as shipped and among equals."""
    stationary = table.rows(results, table.COLUMNS, (*RULES, REPLAY))
    shapes = table.rows(results, table.SHAPE_COLUMNS, tuple(RULES))
    lines = [
        LEGEND,
        "",
        "Nothing but noise, by the true ratio: share of the runs (median window of those)",
        table.as_text(table.COLUMNS, stationary),
        "",
        "With a fault: share of the runs with a wrong verdict",
        table.as_text(table.SHAPE_COLUMNS, shapes),
        "",
        STANDING,
        "",
        *chain.from_iterable(_standing(results, judge) for judge in JUDGES),
    ]
    return "\n".join([*lines, WHY])


def _standing(results: dict[str, Ends], judge: str) -> list[str]:
    """Where `judge` is behind another rule, and what that rule pays for it."""
    columns = (*table.COLUMNS, *table.SHAPE_COLUMNS)
    rows = table.rows(results, columns, (judge, *OTHERS))
    behind, ahead = table.standing(columns, rows, judge)
    if not behind:
        return [f"{judge} is ahead of, or level with, every rule in every column.", ""]
    return [
        f"{judge} is ahead of, or level with, every rule in every column but these:",
        *_points(behind),
        "Errors above 5 % of the rules that are ahead there:",
        *_points(f"{rule}: {table.price(columns, rows[rule])}" for rule in ahead),
        "",
    ]


def _points(texts: Iterable[str]) -> list[str]:
    return [f"  - {text}" for text in texts]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decisions", description=__doc__)
    parser.add_argument(
        "--runs", type=int, default=int(os.environ.get("SPECDEPLOY_RUNS", "1000")), help="runs a cell"
    )
    runs = parser.parse_args().runs
    if runs < 2:
        parser.error("--runs must be 2 or more")
    print(show(measure(runs)))
    print(f"{runs} runs a cell, {time.process_time():.0f} s of one core")
    return 0


if __name__ == "__main__":
    sys.exit(main())
