"""A simulated rollout as a picture: speeds over time, which pods ran what, and the load. One column a
moment.
"""

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from specdeploy.api.names import BASELINE
from specdeploy.api.reasons import Outcome
from specdeploy.cli.svg import (
    ACTIVE,
    BAD,
    GOOD,
    GREY,
    GRID,
    INK,
    area,
    document,
    dot,
    group,
    line,
    path,
    text,
)
from specdeploy.simulation import report
from specdeploy.simulation.fleet import OPERATOR, ORACLE
from specdeploy.simulation.record import Change, Lap, Run

_WIDTH, _LEFT, _RIGHT = 960, 70, 800
_SPEED, _PODS, _LOAD = 250, 110, 90
_HEAD, _GAP, _ROW = 66, 34, 14
# Colours of drafters in the order of the list; the baseline is grey.
_DRAFTERS = ("#2563eb", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#65a30d")
_TICKS = (0.125, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
_MOST_POINTS = 700
_MOST_ROWS = 6
_HOURS = (1, 2, 3, 4, 6, 12, 24, 48, 96)


def svg(run: Run) -> str:
    """The picture. Raises ValueError if there is nothing to draw."""
    if not run.laps:
        raise ValueError("no window has ended yet: simulate for longer")
    marks = _marks(run)
    head = _HEAD + _ROW * min(_MOST_ROWS, len(marks)) + 6
    height = head + _SPEED + _PODS + _LOAD + 3 * _GAP
    body = text(_LEFT, 24, f"{run.scenario.name}: {_outcome(run)}", size=15, bold=True)
    body += text(_LEFT, 44, run.scenario.description, fill=GREY)
    body += group(0, _HEAD, _flags(run, marks, head - _HEAD))
    top = head
    for draw, tall in ((_speeds, _SPEED), (_pods, _PODS), (_load, _LOAD)):
        body += group(0, top, draw(run, tall))
        top += tall + _GAP
    return document(_WIDTH, height, body)


def _outcome(run: Run) -> str:
    found = report.summarise(run)
    return (
        f"{found.serving} serves at the end; {found.speeds.get(OPERATOR, 1):.2f}x no speculation, "
        f"{found.of_oracle:.0%} of the oracle's speed"
    )


def _x(run: Run, at: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * (at - run.start) / run.scenario.duration


def _colour(run: Run, name: str) -> str:
    names = run.spec.names()
    return _DRAFTERS[names.index(name) % len(_DRAFTERS)] if name in names else "#9ca3af"


def _thin(laps: Sequence[Lap]) -> list[Sequence[Lap]]:
    """Laps in groups, so that a week has no more points than can be seen."""
    size = max(1, math.ceil(len(laps) / _MOST_POINTS))
    return [laps[i : i + size] for i in range(0, len(laps), size)]


# -- speeds ---------------------------------------------------------------------------------------------


def _speeds(run: Run, tall: int) -> str:
    """Every window's ratio with the trial's interval; the whole fleet and the oracle as lines."""
    fleet, oracle = _relative(run, OPERATOR), _relative(run, ORACLE)
    dots = [(lap, found) for lap in run.laps if (found := report.against_baseline(lap)) is not None]
    y = _axis([r for _, r in fleet] + [r for _, r in oracle] + [r for _, (_, r) in dots], tall)
    parts = [_ground(tall, y), _band(run, y, tall)]
    for lap, (arm, ratio) in dots[:: max(1, len(dots) // _MOST_POINTS)]:
        name = lap.trial.partition(" ")[0] if arm == "trial" else lap.serving
        parts.append(dot(_x(run, lap.end), y(ratio), fill=_colour(run, name), radius=2, kind="window"))
    parts.append(path([(x, y(r)) for x, r in oracle], ink=GREY, width=1))
    parts.append(path([(x, y(r)) for x, r in fleet], ink=INK, width=2))
    parts.append(text(_RIGHT + 8, 12, "speed, relative to"))
    parts.append(text(_RIGHT + 8, 27, "no speculation"))
    legend = (("whole fleet", INK), ("oracle", GREY), ("a window of trial", ACTIVE), ("or holdback", ACTIVE))
    for i, (words, ink) in enumerate(legend):
        parts.append(text(_RIGHT + 8, 48 + 15 * i, words, fill=ink))
    return "".join(parts) + _hours(run, tall)


def _relative(run: Run, name: str) -> list[tuple[float, float]]:
    """Where a fleet stands, over time: x, and its speed relative to no speculation."""
    points = []
    for laps in _thin(report.settled(run)):
        sums = report.totals(laps)
        if sums[BASELINE].speed > 0 and sums[name].speed > 0:
            points.append((_x(run, laps[-1].end), sums[name].speed / sums[BASELINE].speed))
    return points


def _axis(values: Sequence[float], tall: int) -> Callable[[float], float]:
    """A logarithmic axis over the bulk of the values, 1x always on it."""
    inner = sorted(values)[len(values) // 200 : len(values) - len(values) // 200] or [1.0]
    low, high = max(_TICKS[0], min(0.8, inner[0])) / 1.08, max(1.25, inner[-1]) * 1.08

    def y(value: float) -> float:
        clipped = min(high, max(low, value))
        return tall - tall * math.log(clipped / low) / math.log(high / low)

    return y


def _ground(tall: int, y: Callable[[float], float]) -> str:
    width, one = _RIGHT - _LEFT, y(1.0)
    parts = [
        area(_LEFT, 0, width, one, fill=GOOD, opacity=0.05),
        area(_LEFT, one, width, tall - one, fill=BAD, opacity=0.05),
    ]
    shown: list[float] = [one]
    for tick in sorted(_TICKS, key=lambda tick: abs(math.log2(tick) - round(math.log2(tick)))):
        at = y(tick)
        room = tick == 1 or min(abs(at - other) for other in shown) >= _ROW
        if 0 < at < tall and room:
            shown.append(at)
            parts.append(line(_LEFT, at, _RIGHT, at, ink=INK if tick == 1 else GRID))
            parts.append(text(_LEFT - 8, at + 4, f"{tick:g}x", anchor="end", bold=tick == 1))
    return "".join(parts)


def _band(run: Run, y: Callable[[float], float], tall: int) -> str:
    """The trial's interval as it narrows."""
    parts, step = [], (_RIGHT - _LEFT) * run.spec.trial.window_seconds / run.scenario.duration
    for lap in run.laps:
        known = lap.estimate
        if known is not None and known.lower > 0 and "Measuring" in lap.trial:
            top, bottom = max(0.0, y(known.upper)), min(float(tall), y(known.lower))
            fill = _colour(run, lap.trial.partition(" ")[0])
            parts.append(area(_x(run, lap.end) - step, top, step, bottom - top, fill=fill, opacity=0.18))
    return "".join(parts)


class _Mark(NamedTuple):
    """A verdict, a fault or an edit: when (seconds since the epoch), its words, its colour."""

    at: float
    words: str
    ink: str


def _marks(run: Run) -> list[_Mark]:
    return [mark for change in run.changes if (mark := _mark(change)) is not None]


def _mark(change: Change) -> _Mark | None:
    word, _, rest = change.text.partition(":")
    verdict = next((o for o in Outcome if o.value == word), None)
    if verdict is not None:
        good = verdict in (Outcome.PROMOTED, Outcome.RUNNER_UP)
        return _Mark(change.at, f"{rest.strip().partition(':')[0]} {word}", GOOD if good else BAD)
    known = word in ("fault", "edit")
    return _Mark(change.at, rest.partition("(")[0].strip(), GREY) if known else None


def _flags(run: Run, marks: Sequence[_Mark], tall: int) -> str:
    """The words of verdicts and faults above the speeds, each with a line down through them."""
    parts = []
    for i, mark in enumerate(marks):
        x, y = _x(run, mark.at), _ROW * (i % _MOST_ROWS) + 10
        late = x > (_LEFT + _RIGHT) / 2
        parts.append(line(x, y - 9, x, tall + _SPEED, ink=mark.ink, dash="4 3"))
        anchor, dx = ("end", -4) if late else ("start", 4)
        parts.append(text(x + dx, y, mark.words, size=11, fill=mark.ink, anchor=anchor))
    return "".join(parts)


def _hours(run: Run, tall: int) -> str:
    """The hours of the clock below a panel."""
    hours = run.scenario.duration / 3600
    every = next((h for h in _HOURS if hours / h <= 13), _HOURS[-1]) * 3600
    parts, at = [], math.ceil(run.start / every) * every
    while at <= run.start + run.scenario.duration:
        x = _x(run, at)
        parts.append(line(x, tall, x, tall + 4, ink=INK))
        parts.append(text(x, tall + 16, _label(run, at), size=11, fill=GREY, anchor="middle"))
        at += every
    return "".join(parts)


def _label(run: Run, at: float) -> str:
    """The time of day; at midnight the day that begins, where there are several."""
    time = report.clock(at, days=False)
    if time != "00:00" or not report.many_days(run):
        return time
    return report.clock(at, days=True).removesuffix(f" {time}")


# -- pods and load ----------------------------------------------------------------------------------------


def _pods(run: Run, tall: int) -> str:
    """Ready pods by what they run, stacked: the baseline below."""
    names, replicas = [BASELINE, *run.spec.names()], max(1, run.spec.replicas)
    parts, start = [], run.start
    for _, alike in groupby(run.laps, key=lambda lap: sorted(lap.pods.items())):
        last = list(alike)[-1]
        x, width, y = _x(run, start), _x(run, last.end) - _x(run, start), float(tall)
        start = last.end
        for name in names:
            part = tall * last.pods.get(name, 0) / replicas
            if part:
                y -= part
                parts.append(area(x, y, width, part, fill=_colour(run, name), opacity=0.85))
    parts.append(text(_LEFT - 8, 10, f"{replicas}", anchor="end"))
    parts.append(text(_LEFT - 8, tall, "0", anchor="end"))
    parts.append(text(_RIGHT + 8, 12, "pods ready"))
    for i, name in enumerate(reversed(names)):
        parts.append(text(_RIGHT + 8, 32 + 15 * i, name, fill=_colour(run, name), bold=True))
    return "".join(parts) + line(_LEFT, tall, _RIGHT, tall) + _hours(run, tall)


def _load(run: Run, tall: int) -> str:
    """Requests per second, and how many wait."""
    thin = _thin(run.laps)
    rates = [(laps[-1].end, sum(lap.rate for lap in laps) / len(laps)) for laps in thin]
    queues = [(laps[-1].end, report.waiting(laps[-1].window)) for laps in thin]
    parts = [line(_LEFT, tall, _RIGHT, tall)]
    for points, ink in ((rates, ACTIVE), (queues, BAD)):
        most = max(value for _, value in points)
        if most > 0:
            parts.append(
                path([(_x(run, at), tall - tall * v / most) for at, v in points], ink=ink, width=1.5)
            )
    most = max(rate for _, rate in rates)
    parts.append(text(_LEFT - 8, 10, f"{most:.3g}/s", anchor="end", fill=ACTIVE))
    parts.append(text(_RIGHT + 8, 12, "requests per second", fill=ACTIVE))
    longest = max(queue for _, queue in queues)
    parts.append(text(_RIGHT + 8, 27, f"waiting: up to {longest:.0f}", fill=BAD))
    return "".join(parts) + _hours(run, tall)
