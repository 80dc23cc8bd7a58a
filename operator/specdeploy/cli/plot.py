"""A trial as a picture: every window's speed beside the baseline's, their mean, the interval, the verdict."""

import math
from dataclasses import dataclass
from itertools import accumulate

from specdeploy.api.reasons import Outcome
from specdeploy.api.status import Status, TrialStatus, Verdict
from specdeploy.cli.svg import (
    ACTIVE,
    BAD,
    CALM,
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

_WIDTH, _HEIGHT, _HEAD = 880, 290, 40
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 640, 58, 250
_INTERVAL = 700
_FEWEST_PLACES = 30  # two windows are not spread over the whole width
_TICKS = (0.125, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
_LEAST = (0.8, 1.25)  # a trial near 1x is shown as what it is: near 1x
# What became of the drafter, in the words of somebody who looks at the picture for five seconds.
_ENDS = {
    Outcome.PROMOTED: (GOOD, "proven faster, it serves"),
    Outcome.RUNNER_UP: (GOOD, "faster than the baseline, kept as runner-up"),
    Outcome.SLOWER: (BAD, "slower than the baseline, taken away"),
    Outcome.DISASTER: (BAD, "far slower, taken away at once"),
    Outcome.NOT_WORTH_IT: (CALM, "not worth it, taken away"),
    Outcome.INCONCLUSIVE: (CALM, "nothing proven in its time, not promoted"),
    Outcome.GUARDED: (BAD, "a guard vetoed, taken away"),
    Outcome.UNHEALTHY: (BAD, "its engine failed, taken away"),
}


@dataclass(frozen=True)
class Panel:
    """One trial: who, how it ended, in which colour, ratios of its windows, interval (multiples)."""

    title: str
    end: str
    colour: str
    ratios: tuple[float, ...]
    ratio: float | None
    lower: float | None
    upper: float | None


def panels(status: Status) -> list[Panel]:
    """The trial that runs, then the finished ones whose windows are still kept, newest first."""
    running = [] if status.trial is None else [_running(status.trial)]
    return [*running, *(_finished(v) for v in status.verdicts or [] if v.recent)]


def _running(trial: TrialStatus) -> Panel:
    end = f"{trial.windows} windows are evidence so far"
    return _panel(f"{trial.drafter}: {trial.state.value}", end, ACTIVE, trial)


def _finished(verdict: Verdict) -> Panel:
    colour, end = _ENDS.get(verdict.outcome, (GREY, "nothing is said of the drafter"))
    return _panel(f"{verdict.drafter}: {verdict.outcome.value}", end, colour, verdict)


def _panel(title: str, end: str, colour: str, of: TrialStatus | Verdict) -> Panel:
    ratios = tuple(r / 1000 for r in of.recent or [] if r > 0)
    return Panel(title, end, colour, ratios, _number(of.ratio), _number(of.lower), _number(of.upper))


def _number(figure: str | None) -> float | None:
    return float(figure) if figure and float(figure) > 0 else None


def svg(heading: str, shown: list[Panel]) -> str:
    """The panels below each other. Raises ValueError if there is nothing to draw."""
    if not shown:
        raise ValueError("no trial has measured a window yet")
    body = text(_LEFT, 26, heading, size=17, bold=True)
    body += "".join(group(0, _HEAD + i * _HEIGHT, _draw(panel)) for i, panel in enumerate(shown))
    return document(_WIDTH, _HEAD + _HEIGHT * len(shown), body)


@dataclass(frozen=True)
class _Axis:
    """A logarithmic axis of multiples: twice as fast is as far from 1x as half as fast."""

    low: float
    high: float

    def y(self, ratio: float) -> float:
        share = math.log(ratio / self.low) / math.log(self.high / self.low)
        return _BOTTOM - share * (_BOTTOM - _TOP)


def _axis(panel: Panel) -> _Axis:
    known = [v for v in (panel.lower, panel.upper, panel.ratio) if v]
    values = [*panel.ratios, *_LEAST, *known]
    return _Axis(min(values) / 1.1, max(values) * 1.1)


def _draw(panel: Panel) -> str:
    axis = _axis(panel)
    head = text(_LEFT, 22, panel.title, size=15, bold=True, fill=panel.colour)
    head += text(_LEFT, 42, panel.end, size=13, fill=INK)
    return head + _ground(axis) + _windows(panel, axis) + _interval(panel, axis)


def _ground(axis: _Axis) -> str:
    """What is faster and what is slower than the baseline, and the scale."""
    one, width = axis.y(1.0), _RIGHT - _LEFT
    parts = [
        area(_LEFT, _TOP, width, one - _TOP, fill=GOOD, opacity=0.06),
        area(_LEFT, one, width, _BOTTOM - one, fill=BAD, opacity=0.06),
        text(_RIGHT + 5, _TOP + 10, "faster", fill=GREY),
        text(_RIGHT + 5, _BOTTOM - 2, "slower", fill=GREY),
    ]
    for tick in _TICKS:
        if axis.low <= tick <= axis.high and tick != 1.0:
            y = axis.y(tick)
            parts.append(line(_LEFT, y, _RIGHT, y, ink=GRID))
            parts.append(text(_LEFT - 8, y + 4, f"{tick:g}x", anchor="end"))
    parts.append(line(_LEFT, one, _RIGHT, one, width=1.5))
    parts.append(text(_LEFT - 8, one + 4, "1x", anchor="end", bold=True))
    return "".join(parts)


def _windows(panel: Panel, axis: _Axis) -> str:
    """A dot a window, and the mean of the windows up to there."""
    step = (_RIGHT - _LEFT) / max(_FEWEST_PLACES, len(panel.ratios))
    places = [_LEFT + (i + 0.5) * step for i in range(len(panel.ratios))]
    sums = accumulate(math.log(r) for r in panel.ratios)
    means = [math.exp(total / (i + 1)) for i, total in enumerate(sums)]
    parts = [path([(x, axis.y(m)) for x, m in zip(places, means, strict=True)], ink=panel.colour, width=1.2)]
    parts += [
        dot(x, axis.y(r), fill=panel.colour, radius=3.5, kind="window")
        for x, r in zip(places, panel.ratios, strict=True)
    ]
    count = len(panel.ratios)
    label = (
        f"{count} window{'' if count == 1 else 's'} of live traffic in order of time, and their mean; "
        "1x is the baseline that ran beside it"
    )
    return "".join(parts) + text(_LEFT, _BOTTOM + 20, label, fill=GREY)


def _interval(panel: Panel, axis: _Axis) -> str:
    """The figure of the verdict, with its interval, beside the windows it came from."""
    if panel.ratio is None:
        return ""
    parts = [text(_INTERVAL + 16, axis.y(panel.ratio) + 6, f"{panel.ratio:.2f}x", size=19, bold=True,
                  fill=panel.colour)]  # fmt: skip
    if panel.lower and panel.upper:
        top, bottom = axis.y(panel.upper), axis.y(panel.lower)
        parts.append(line(_INTERVAL, top, _INTERVAL, bottom, ink=panel.colour, width=3))
        parts += [line(_INTERVAL - 7, y, _INTERVAL + 7, y, ink=panel.colour, width=3) for y in (top, bottom)]
        words = f"between {panel.lower:.2f}x and {panel.upper:.2f}x"
        parts.append(text(_INTERVAL + 16, axis.y(panel.ratio) + 24, words, fill=GREY))
    parts.append(dot(_INTERVAL, axis.y(panel.ratio), fill=panel.colour, radius=5.5))
    return "".join(parts)
