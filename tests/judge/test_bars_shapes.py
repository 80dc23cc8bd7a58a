"""What the judge must reach on two arms of a toy engine.

Speed that falls with the batch, unequal load, queues, clients that wait, a batch that the trial never saw.

CI runs few trials a row, since an engine costs more than noise, and leaves out the rows that ask the same at
another batch; their seed is fixed, so luck is no excuse and a share is only rounded up. SPECDEPLOY_RUNS=1000
asks for all the bars themselves. `pytest -rP` prints each figure beside its bar.
"""

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import pytest

from specdeploy.judge import BASELINE, TRIAL, Learned, Outcome, Settings, Summary, Window, expire, summary
from specdeploy.judge.history import History, learn, remember
from tests.judge.engines import Drafter, Engine, Pod, play
from tests.judge.streams import SECONDS, Played, ar1
from tests.judge.test_bars import RUNS, STRICT_FROM
from tests.judge.windows import WATCHED, judge

FULL_SIZE = RUNS >= STRICT_FROM

pytestmark = pytest.mark.slow


Trials = Callable[[random.Random], tuple[Iterator[Window], Learned]]
"""Gives the windows of one trial and what is known when it starts."""


class Ended(NamedTuple):
    """How one trial ended, after how many windows, and its numbers then."""

    outcome: Outcome
    window: int
    numbers: Summary


@dataclass(frozen=True)
class Bar:
    """At most or at least a share of the trials counts; `few` are the trials in CI."""

    name: str
    trials: Trials
    counts: Callable[[Ended], bool]
    most: float = 1.0
    least: float = 0.0
    few: int = 15


def played(trial: Played, learned: Learned = WATCHED) -> Trials:
    return lambda rng: (trial.trial(rng), learned)


def taught(content: float, ratio: float, batch: float = 10.0, share: float = 1.0) -> Trials:
    """Baseline history under a load that goes up and down, with content noise on the engine's speed; then a
    trial at a load in between."""

    def make(rng: random.Random) -> tuple[Iterator[Window], Learned]:
        engine = Engine()
        settings, history = Settings(), History()
        pod = Pod(engine, random.Random(rng.random()), noise=ar1(rng, content, 0.3))
        rates = [engine.rate_for(batch) for batch in HISTORY_BATCHES]
        for window in play({BASELINE: [pod]}, lambda index: rates[index // 6 % len(rates)], HISTORY_WINDOWS):
            history = remember(history, window, settings)
        trial = Played(ratio, content=content, batch=batch, share=share)
        return trial.trial(rng), learn(history, settings)

    return make


HISTORY_WINDOWS = 240
HISTORY_BATCHES = (4.0, 7.0, 10.0, 14.0, 18.0, 14.0, 10.0, 7.0)


def unequal(batch: float) -> Trials:
    return played(Played(batch=batch, share=0.9))


NOISY_HISTORY = taught(0.10, 1.2)
NIGHT = Drafter(depth=5, tau=2.2, fixed=0.1, per_token=0.05)


def at_night(rng: random.Random) -> tuple[Iterator[Window], Learned]:
    """A drafter that wins at batch 2 and loses at batch 40, tried at night; half of the day's load runs at
    the peak."""
    plain, drafting = Engine(), Engine(drafter=NIGHT)
    arms = {
        BASELINE: [Pod(plain, random.Random(rng.random()))],
        TRIAL: [Pod(drafting, random.Random(rng.random()))],
    }
    rate = plain.rate_for(2.0)
    learned = Learned(windows=1440, shares=(0.2, 0.1, 0.7, 0.0))
    return play(arms, lambda _: rate, 120), learned


def outcome(*which: Outcome) -> Callable[[Ended], bool]:
    return lambda end: end.outcome in which


def disaster_by(window: int) -> Callable[[Ended], bool]:
    return lambda end: end.outcome is Outcome.DISASTER and end.window <= window


def holds(ratio: float) -> Callable[[Ended], bool]:
    def covered(end: Ended) -> bool:
        lower, upper = end.numbers.lower, end.numbers.upper
        return lower is None or upper is None or lower <= ratio <= upper

    return covered


PROMOTED = outcome(Outcome.PROMOTED)


def goes_beyond_half(end: Ended) -> bool:
    """Promoted, and nothing tells the rollout to stop at half of the pods."""
    return end.outcome is Outcome.PROMOTED and "16 to 64" not in end.numbers.uncovered


BARS = [
    *(
        Bar(f"arrivals x0.9 at batch {batch:g}, 1.00 promoted", unequal(batch), PROMOTED, most=0.02, few=30)
        for batch in ((15.0, 34.0) if FULL_SIZE else (34.0,))
    ),
    *(
        Bar(f"the same, taught, batch {batch:g}", taught(0.05, 1.0, batch, 0.9), PROMOTED, most=0.02, few=30)
        for batch in ((10.0, 15.0, 34.0) if FULL_SIZE else (15.0,))
    ),
    Bar("fewer slots, queue grows: promoted", played(Played(1.1, batch=30.0, slots=20)), PROMOTED, most=0.0),
    Bar("pinned clients, 1.50 promoted", played(Played(1.5, clients=16)), PROMOTED, least=0.95),
    Bar("pinned clients, 0.44 out in 5", played(Played(0.44, clients=16)), disaster_by(5), least=1.0),
    Bar("open arrivals, 0.05 out in 5", played(Played(0.05, batch=2.0)), disaster_by(5), least=1.0),
    Bar("history with 10 % noise, 1.20 covered", NOISY_HISTORY, holds(1.2), least=0.90),
    Bar("history with 10 % noise, 1.20 promoted", NOISY_HISTORY, PROMOTED, least=0.95),
    Bar("night trial, beyond half", at_night, goes_beyond_half, most=0.0),
]


@cache
def run(trials: Trials, count: int) -> tuple[Ended, ...]:
    rng = random.Random(1)
    return tuple(_end(*trials(rng)) for _ in range(count))


def _end(windows: Iterator[Window], learned: Learned) -> Ended:
    settings = Settings(pod_sd=0.0, deadline_seconds=120 * SECONDS)
    state, verdict, looked = judge(windows, settings, learned)
    verdict = verdict or expire(state, settings)
    return Ended(verdict.outcome, looked, summary(state))


@pytest.mark.parametrize("bar", BARS, ids=lambda bar: bar.name)
def test_the_judge_reaches_its_bar_on_an_engine(bar: Bar) -> None:
    ends = run(bar.trials, RUNS if FULL_SIZE else bar.few)
    counted = sum(bar.counts(end) for end in ends)
    print(f"{bar.name}: {counted / len(ends):.2%} of {len(ends)}")
    rounded = math.floor if FULL_SIZE else math.ceil
    assert counted <= rounded(bar.most * len(ends))
    assert len(ends) - counted <= rounded((1 - bar.least) * len(ends))
