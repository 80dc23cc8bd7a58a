"""Windows and streams of windows for the judge's tests."""

import math
import random
from collections.abc import Callable, Iterable, Iterator

from specdeploy.judge import (
    BASELINE,
    SERVING,
    TRIAL,
    Learned,
    PodWindow,
    Settings,
    TrialState,
    Verdict,
    Window,
    observe,
    start,
)

SECONDS = 60.0
SPEED = 50.0
DECODE_TOKENS = 24000.0
FIRST_TOKENS = 60.0
WATCHED = Learned(windows=60)
"""A baseline that was watched before the trial, and whose load never changed: it taught no weight."""


def pod(
    speed: float = SPEED,
    *,
    name: str = "p",
    tokens: float = DECODE_TOKENS,
    first: float = FIRST_TOKENS,
    seconds: float = SECONDS,
    **more: float,
) -> PodWindow:
    """A pod that decoded `tokens` at `speed` tokens per request-decode-second."""
    return PodWindow(name, seconds, tokens + first, first, tokens / speed, **more)


def window(
    index: int, ratio: float | PodWindow = 1.0, *, serving: float | None = None, seconds: float = SECONDS
) -> Window:
    """One pod an arm; the trial at `ratio` times, what serves at `serving` times the baseline's speed."""
    trial = ratio if isinstance(ratio, PodWindow) else pod(SPEED * ratio, seconds=seconds)
    arms = {BASELINE: (pod(seconds=seconds),), TRIAL: (trial,)}
    if serving is not None:
        arms[SERVING] = (pod(SPEED * serving, seconds=seconds),)
    return Window(index, seconds, arms)


def judge(
    windows: Iterable[Window], settings: Settings | None = None, learned: Learned = WATCHED
) -> tuple[TrialState, Verdict | None, int]:
    """Judges windows until a verdict: the state, the verdict and how many windows were looked at."""
    settings = settings or Settings()
    state, looked = start(settings, learned), 0
    for each in windows:
        looked += 1
        state, verdict = observe(state, each, settings)
        if verdict is not None:
            return state, verdict, looked
    return state, None, looked


def noise(rng: random.Random, sd: float, phi: float) -> Iterator[float]:
    """A stationary Gaussian AR(1) stream."""
    value = rng.gauss(0, sd)
    while True:
        yield value
        value = phi * value + rng.gauss(0, sd * math.sqrt(1 - phi * phi))


def noisy_windows(
    rng: random.Random,
    ratio: float,
    count: int,
    *,
    sd: float = 0.05,
    phi: float = 0.3,
    pod_sd: float = 0.0,
    shape: Callable[[int], float] = lambda _: 0.0,
) -> Iterator[Window]:
    """Both arms with their own noise of `sd` per window around the true `ratio`, a constant offset of
    `pod_sd` per pod, and `shape` (of the window's number from 0) added to the trial's log speed."""
    baseline, trial = noise(rng, sd, phi), noise(rng, sd, phi)
    offset_baseline, offset_trial = rng.gauss(0, pod_sd), rng.gauss(0, pod_sd)
    for index in range(count):
        slow = pod(SPEED * math.exp(next(baseline) + offset_baseline))
        fast = pod(SPEED * ratio * math.exp(next(trial) + offset_trial + shape(index)))
        yield Window(index, SECONDS, {BASELINE: (slow,), TRIAL: (fast,)})
