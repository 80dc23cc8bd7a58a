"""Histories of a baseline for the judge's tests."""

import math
import random
from collections.abc import Iterable, Iterator

from specdeploy.judge import (
    BASELINE,
    PodWindow,
    Settings,
    Window,
)
from specdeploy.judge.history import History, learn, remember
from specdeploy.judge.learned import Learned
from tests.judge.windows import SECONDS, SPEED, noise, pod

SETTINGS = Settings()


def taught(windows: Iterable[Window], settings: Settings = SETTINGS) -> History:
    history = History()
    for each in windows:
        history = remember(history, each, settings)
    return history


def learned(windows: Iterable[Window], settings: Settings = SETTINGS) -> Learned:
    return learn(taught(windows, settings), settings)


def alone(index: int, *pods: PodWindow, seconds: float = SECONDS) -> Window:
    return Window(index, seconds, {BASELINE: pods or (pod(),)})


def on_a_line(
    slope: float,
    count: int,
    *,
    spread: float = 0.2,
    sd: float = 0.02,
    phi: float = 0.0,
    demand_phi: float = 0.0,
    first: float = 60.0,
    seed: int = 1,
) -> Iterator[Window]:
    """ln R = ln 50 + slope d + noise, d around the usual tokens."""
    rng = random.Random(seed)
    demand, rest = noise(rng, spread, demand_phi), noise(rng, sd, phi)
    for index in range(count):
        d = next(demand)
        yield alone(
            index, pod(SPEED * math.exp(slope * d + next(rest)), tokens=24000 * math.exp(d), first=first)
        )


def arm_of(offsets: dict[str, float], index: int, rng: random.Random, sd: float = 0.05) -> Window:
    pods = (pod(SPEED * math.exp(rng.gauss(offset, sd)), name=name) for name, offset in offsets.items())
    return alone(index, *pods)
