"""What the guard says: how what serves stands, its alarm, and how a re-check ended.

guard_state -> guard_report -> guard.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from specdeploy.judge import bands
from specdeploy.judge.guard_state import GuardState
from specdeploy.judge.verdict import multiple

NEWEST_WINDOWS = 10


class Newest(NamedTuple):
    """The newest windows: their mean speed as a multiple of the baseline's, and how many they are."""

    ratio: float
    windows: int


@dataclass(frozen=True, slots=True)
class GuardSummary:
    """How what serves stands, as multiples of the baseline's speed; None while unknown.

    `hour` is over about the last 60 windows compared, `newest` over those in which the evidence against it
    rises, else over about 10; `ratio`, `lower` and `upper` are over the `windows` since the promotion or
    since its newest step or re-check began. `last_index` is the newest window seen. `evidence` of being
    slower is a multiple of what raises the alarm. `drift` says what has moved while no baseline ran.
    """

    hour: float | None
    newest: Newest | None
    ratio: float | None
    lower: float | None
    upper: float | None
    windows: int
    last_index: int
    evidence: float
    drift: str | None


@dataclass(frozen=True, slots=True)
class Alarm:
    """What serves must go: a reason code, one sentence with the numbers, and the numbers."""

    cause: str
    message: str
    numbers: GuardSummary


class CheckResult(StrEnum):
    """What a re-check has found."""

    KEPT = "Kept"
    SLOWER = "Slower"
    UNDECIDED = "Undecided"


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """How a re-check ended, and a sentence with the numbers."""

    result: CheckResult
    message: str


def guard_summary(state: GuardState) -> GuardSummary:
    """How what serves stands, for status, metrics and the command line."""
    terms, stretch = state.terms, state.stretch
    known = terms.estimate(stretch.comparison)
    return GuardSummary(
        hour=multiple(state.hour) if state.compared else None,
        newest=newest(state),
        ratio=multiple(stretch.whole.mean + terms.surplus) if stretch.whole.n else None,
        lower=multiple(known.lower(terms.alpha)) if known else None,
        upper=multiple(known.upper(terms.alpha)) if known else None,
        windows=stretch.whole.n,
        last_index=state.last_index,
        evidence=state.detector.evidence,
        drift=drifted(state),
    )


def newest(state: GuardState) -> Newest | None:
    """The newest windows compared."""
    windows = sum(band.n for band in state.rising)
    log = math.fsum(band.total for band in state.rising) / windows if windows else state.newest
    ratio = multiple(log) if state.compared else None
    return None if ratio is None else Newest(ratio, windows or min(state.compared, NEWEST_WINDOWS))


def behind(state: GuardState, shares: tuple[float, ...]) -> tuple[str, ...]:
    """Ranges of batch with a fifth or more of the day's request-seconds (`shares`, by BANDS), 10 windows or
    more behind the proof, and a mean in them below the baseline's speed."""
    surplus = state.terms.surplus
    return tuple(
        f"{bands.name_of(place)} ({times(band.total + band.n * surplus, band.n)} over {band.n} windows)"
        for place, (band, share) in enumerate(zip(state.proven, shares, strict=True))
        if share >= bands.SHARE_TO_COVER and band.n >= bands.WINDOWS_TO_COVER and band.mean + surplus < 0
    )


def drifted(state: GuardState) -> str | None:
    """What has moved since the drafter was last compared with the baseline: a reason to compare it anew."""
    told = (_acceptance_moved(state), _speed_moved(state))
    return " and ".join(each for each in told if each) or None


def _acceptance_moved(state: GuardState) -> str | None:
    signal = state.drift.acceptance
    way = signal.moved(state.terms.run_windows)
    if not way:
        return None
    change = f"{_WAYS[way]} from {signal.known.mean:.1%} to {signal.mean_since(way):.1%}"
    return f"the acceptance of draft tokens has {change} since the last comparison with the baseline"


def _speed_moved(state: GuardState) -> str | None:
    signal = state.drift.speed
    way = signal.moved(state.terms.run_windows)
    if not way:
        return None
    ratio = multiple(signal.mean_since(way) - signal.known.mean)
    change = _WAYS[way] if ratio is None else f"{_WAYS[way]} to {ratio:.3f}x of what it was"
    return f"the speed at equal demand has {change} since the last comparison with the baseline"


def slower(state: GuardState) -> str:
    windows = sum(band.n for band in state.rising)
    total = math.fsum(band.total for band in state.rising)
    worst = min(range(len(state.rising)), key=lambda position: state.rising[position].total)
    lost = state.rising[worst]
    where = f"batch {bands.name_of(worst)}"
    if lost.n < windows:
        where = f"{where} most ({times(lost.total, lost.n)} over {lost.n} of them)"
    text = f"{times(total, windows)} the baseline's decode speed over the last {windows} windows compared"
    return f"{text}, at {where}: what serves has become slower than the baseline, rolled back"


def measured(state: GuardState) -> str:
    summary = guard_summary(state)
    interval = ""
    if summary.lower is not None and summary.upper is not None:
        interval = f" [{summary.lower:.3f}, {summary.upper:.3f}]"
    times = "an unknown multiple of" if summary.ratio is None else f"{summary.ratio:.3f}x{interval}"
    return f"{times} the baseline's decode speed over the {summary.windows} windows of the re-check"


def times(total: float, windows: int) -> str:
    """The mean of `windows` log ratios with this `total`, in words."""
    ratio = multiple(total / windows) if windows else None
    return "an unknown multiple of" if ratio is None else f"{ratio:.3f}x"


_WAYS = {1: "risen", -1: "fallen"}
