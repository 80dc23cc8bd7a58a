"""What serves after a promotion, for the guard's tests."""

import random
from collections.abc import Iterable, Iterator

from specdeploy.judge import BASELINE, SERVING, TRIAL, Outcome, Settings, Window
from specdeploy.judge.guard import Alarm, GuardState, guard, start_guard
from tests.judge.windows import SECONDS, SPEED, judge, noisy_windows, pod

SETTINGS = Settings()
EXACT = Settings(pod_sd=0.0)
FIRST = 1000


def promoted(seed: int = 1, settings: Settings = SETTINGS) -> GuardState:
    """The guard of a drafter that a trial has proven to be 1.3 times as fast."""
    state, verdict, _ = judge(noisy_windows(random.Random(seed), 1.3, 240, pod_sd=settings.pod_sd), settings)
    assert verdict is not None
    assert verdict.outcome is Outcome.PROMOTED
    return start_guard(state, settings)


def serving(windows: Iterable[Window], first: int = FIRST) -> Iterator[Window]:
    """A trial's windows as those of what serves, from the index `first` on."""
    for each in windows:
        arms = {BASELINE: each.arms[BASELINE], SERVING: each.arms[TRIAL]}
        yield Window(first + each.index, each.seconds, arms)


def watched(
    state: GuardState, windows: Iterable[Window], settings: Settings = SETTINGS
) -> tuple[GuardState, Alarm | None, int]:
    """Guards windows until an alarm: the state, the alarm and how many windows were looked at."""
    looked = 0
    for each in windows:
        looked += 1
        state, alarm = guard(state, each, settings)
        if alarm is not None:
            return state, alarm, looked
    return state, None, looked


def after(ratio: float, count: int, *, seed: int = 7, first: int = FIRST, **more: float) -> Iterator[Window]:
    return serving(noisy_windows(random.Random(seed), ratio, count, **more), first)


def lonely(index: int, acceptance: float, speed: float = SPEED) -> Window:
    """What serves, without a baseline."""
    alone = pod(speed, draft_tokens=10_000.0, accepted_tokens=10_000.0 * acceptance)
    return Window(index, SECONDS, {SERVING: (alone,)})
