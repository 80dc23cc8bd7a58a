"""The decision table as text: rows are rules, columns what is asked, and where this judge is ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from benchmarks.decisions.cells import DROPPING, PROMOTING, End, Ends
from benchmarks.decisions.rules import Decision

SAME_SHARE = 1.0
"""Percentage points: shares no further apart count as equal. About the error of 1,000 runs."""
_RULE_WIDTH = 41


class Figure(NamedTuple):
    """A share of the runs in per cent, and for what should be found the median window (None: never found)."""

    share: float
    median: float | None = None


class Column(NamedTuple):
    """`cell` names the streams. `found`: a high share, early, is good; otherwise the share is of errors."""

    title: str
    cell: str
    decisions: frozenset[Decision] | None
    found: bool

    def figure(self, ends: Sequence[End]) -> Figure:
        hits = [end for end in ends if self._counts(end)]
        share = 100 * len(hits) / len(ends)
        return Figure(share, median(end.window for end in hits) if self.found and hits else None)

    def _counts(self, end: End) -> bool:
        return end.wrong if self.decisions is None else end.decision in self.decisions

    def text(self, figure: Figure) -> str:
        if not self.found:
            return f"{figure.share:.1f} %"
        return f"{figure.share:.1f} %" + (f" ({figure.median:.0f})" if figure.median is not None else "")

    def ahead(self, one: Figure, other: Figure) -> bool:
        """Is `one` better than `other`? What is found earlier is better only if it is found as often."""
        if not self.found:
            return one.share < other.share - SAME_SHARE
        if abs(one.share - other.share) > SAME_SHARE:
            return one.share > other.share
        return one.median is not None and (other.median is None or one.median < other.median)


COLUMNS = (
    Column("false rollback 1.00", "1.00", frozenset({Decision.ROLLED_BACK}), found=False),
    Column("false rollback 1.05", "1.05", DROPPING, found=False),
    Column("false promotion 1.00", "1.00", PROMOTING, found=False),
    Column("rollback 0.95", "0.95", DROPPING, found=True),
    Column("rollback 0.90", "0.90", DROPPING, found=True),
    Column("rollback 0.44", "0.44", DROPPING, found=True),
    Column("promotion 1.05", "1.05", PROMOTING, found=True),
    Column("promotion 1.20", "1.20", PROMOTING, found=True),
)
SHAPE_COLUMNS = tuple(
    Column(name, name, None, found=False)
    for name in ("no traffic", "outage", "restart", "unequal load", "growing queue")
)

Results = Mapping[str, Ends]
Row = list[Figure]


def share(ends: Sequence[End], decisions: frozenset[Decision]) -> float:
    """How many of the runs ended so, in per cent."""
    return 100 * sum(end.decision in decisions for end in ends) / len(ends)


def rows(results: Results, columns: Sequence[Column], rules: Sequence[str]) -> dict[str, Row]:
    """The figures of each rule, in the order of the columns; `results` are by cell."""
    return {rule: [column.figure(results[column.cell][rule]) for column in columns] for rule in rules}


def as_text(columns: Sequence[Column], figures: Mapping[str, Row]) -> str:
    """A table of fixed width."""
    titles = [column.title.rpartition(" ") for column in columns]
    width = [max(15, len(first) + 2) for first, _, _ in titles]
    lines = [
        " " * _RULE_WIDTH + "".join(f"{first:>{w}}" for w, (first, _, _) in zip(width, titles, strict=True)),
        " " * _RULE_WIDTH + "".join(f"{last:>{w}}" for w, (_, _, last) in zip(width, titles, strict=True)),
    ]
    for rule, row in figures.items():
        cells = (f"{column.text(f):>{w}}" for column, f, w in zip(columns, row, width, strict=True))
        lines.append(f"{rule:<{_RULE_WIDTH}}" + "".join(cells))
    return "\n".join(lines)


def standing(
    columns: Sequence[Column], figures: Mapping[str, Row], judge: str
) -> tuple[list[str], tuple[str, ...]]:
    """One line for each column in which another rule is ahead of `judge`, and those rules."""
    lines: list[str] = []
    rules: dict[str, str] = {}
    for position, column in enumerate(columns):
        own = figures[judge][position]
        better = {
            rule: column.text(row[position])
            for rule, row in figures.items()
            if rule != judge and column.ahead(row[position], own)
        }
        if better:
            said = "; ".join(f"{rule}: {figure}" for rule, figure in better.items())
            lines.append(f"{column.title}: {column.text(own)} against {said}")
            rules |= better
    return lines, tuple(rules)


def price(columns: Sequence[Column], row: Row) -> str:
    """The errors of a rule that are above 5 %."""
    paid = [
        f"{column.title} {column.text(figure)}"
        for column, figure in zip(columns, row, strict=True)
        if not column.found and figure.share > 5
    ]
    return ", ".join(paid) or "no error above 5 %"
