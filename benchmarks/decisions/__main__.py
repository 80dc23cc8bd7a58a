"""`python -m benchmarks.decisions`: prints the decision table."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable

from benchmarks.decisions import table
from benchmarks.decisions.cells import SHAPES, STATIONARY, Ends, run, run_replay
from benchmarks.decisions.judges import SETTINGS, SHIPPED, ThisJudge
from benchmarks.decisions.legend import LEGEND, STANDING, WHY, points
from benchmarks.decisions.rules import OTHERS, Decision, Rule
from specdeploy.judge.history import History

DEFAULTS = "this judge, as shipped"
JUDGE = "this judge, pods known to be alike"
REPLAY = "the same, out of replay"
JUDGES = (DEFAULTS, JUDGE)
NOT_WORTH_IT = frozenset({Decision.NOT_WORTH_IT})


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
        *points([_not_worth_it(results)]),
        "",
        "With a fault: share of the runs with a wrong verdict",
        table.as_text(table.SHAPE_COLUMNS, shapes),
        "",
        STANDING,
        *_standing(results),
        WHY,
    ]
    return "\n".join(lines)


def _not_worth_it(results: dict[str, Ends]) -> str:
    """What becomes of a drafter that gains nothing: no column has it, since only this judge has the word."""
    shares = (f"{table.share(results['1.00'][judge], NOT_WORTH_IT):.1f} % ({judge})" for judge in JUDGES)
    return f'dropped at 1.00 as "not worth it", which no other rule can say: {", ".join(shares)}'


def _standing(results: dict[str, Ends]) -> list[str]:
    """Where each of the judge's rows is behind other rules, and what those rules pay for it."""
    columns = (*table.COLUMNS, *table.SHAPE_COLUMNS)
    rows = table.rows(results, columns, tuple(RULES))
    lines: list[str] = []
    ahead: dict[str, None] = {}
    for judge in JUDGES:
        others = {rule: rows[rule] for rule in (judge, *OTHERS)}
        behind, rules = table.standing(columns, others, judge)
        ahead |= dict.fromkeys(rules)
        lines += ["", f'"{judge}" is behind nowhere.' if not behind else f'"{judge}" is behind here:']
        lines += points(behind)
    if ahead:
        lines += ["", "What the rules that are ahead somewhere pay for it, errors above 5 %:"]
        lines += points(f"{rule}: {table.price(columns, rows[rule])}" for rule in ahead)
    return [*lines, ""]


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
