"""A trial as a picture: every window's ratio, the interval, the verdict. SVG, drawn without a library."""

import math
from dataclasses import dataclass
from xml.sax.saxutils import escape

from specdeploy.api.status import Status

_W, _H = 860, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 30, 56, 40
_INK, _GRID, _GOOD, _BAD, _BAND = "#1f2937", "#d1d5db", "#15803d", "#b91c1c", "#93c5fd"
_FEWEST_PLACES = 30  # two windows are not spread over the whole width
_TICKS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


@dataclass(frozen=True)
class Panel:
    """One trial: what it is called, how it stands, ratios of its windows, interval (multiples)."""

    title: str
    good: bool
    ratios: tuple[float, ...]
    ratio: float | None
    lower: float | None
    upper: float | None


def panels(status: Status) -> list[Panel]:
    """The trial that runs, then the finished ones whose windows are still kept, newest first."""
    shown: list[Panel] = []
    if status.trial is not None:
        t = status.trial
        shown.append(_panel(t.drafter, str(t.state), t.recent, t.ratio, t.lower, t.upper, good=True))
    for v in status.verdicts or []:
        if v.recent:
            good = v.outcome.value in ("Promoted", "RunnerUp")
            shown.append(_panel(v.drafter, v.outcome.value, v.recent, v.ratio, v.lower, v.upper, good=good))
    return shown


def _panel(
    name: str,
    how: str,
    recent: list[int] | None,
    ratio: str | None,
    lower: str | None,
    upper: str | None,
    *,
    good: bool,
) -> Panel:
    numbers = f"{float(ratio):.2f}x" if ratio else ""
    if ratio and lower and upper:
        numbers += f" [{float(lower):.2f}, {float(upper):.2f}]"
    return Panel(
        f"{name}: {how} {numbers}".strip(),
        good,
        tuple(r / 1000 for r in recent or [] if r > 0),
        float(ratio) if ratio else None,
        float(lower) if lower else None,
        float(upper) if upper else None,
    )


def svg(heading: str, shown: list[Panel]) -> str:
    """The panels below each other. Raises ValueError if there is nothing to draw."""
    if not shown:
        raise ValueError("no trial has measured a window yet")
    height = _H * len(shown) + 30
    body = [_text(_LEFT, 24, heading, size=17, weight="bold")]
    for number, panel in enumerate(shown):
        body.append(f'<g transform="translate(0,{30 + number * _H})">{_draw(panel)}</g>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_W} {height}" width="{_W}" height="{height}" '
        f'font-family="sans-serif"><rect width="100%" height="100%" fill="white"/>{"".join(body)}</svg>\n'
    )


def _draw(panel: Panel) -> str:
    values = [*panel.ratios, 1.0, *(v for v in (panel.lower, panel.upper, panel.ratio) if v)]
    low, high = min(values) / 1.15, max(values) * 1.15
    colour = _GOOD if panel.good else _BAD
    parts = [_text(_LEFT, 30, panel.title, size=14, weight="bold", fill=colour)]
    for tick in _TICKS:
        if low <= tick <= high:
            parts.append(_rule(_y(tick, low, high), f"{tick:g}x", strong=tick == 1.0))
    if panel.lower and panel.upper:
        top, bottom = _y(panel.upper, low, high), _y(panel.lower, low, high)
        parts.append(
            f'<rect x="{_LEFT}" y="{top:.1f}" width="{_W - _LEFT - _RIGHT}" height="{bottom - top:.1f}" '
            f'fill="{_BAND}" fill-opacity="0.35"/>'
        )
    if panel.ratio:
        y = _y(panel.ratio, low, high)
        parts.append(_line(y, colour, dash="6 4"))
    count = max(_FEWEST_PLACES, len(panel.ratios))
    for i, ratio in enumerate(panel.ratios):
        x = _LEFT + (i + 0.5) * (_W - _LEFT - _RIGHT) / count
        parts.append(f'<circle cx="{x:.1f}" cy="{_y(ratio, low, high):.1f}" r="4" fill="{colour}"/>')
    parts.append(
        _text(_LEFT, _H - 12, "windows, in order of time; 1x is the baseline that ran beside it", size=12)
    )
    return "".join(parts)


def _y(ratio: float, low: float, high: float) -> float:
    share = math.log(ratio / low) / math.log(high / low)
    return _H - _BOTTOM - share * (_H - _TOP - _BOTTOM)


def _rule(y: float, label: str, *, strong: bool) -> str:
    ink = _INK if strong else _GRID
    return _line(y, ink) + _text(_LEFT - 8, y + 4, label, size=12, anchor="end")


def _line(y: float, ink: str, dash: str = "") -> str:
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line x1="{_LEFT}" x2="{_W - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{ink}"{dashes}/>'


def _text(
    x: float,
    y: float,
    words: str,
    *,
    size: int,
    weight: str = "normal",
    fill: str = _INK,
    anchor: str = "start",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" fill="{fill}" '
        f'text-anchor="{anchor}">{escape(words)}</text>'
    )
