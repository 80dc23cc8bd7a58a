"""A simulated rollout for a terminal: timeline, windows, verdicts, speeds. `rich` draws it."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from specdeploy.api.names import BASELINE
from specdeploy.api.reasons import Outcome
from specdeploy.cli.show import figure
from specdeploy.simulation import report
from specdeploy.simulation.fleet import OPERATOR, ORACLE
from specdeploy.simulation.record import Change, Lap, Run
from specdeploy.simulation.scenario import Scenario

_COLOURS = {Outcome.PROMOTED: "green", Outcome.RUNNER_UP: "cyan", Outcome.INCONCLUSIVE: "yellow"}


def listing(listed: list[dict[str, str]]) -> RenderableType:
    """The shipped scenarios, one line each."""
    table = Table(box=None, header_style="bold")
    table.add_column("SCENARIO", no_wrap=True)
    table.add_column("WHAT HAPPENS")
    for each in listed:
        table.add_row(each["name"], each["description"])
    return table


def whole(run: Run, *, windows: bool) -> RenderableType:
    """Everything that happened; `windows`: with a table of them all."""
    parts: list[RenderableType] = [_title(run.scenario), Text(), _timeline(run)]
    if windows:
        parts += [Text(), _windows(run)]
    return Group(*parts, Text(), *_summary(run))


def _title(scenario: Scenario) -> Text:
    return Text.assemble((scenario.name, "bold"), f"  {scenario.description} (seed {scenario.seed})")


def _timeline(run: Run) -> Table:
    """One line for each change of meaning."""
    table = Table(box=None, header_style="bold", padding=(0, 1))
    for column in ("TIME", "SERVING", "PODS READY"):
        table.add_column(column, no_wrap=True)
    table.add_column("WHAT", overflow="fold")
    days = report.many_days(run)
    for change in run.changes:
        when, words = report.clock(change.at, days=days), change.text or change.moving
        table.add_row(when, change.serving, _pods(change), Text(words, _colour(change.text)))
    return table


def _pods(change: Change) -> str:
    return ", ".join(f"{n} {name}" for name, n in sorted(change.pods.items())) or "none"


def _colour(text: str) -> str:
    word = text.partition(":")[0]
    if word in ("fault", "edit"):
        return "magenta"
    found = next((o for o in Outcome if o.value == word), None)
    return "" if found is None else _COLOURS.get(found, "red")


def _windows(run: Run) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 1))
    for column in ("END", "SERVING", "TRIAL"):
        table.add_column(column, no_wrap=True)
    for column in ("REQ/S", "PODS", "WAITING", "BATCH", "TOK/S", "RATIO", "FLEET", "ORACLE"):
        table.add_column(column, no_wrap=True, justify="right")
    days = report.many_days(run)
    for lap in run.laps:
        table.add_row(*_row(lap, days=days))
    return table


def _row(lap: Lap, *, days: bool) -> tuple[str, ...]:
    usual = lap.accounts[BASELINE].speed or 1.0
    compared = report.against_baseline(lap)
    return (
        report.clock(lap.end, days=days),
        lap.serving,
        lap.trial,
        f"{lap.rate:.1f}",
        str(sum(lap.pods.values())),
        f"{report.waiting(lap.window):.0f}",
        _number(report.batch(lap.window, BASELINE), "{:.1f}"),
        _number(report.speed(lap.window, BASELINE), "{:.1f}"),
        _number(compared[1] if compared else None, "{:.3f}"),
        f"{lap.accounts[OPERATOR].speed / usual:.3f}",
        f"{lap.accounts[ORACLE].speed / usual:.3f}",
    )


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def _summary(run: Run) -> list[RenderableType]:
    found = report.summarise(run)
    parts: list[RenderableType] = [_verdicts(run), Text()]
    speeds = Table(box=None, header_style="bold", padding=(0, 1))
    speeds.add_column("FLEET", no_wrap=True)
    speeds.add_column("SPEED", no_wrap=True, justify="right")
    speeds.add_column("decode tokens per request-second, waiting included; no speculation is 1")
    for name, ratio in sorted(found.speeds.items(), key=lambda each: each[1]):
        speeds.add_row(_called(name), f"{ratio:.3f}x", "")
    parts.append(speeds)
    worst = found.worst_hour
    text = f"{found.serving} serves at the end. {found.of_oracle:.1%} of the oracle's speed"
    if worst is not None:
        when = report.clock(worst.start, days=report.many_days(run))
        text += f"; worst hour from {when}: {worst.ratio:.3f}x"
    if found.completed < 0.995:
        text += f"; {found.completed:.1%} of the tokens of no speculation: clients gave up some requests"
    if found.refused:
        text += f"; {found.refused} of {found.requests} requests found no pod"
    parts += [Text(), Text(f"{text}. {found.windows} windows, {found.passes} passes.")]
    return parts


def _called(name: str) -> str:
    return {BASELINE: "no speculation", OPERATOR: "SpecDeploy", ORACLE: "oracle (best of each window)"}.get(
        name, f"{name} always on"
    )


def _verdicts(run: Run) -> RenderableType:
    if not run.verdicts:
        return Text("No trial has ended.")
    table = Table(box=None, header_style="bold", padding=(0, 1))
    for column in ("DRAFTER", "VERDICT", "REASON", "SPEED", "WINDOWS"):
        table.add_column(column, no_wrap=True)
    for v in run.verdicts:
        colour = _COLOURS.get(v.outcome, "red")
        measured = figure(v.ratio, v.lower, v.upper)
        table.add_row(v.drafter, Text(v.outcome.value, colour), v.reason or "", measured, str(v.windows or 0))
    return table
