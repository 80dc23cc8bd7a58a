"""What the judge must reach on simulated trials, as a table: one row a bar.

CI runs 150 trials a row and allows for the luck of so few; SPECDEPLOY_RUNS=1000 and more asks for the bar
itself. `pytest -rP` prints each figure beside its bar.
"""

import math
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import NamedTuple

import pytest

from specdeploy.judge import Learned, Outcome, Settings, summary
from tests.judge.streams import SECONDS, Stream
from tests.judge.windows import judge

RUNS = int(os.environ.get("SPECDEPLOY_RUNS", "150"))
STRICT_FROM = 1000
LUCK = 0.005
WATCHED = Learned(windows=1440, sd=0.05, phi=0.3)

pytestmark = pytest.mark.slow


class Ended(NamedTuple):
    """How one trial ended, after how many windows and how many of evidence, and whether its interval held the
    truth."""

    outcome: Outcome
    window: int
    used: int
    covered: bool


@dataclass(frozen=True)
class Bar:
    """At most or at least a share of the trials counts; those that count end after `by` windows or fewer
    (median)."""

    name: str
    stream: Stream
    counts: Callable[[Ended], bool]
    most: float = 1.0
    least: float = 0.0
    by: float = math.inf
    learned: Learned = WATCHED
    settings: Settings | None = None


def ended_as(*outcomes: Outcome) -> Callable[[Ended], bool]:
    return lambda end: end.outcome in outcomes


PROMOTED = ended_as(Outcome.PROMOTED)
RETIRED = ended_as(Outcome.SLOWER, Outcome.NOT_WORTH_IT, Outcome.DISASTER)
CALLED_SLOWER = ended_as(Outcome.SLOWER, Outcome.DISASTER)
DISASTER = ended_as(Outcome.DISASTER)
USED_MOST: Callable[[Ended], bool] = lambda end: end.used >= 0.8 * end.window  # noqa: E731
COVERED: Callable[[Ended], bool] = lambda end: end.covered  # noqa: E731


def out_by(window: int) -> Callable[[Ended], bool]:
    return lambda end: end.outcome is Outcome.DISASTER and end.window <= window


def stationary(name: str, **more: float | bool) -> list[Bar]:
    """The bars for noise of 5 % and phi .3, under what `more` adds to it. Windows that miss an arm come
    on top of those that a verdict takes."""
    longer = 1 / (1 - more.get("missing", 0.0))

    def stream(ratio: float) -> Stream:
        return Stream(ratio, **more)  # type: ignore[arg-type]

    return [
        Bar(f"{name} 1.00 called slower", stream(1.0), CALLED_SLOWER, most=0.035),
        Bar(f"{name} 1.00 promoted", stream(1.0), PROMOTED, most=0.035),
        Bar(f"{name} 1.05 retired", stream(1.05), RETIRED, most=0.005),
        Bar(f"{name} 0.90 retired", stream(0.90), RETIRED, least=0.99, by=31 * longer),
        Bar(f"{name} 0.95 retired", stream(0.95), RETIRED, least=0.98, by=45 * longer),
        Bar(f"{name} 1.20 promoted", stream(1.20), PROMOTED, least=0.99, by=40 * longer),
    ]


def default_pods(ratio: float) -> Stream:
    return Stream(ratio, windows=120, pod_sd=0.01)


LONG_REQUESTS = Learned(windows=1440, sd=0.05, phi=0.9, residence=-SECONDS / math.log(0.9))
VERY_NOISY = Learned(windows=1440, sd=0.20, phi=0.3)
SHIPPED = Settings(deadline_seconds=120 * SECONDS)

