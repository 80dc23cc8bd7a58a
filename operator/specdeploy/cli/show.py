"""What the reading commands show: one object's status as text for a terminal. Pure; `rich` draws it."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from specdeploy.api.findings import read_status
from specdeploy.api.reasons import Condition, Outcome
from specdeploy.api.status import Status, TrialStatus, Verdict
from specdeploy.rollout.watch import standing

# The axis of an interval: a quarter to four times the baseline, logarithmic; as wide as there is room for,
# and no picture below the least that tells anything.
_LOW, _HIGH = 0.25, 4.0
_LEAST_AXIS, _ALL_MARKS, _AXIS = 16, 30, 48
_ENDLESS = 10_000
_COLOURS = {
    Outcome.PROMOTED: "green",
    Outcome.RUNNER_UP: "cyan",
    Outcome.SLOWER: "red",
    Outcome.DISASTER: "red",
    Outcome.UNHEALTHY: "red",
    Outcome.GUARDED: "red",
    Outcome.INVALID: "yellow",
}


def listing(objects: Iterable[dict[str, Any]]) -> Table:
    """One line an object, the columns of `kubectl get sd`."""
    table = Table(box=None, header_style="bold")
    for column in ("NAMESPACE", "NAME", "READY", "SERVING", "TRIAL", "SPEEDUP", "REASON"):
        table.add_column(column, no_wrap=True)
    for raw in objects:
        status, _ = read_status(raw.get("status"))
        ready = next((c.reason for c in status.conditions or [] if c.type == "Ready"), "")
        table.add_row(
            raw["metadata"]["namespace"],
            raw["metadata"]["name"],
            status.capacity.summary if status.capacity else "",
            status.serving.name if status.serving else "",
            (status.trial.summary or "") if status.trial else "",
            (status.serving.summary or "") if status.serving else "",
            ready,
        )
    return table


def explanation(raw: dict[str, Any], columns: int) -> RenderableType:
    """Why one object is as it is: the sentence, what is measured now, every verdict with its interval; drawn
    for a terminal of so many columns."""
    status, _ = read_status(raw.get("status"))
    meta, spec = raw["metadata"], raw.get("spec") or {}
    title = Text.assemble(
        (f"{meta['namespace']}/{meta['name']}", "bold"), f"  {spec.get('model', '')}  ", _pods(status)
    )
    parts: list[RenderableType] = [title, Text(status.message or "nothing is known yet"), *_guard(status)]
    rows = [*_trial_rows(status.trial), *(_verdict_row(v) for v in status.verdicts or [])]
    if rows:
        parts += [Text(), _intervals(rows, columns)]
    sentences = [v for v in status.verdicts or [] if v.message]
    if sentences:
        parts += [Text(), *(_sentence(v) for v in sentences)]
    return Group(*parts)


def _guard(status: Status) -> list[RenderableType]:
    """How what serves stands beside the baseline, and whether that is fresh."""
    found = standing(status)
    protected = status.condition(Condition.PROTECTED)
    told = "" if protected is None else f"Protected {protected.status}: {protected.message}"
    if found is None or found.hour is None or status.serving is None:
        return [Text(told)] if told else []
    figures = (
        f"{status.serving.name} is at {found.hour:.2f}x the baseline over the last hour compared; "
        f"evidence that it is slower: {found.evidence:.1%} of what takes it back"
    )
    return [Text(figures), *([Text(told)] if told else [])]


Row = tuple[str, str, str | None, str | None, str | None, str]


def _pods(status: Status) -> str:
    return f"{status.capacity.summary} pods ready" if status.capacity else ""


def _trial_rows(trial: TrialStatus | None) -> list[Row]:
    if trial is None:
        return []
    return [(trial.drafter, str(trial.state), trial.ratio, trial.lower, trial.upper, "blue")]


def _verdict_row(verdict: Verdict) -> Row:
    colour = _COLOURS.get(verdict.outcome, "white")
    return (verdict.drafter, verdict.outcome.value, verdict.ratio, verdict.lower, verdict.upper, colour)


def _sentence(verdict: Verdict) -> Text:
    colour = _COLOURS.get(verdict.outcome, "white")
    return Text.assemble((f"{verdict.time} {verdict.outcome.value}: ", colour), verdict.message or "")


def _intervals(rows: list[Row], columns: int) -> Table:
    texts = [(drafter, verdict, figure(*bounds)) for drafter, verdict, *bounds, _ in rows]
    titles = ("DRAFTER", "VERDICT", "SPEED")
    axis = _axis([titles, *texts], columns)
    table = Table(box=None, header_style="bold", padding=(0, 1), pad_edge=False)
    for title in (*titles[:2], *([axis_labels(axis)] if axis else []), *titles[2:]):
        table.add_column(title, no_wrap=True)
    for (drafter, verdict, speed), (*_, ratio, lower, upper, colour) in zip(texts, rows, strict=True):
        cells: list[RenderableType] = [drafter, Text(verdict, colour), speed]
        if axis:
            bar = interval_bar(axis, _number(ratio), _number(lower), _number(upper))
            cells.insert(2, Text(bar, colour))
        table.add_row(*cells)
    return table


def _axis(texts: Sequence[tuple[str, ...]], columns: int) -> int:
    """Columns that names and figures leave for the picture; 0: too few."""
    gap = 2
    room = columns - sum(max(map(len, each)) + gap for each in zip(*texts, strict=True))
    return 0 if room < _LEAST_AXIS else min(_AXIS, room)


def _number(text: str | None) -> float | None:
    return float(text) if text else None


def figure(ratio: str | None, lower: str | None, upper: str | None) -> str:
    """`1.81x [1.71, 1.92]`, as far as it is known."""
    if ratio is None:
        return "not measured"
    interval = f" [{float(lower):.2f}, {float(upper):.2f}]" if lower and upper else ""
    return f"{float(ratio):.2f}x{interval}"


def axis_labels(width: int) -> str:
    """The scale above bars of so many columns, with as many marks as leave room between them."""
    cells = [" "] * width
    for value in (0.25, 1.0, 4.0) if width < _ALL_MARKS else (0.25, 0.5, 1.0, 2.0, 4.0):
        label = f"{value:g}x"
        at = min(_column(width, value), width - len(label))
        cells[at : at + len(label)] = label
    return "".join(cells)


def interval_bar(width: int, ratio: float | None, lower: float | None, upper: float | None) -> str:
    """An interval on a logarithmic axis; `│` is the baseline, `●` the estimate."""
    cells = ["·"] * width
    if lower is not None and upper is not None:
        for at in range(_column(width, lower), _column(width, upper) + 1):
            cells[at] = "━"
    cells[_column(width, 1.0)] = "│"
    if ratio is not None:
        cells[_column(width, ratio)] = "●"
    return "".join(cells)


def _column(width: int, ratio: float) -> int:
    clipped = min(_HIGH, max(_LOW, ratio))
    share = math.log(clipped / _LOW) / math.log(_HIGH / _LOW)
    return round(share * (width - 1))


def console_for(shown: RenderableType, columns: int) -> Console:
    """A console that cuts no name off: a table that is wider than the terminal goes over its edge, as with
    kubectl."""
    if not isinstance(shown, Table):
        return Console(width=columns)
    endless = Console(width=_ENDLESS)
    return Console(width=max(columns, endless.measure(shown).maximum))
