"""`python -m benchmarks.decisions`: prints the decision table."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable

from benchmarks.decisions import table
from benchmarks.decisions.cells import SHAPES, STATIONARY, Ends, run, run_replay
from benchmarks.decisions.judges import SETTINGS, SHIPPED, ThisJudge
from benchmarks.decisions.rules import OTHERS, Rule
from specdeploy.judge.history import History

JUDGE = "this judge"
DEFAULTS = "this judge, allowing for 1 % of the pod"
REPLAY = "this judge, out of replay"

WHY = (
    "Why it is later there: short of a disaster this judge decides nothing before 30 windows, since a young "
    "pod is slow,\nand then only what stays true however often one looks."
)


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
    """The tables and the standing of the judge."""
    columns = (*table.COLUMNS, *table.SHAPE_COLUMNS)
    everything = table.rows(results, columns, tuple(RULES))
    stationary = table.rows(results, table.COLUMNS, (*RULES, REPLAY))
    shapes = table.rows(results, table.SHAPE_COLUMNS, tuple(RULES))
    lines = [
        "Stationary, share of the runs (median window), windows of 60 s:",
        table.as_text(table.COLUMNS, stationary),
        "",
        "Wrong verdicts (a good drafter dropped or a bad one promoted):",
        table.as_text(table.SHAPE_COLUMNS, shapes),
        "",
    ]
    alike = {name: row for name, row in everything.items() if name != DEFAULTS}
    behind, rules = table.standing(columns, alike, JUDGE)
    if not behind:
        return "\n".join([*lines, "This judge is ahead of, or level with, every rule in every column."])
    lines += [
        "This judge is ahead of, or level with, every rule in every column but these:",
        *_points(behind),
    ]
    lines += ["What those rules pay for it, errors above 5 %:"]
    lines += _points(f"{rule}: {table.price(columns, everything[rule])}" for rule in rules)
    return "\n".join([*lines, WHY])


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