BARS = [
    *stationary("stationary"),
    Bar("phi .6 1.00 called slower", Stream(1.0, phi=0.6), CALLED_SLOWER, most=0.05),
    Bar("0.44 out in 3", Stream(0.44), out_by(3), least=0.99),
    Bar("0.44 out in 5", Stream(0.44), out_by(5), least=1.0),
    *(Bar(f"{ratio} in its interval", Stream(ratio), COVERED, least=0.95) for ratio in (1.0, 1.2, 2.2, 2.87)),
    Bar("shipped 1.10 promoted", default_pods(1.10), PROMOTED, least=0.97, settings=SHIPPED),
    Bar("shipped 0.90 retired", default_pods(0.90), RETIRED, least=0.98, settings=SHIPPED),
    Bar("shipped 1.00 promoted", default_pods(1.0), PROMOTED, most=0.015, settings=SHIPPED),
    Bar("shipped 1.00 called slower", default_pods(1.0), CALLED_SLOWER, most=0.02, settings=SHIPPED),
    Bar(
        "phi .9, residence known: 1.00 promoted",
        Stream(1.0, phi=0.9),
        PROMOTED,
        most=0.03,
        learned=LONG_REQUESTS,
    ),
    Bar("young and slow, 1.05 retired", Stream(1.05, windows=60, young=0.10), RETIRED, most=0.05),
    Bar("young, calm: 1.05 retired", Stream(1.05, windows=60, young=0.10, sd=0.015), RETIRED, most=0.05),
    Bar("noise 20 %: disaster", Stream(1.0, windows=120, sd=0.2), DISASTER, most=0.005, learned=VERY_NOISY),
    *stationary("3 % stragglers,", straggling=0.03),
    *stationary("t3,", heavy=True),
    *stationary("30 % missing,", missing=0.30),
    Bar("few requests: windows used", Stream(1.2, few=20.0), USED_MOST, least=0.99),
    Bar("few requests: 1.20 promoted", Stream(1.2, few=20.0), PROMOTED, least=0.99),
    Bar("0.05 out in 5, under the floor", Stream(0.05, under=0.05), out_by(5), least=1.0),
]


@cache
def run(stream: Stream, learned: Learned, settings: Settings) -> tuple[Ended, ...]:
    """The same stream is judged once, whatever is counted in it."""
    rng = random.Random(repr(stream))
    return tuple(_end(stream, rng, learned, settings) for _ in range(RUNS))


def _end(stream: Stream, rng: random.Random, learned: Learned, settings: Settings) -> Ended:
    state, verdict, looked = judge(stream.trial(rng), settings, learned)
    said = summary(state)
    known = said.lower is not None and said.upper is not None
    return Ended(
        verdict.outcome if verdict else Outcome.INCONCLUSIVE,
        looked,
        said.windows_used,
        not known or said.lower <= stream.ratio <= said.upper,  # type: ignore[operator]
    )


def luck(share: float, runs: int) -> int:
    """So many of `runs` may count where each does with this probability: in 0.5 % of cases it is more."""
    if runs >= STRICT_FROM or not 0 < share < 1:
        return math.floor(share * runs)
    chance, total, count = (1 - share) ** runs, 0.0, 0
    while total + chance < 1 - LUCK:
        total += chance
        chance *= (runs - count) / (count + 1) * share / (1 - share)
        count += 1
    return count


@pytest.mark.parametrize("bar", BARS, ids=lambda bar: bar.name)
def test_the_judge_reaches_its_bar(bar: Bar) -> None:
    stream = bar.stream
    settings = bar.settings or Settings(pod_sd=stream.pod_sd, deadline_seconds=stream.windows * SECONDS)
    ends = run(stream, bar.learned, settings)
    counted = [end for end in ends if bar.counts(end)]
    typical = median(end.window for end in counted) if counted else math.inf
    print(f"{bar.name}: {len(counted) / len(ends):.2%} of {len(ends)}, median window {typical:g}")
    assert len(counted) <= luck(bar.most, len(ends))
    assert len(ends) - len(counted) <= luck(1 - bar.least, len(ends))
    assert math.isinf(bar.by) or typical <= bar.by


def test_thirty_candidates_worth_nothing_promote_hardly_one() -> None:
    """Each further candidate of a model pays for it: all of them together err as often as one may."""
    families, rng = max(10, RUNS // 15), random.Random(8)
    winners = 0
    for _ in range(families):
        for attempt in range(1, 31):
            settings = Settings(pod_sd=0.0, attempt=attempt)
            _, verdict, _ = judge(Stream(1.0).trial(rng), settings, WATCHED)
            if verdict is not None and verdict.outcome is Outcome.PROMOTED:
                winners += 1
                break
    print(f"30 candidates at 1.00, one promoted: {winners / families:.2%} of {families}")
    assert winners <= luck(0.05, families)
