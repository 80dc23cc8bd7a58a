"""How others decide, written anew from the descriptions of their judges, with settings as a user would write
for this job.

All get the ratio of decode speed (tokens per request-decode-second, trial to baseline, of one minute), which
is kinder than what is usually queried: a mean inter-token latency reads a faster drafter as slower. The query
gives NaN without traffic (0 by 0) and no answer where a series is missing or nobody answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from statistics import fmean, median
from typing import Protocol

from specdeploy.judge import BASELINE, TRIAL, Window
from specdeploy.judge.student import single_look_radius


class Decision(StrEnum):
    """What a rule says of a drafter. NOT_WORTH_IT: dropped, without being called slower."""

    PROMOTED = "promoted"
    ROLLED_BACK = "rolled back"
    NOT_WORTH_IT = "not worth it"
    UNDECIDED = "undecided"


class Rule(Protocol):
    """A way to decide, fed window by window until it says something; `end` is asked after the last one."""

    def look(self, window: Window) -> Decision | None: ...

    def end(self) -> Decision: ...


def speed(window: Window, arm: str) -> float | None:
    """Decode tokens per request-decode-second of an arm: NaN without traffic, None without an answer."""
    pods = window.arms.get(arm)
    if not pods:
        return None
    tokens, held = sum(pod.decode_tokens for pod in pods), sum(pod.itl_seconds for pod in pods)
    return tokens / held if held > 0 else math.nan


def speed_ratio(window: Window) -> float | None:
    """Trial to baseline, as a query that divides the two."""
    trial, baseline = speed(window, TRIAL), speed(window, BASELINE)
    return None if trial is None or baseline is None else trial / baseline


def at_least(limit: float) -> Callable[[float], bool]:
    """`successCondition: result[0] >= limit`: NaN fails."""
    return lambda ratio: ratio >= limit


def not_below(limit: float) -> Callable[[float], bool]:
    """`failureCondition: result[0] < limit`: what has not failed is successful, NaN too."""
    return lambda ratio: not ratio < limit


@dataclass
class Argo:
    """An AnalysisRun of Argo Rollouts with one metric at an interval of a minute.

    `count` measurements in all; more than `failure_limit` failed ones abort, never fewer. A query that gives
    no answer is tried again every 10 s whatever the interval is, and more than `error_limit` errors in a row
    abort too: one minute is enough.

    Source: argoproj/argo-rollouts at 9f8d111d8, analysis/analysis.go, utils/evaluate/evaluate.go,
    utils/defaults/defaults.go (failureLimit 0, consecutiveErrorLimit 4, retry after 10 s).
    """

    good: Callable[[float], bool]
    count: int
    failure_limit: int = 0
    error_limit: int = 4
    measured: int = 0
    failures: int = 0
    errors: int = 0

    TRIES_A_MINUTE = 6

    def look(self, window: Window) -> Decision | None:
        ratio = speed_ratio(window)
        if ratio is None:
            self.errors += self.TRIES_A_MINUTE
            return Decision.ROLLED_BACK if self.errors > self.error_limit else None
        self.errors = 0
        self.measured += 1
        self.failures += not self.good(ratio)
        if self.failures > self.failure_limit:
            return Decision.ROLLED_BACK
        return Decision.PROMOTED if self.measured >= self.count else None

    def end(self) -> Decision:
        return Decision.UNDECIDED


@dataclass
class Flagger:
    """A Canary of Flagger with one metric template and an interval of a minute.

    Each check that is not good is a strike: a value out of range, NaN, no values, an error of the query.
    Strikes are never taken back; `threshold` of them roll back, `iterations` good checks promote.

    Source: fluxcd/flagger at 15bd6ad5, pkg/controller/scheduler.go, scheduler_metrics.go,
    pkg/metrics/providers/prometheus.go; threshold 5 and ten iterations as in its tutorials.
    """

    minimum: float
    threshold: int = 5
    iterations: int = 10
    strikes: int = 0
    passed: int = 0

    def look(self, window: Window) -> Decision | None:
        ratio = speed_ratio(window)
        if ratio is not None and ratio >= self.minimum:
            self.passed += 1
            return Decision.PROMOTED if self.passed >= self.iterations else None
        self.strikes += 1
        return Decision.ROLLED_BACK if self.strikes >= self.threshold else None

    def end(self) -> Decision:
        return Decision.UNDECIDED


@dataclass
class Kayenta:
    """A canary analysis of Kayenta over one metric, a point a minute and arm, judged on the growing series
    after each number of minutes in `looks`; the last one promotes what has not failed.

    The trial has failed where the whole 98 % Mann-Whitney interval of its shift lies below zero by more than
    a quarter of the estimate, and its mean is the lower one (allowedDecrease 1). A point that is NaN or
    missing is left out; a series without any is Nodata, and with the only metric silent the score is 0.

    Source: spinnaker/kayenta at a69573be, kayenta-judge NetflixACAJudge.scala, MannWhitneyClassifier.scala
    (confLevel 0.98, tolerance 0.25); Spinnaker's best practices (at least 50 points).
    """

    looks: tuple[int, ...]
    minutes: int = 0
    points: dict[str, list[float]] = field(default_factory=lambda: {BASELINE: [], TRIAL: []})

    QUANTILE = 2.326
    TOLERANCE = 0.25

    def look(self, window: Window) -> Decision | None:
        self.minutes += 1
        for arm, series in self.points.items():
            value = speed(window, arm)
            if value is not None and not math.isnan(value):
                series.append(value)
        if self.minutes not in self.looks:
            return None
        if self._failed(self.points[TRIAL], self.points[BASELINE]):
            return Decision.ROLLED_BACK
        return Decision.PROMOTED if self.minutes == self.looks[-1] else None

    def end(self) -> Decision:
        return Decision.UNDECIDED

    def _failed(self, trial: list[float], baseline: list[float]) -> bool:
        if not trial or not baseline:
            return True
        shifts = sorted(a - b for a in trial for b in baseline)
        size, total = len(shifts), len(trial) + len(baseline)
        rank = math.floor(size / 2 - self.QUANTILE * math.sqrt(size * (total + 1) / 12))
        if rank < 1:
            return False
        tolerated = self.TOLERANCE * abs(median(shifts))
        return shifts[size - rank] < -tolerated and fmean(trial) < fmean(baseline)


@dataclass
class PairedT:
    """A paired t test on the log ratios, two-sided at 5 %, looked at in every minute from the fifth on.

    Source: the textbook's test (Student 1908), used as dashboards invite to: until it says something.
    """

    first: int = 5
    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    def look(self, window: Window) -> Decision | None:
        ratio = speed_ratio(window)
        if ratio is None or not ratio > 0:
            return None
        value = math.log(ratio)
        self.count, self.total, self.squares = self.count + 1, self.total + value, self.squares + value**2
        if self.count < self.first:
            return None
        mean = self.total / self.count
        spread = math.sqrt(max(0.0, self.squares / self.count - mean**2) / (self.count - 1))
        if abs(mean) <= _quantile(self.count - 1) * spread:
            return None
        return Decision.PROMOTED if mean > 0 else Decision.ROLLED_BACK

    def end(self) -> Decision:
        return Decision.UNDECIDED


@cache
def _quantile(freedom: int) -> float:
    return single_look_radius(freedom, 0.05)


OTHERS: dict[str, Callable[[], Rule]] = {
    "Argo: success >= 0.95, 10 checks, limit 0": lambda: Argo(at_least(0.95), count=10),
    "Argo: failure < 0.95, 30 checks, limit 3": lambda: Argo(not_below(0.95), count=30, failure_limit=3),
    "Flagger: min 1.00, 5 strikes, 10 good": lambda: Flagger(1.0),
    "Flagger: min 0.95, 5 strikes, 10 good": lambda: Flagger(0.95),
    "Kayenta: one judgement at 60 min": lambda: Kayenta((60,)),
    "Kayenta: every 30 min, to 120": lambda: Kayenta((30, 60, 90, 120)),
    "paired t at every look": PairedT,
}
