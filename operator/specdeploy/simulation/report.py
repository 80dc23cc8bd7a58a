"""What a run says: figures for people and for machines. Pure; the CLI draws them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from specdeploy.api.names import BASELINE
from specdeploy.api.status import Verdict, instant
from specdeploy.judge import TRIAL, Window
from specdeploy.simulation.fleet import OPERATOR, ORACLE, Account, total
from specdeploy.simulation.record import MIDNIGHT, Change, Lap, Run

_DAY, _HOUR = 86400.0, 3600.0
_OF_A_VERDICT = frozenset(
    {"drafter", "attempt", "outcome", "reason", "time", "ratio", "lower", "upper", "windows", "message"}
)


@dataclass(frozen=True)
class Hour:
    """One hour: its beginning (seconds since the epoch), and the rollout's speed relative to no
    speculation.
    """

    start: float
    ratio: float


@dataclass(frozen=True)
class Summary:
    """A run in figures.

    `speeds`: of every fleet relative to no speculation, in the windows after every pod was ready once;
    `of_oracle`: the rollout's share of the oracle's. `completed`: tokens of the rollout relative to no
    speculation (1 but where a queue grows). `hours`: in order. `requests` came in all, `refused` found no pod
    in those windows.
    """

    serving: str
    verdicts: tuple[Verdict, ...]
    speeds: dict[str, float]
    of_oracle: float
    completed: float
    hours: tuple[Hour, ...]
    requests: int
    refused: int
    windows: int
    passes: int

    @property
    def worst_hour(self) -> Hour | None:
        """The hour in which the rollout was slowest relative to no speculation."""
        return min(self.hours, key=lambda hour: hour.ratio, default=None)


def summarise(run: Run) -> Summary:
    """The figures of a whole run."""
    counted = settled(run)
    sums = totals(counted)
    usual, ours = sums.get(BASELINE, Account()), sums.get(OPERATOR, Account())
    seconds = float(run.spec.trial.window_seconds)
    return Summary(
        serving=run.status.serving.name if run.status.serving else "-",
        verdicts=tuple(run.verdicts),
        speeds={name: _ratio(account.speed, usual.speed) for name, account in sums.items()},
        of_oracle=_ratio(ours.speed, sums.get(ORACLE, Account()).speed),
        completed=_ratio(ours.tokens, usual.tokens),
        hours=tuple(hours(counted)),
        requests=round(sum(lap.rate for lap in run.laps) * seconds),
        refused=round(sum(lap.refused for lap in counted)),
        windows=len(run.laps),
        passes=run.passes,
    )


def settled(run: Run) -> Sequence[Lap]:
    """The windows that began when every replica had been ready once: before, a fleet comes up."""
    length = run.spec.trial.window_seconds
    return [lap for lap in run.laps if run.complete is not None and lap.end - length >= run.complete]


def totals(laps: Sequence[Lap]) -> dict[str, Account]:
    """What every fleet did in all of these windows."""
    names = laps[0].accounts if laps else {}
    return {name: total(lap.accounts.get(name, Account()) for lap in laps) for name in names}


def hours(laps: Iterable[Lap]) -> Iterable[Hour]:
    """Whole hours of the clock, as far as there are windows in them."""
    for hour, within in groupby(laps, key=lambda lap: math.ceil(lap.end / _HOUR) - 1):
        sums = totals(list(within))
        yield Hour(hour * _HOUR, _ratio(sums[OPERATOR].speed, sums[BASELINE].speed))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 1.0


def clock(at: float, *, days: bool) -> str:
    """`09:30`, or `day 2 09:30` where a run is longer than a day."""
    day, rest = divmod(at - MIDNIGHT, _DAY)
    time = f"{int(rest // 3600):02}:{int(rest % 3600 // 60):02}"
    return f"day {int(day) + 1} {time}" if days else time


def many_days(run: Run) -> bool:
    """Whether times of day alone would be ambiguous."""
    return run.scenario.duration > _DAY or run.scenario.start + run.scenario.duration > _DAY


def speed(window: Window | None, arm: str) -> float | None:
    """Decode tokens per request-second of an arm: the mean over pods as the judge takes it (of logs)."""
    pods = window.arms.get(arm, ()) if window is not None else ()
    known = [s for p in pods if (s := p.speed) is not None and s > 0]
    return math.exp(math.fsum(map(math.log, known)) / len(known)) if known else None


def batch(window: Window | None, arm: str) -> float | None:
    """The mean batch of an arm's pods."""
    pods = window.arms.get(arm, ()) if window is not None else ()
    known = [b for p in pods if (b := p.batch) is not None]
    return math.fsum(known) / len(known) if known else None


def waiting(window: Window | None) -> float:
    """Requests that wait in all pods at a window's end."""
    return math.fsum(
        p.requests_waiting or 0.0 for arm in (window.arms.values() if window else ()) for p in arm
    )


def against_baseline(lap: Lap) -> tuple[str, float] | None:
    """Who was compared with the baseline in this window (the trial, else what serves), and its ratio."""
    usual = speed(lap.window, BASELINE)
    for arm in (TRIAL, "serving"):
        found = speed(lap.window, arm)
        if usual and found:
            return arm, found / usual
    return None


def as_dict(run: Run, *, windows: bool) -> dict[str, Any]:
    """Everything, for a machine."""
    found = summarise(run)
    worst = found.worst_hour
    answer: dict[str, Any] = {
        "scenario": run.scenario.name,
        "seed": run.scenario.seed,
        "seconds": run.scenario.duration,
        "serving": found.serving,
        "verdicts": [_verdict(v) for v in found.verdicts],
        "speed": {name: round(ratio, 4) for name, ratio in found.speeds.items()},
        "shareOfOracle": round(found.of_oracle, 4),
        "completedTokens": round(found.completed, 4),
        "worstHour": None
        if worst is None
        else {"start": instant(worst.start), "speed": round(worst.ratio, 4)},
        "requests": found.requests,
        "refused": found.refused,
        "windows": found.windows,
        "passes": found.passes,
        "timeline": [_change(change) for change in run.changes],
    }
    return answer | ({"table": [_lap(lap) for lap in run.laps]} if windows else {})


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {key: value for key, value in verdict.wire().items() if key in _OF_A_VERDICT}


def _change(change: Change) -> dict[str, Any]:
    return {
        "time": instant(change.at),
        "serving": change.serving,
        "trial": change.trial,
        "pods": dict(change.pods),
        "what": change.text,
    }


def _lap(lap: Lap) -> dict[str, Any]:
    compared = against_baseline(lap)
    return {
        "end": instant(lap.end),
        "requestsPerSecond": round(lap.rate, 3),
        "serving": lap.serving,
        "trial": lap.trial,
        "pods": dict(lap.pods),
        "waiting": round(waiting(lap.window)),
        "batch": {arm: round(b, 2) for arm in _arms(lap) if (b := batch(lap.window, arm)) is not None},
        "tokensPerRequestSecond": {
            arm: round(s, 2) for arm in _arms(lap) if (s := speed(lap.window, arm)) is not None
        },
        "ratio": None if compared is None else round(compared[1], 4),
        "speed": {
            name: round(_ratio(account.speed, lap.accounts[BASELINE].speed), 4)
            for name, account in lap.accounts.items()
        },
    }


def _arms(lap: Lap) -> list[str]:
    return sorted(lap.window.arms) if lap.window is not None else []
