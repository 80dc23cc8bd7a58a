"""Streams of windows of a baseline and a trial, with a known truth.

Demand is a shock (AR(1), sd 10 %, phi .9) and a swing over the day (15 %); both arms get the same requests,
as behind a Service, and their speed falls with the batch by the same curve (elasticity -0.33). ln speed of an
arm has its own noise besides (AR(1), sd 5 %, phi .3). The ratio of a trial is the one at equal batch: at
equal demand the slower arm has the larger batch, and reads as slower still. One pod an arm. The baseline runs
alone for an hour before the trial. Faults are laid over that.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from specdeploy.judge import BASELINE, TRIAL, PodWindow, Window

SECONDS = 60.0
SPEED = 50.0
REQUESTS = 60
TOKENS_A_REQUEST = 400
ELASTICITY = -0.33
HISTORY = 60
SHOCK_SD, SHOCK_PHI = 0.10, 0.9
SWING, DAY_WINDOWS = 0.15, 1440
OWN_SD, OWN_PHI = 0.05, 0.3

FAULT_AT = 5
QUIET_WINDOWS = 60
OUTAGE_WINDOWS = 10
LOADING_WINDOWS = 2
YOUNG_WINDOWS, YOUNG_SPEED = 10, 0.7
LOAD_SHARE = 3.0
QUEUE_GROWTH = 12
SLOTS_SPEED, SLOTS_SHARE = 1.33, 0.8


class Load(NamedTuple):
    """One arm in one window: its speed (tokens per request-decode-second), requests begun, and what its pod
    tells of itself."""

    speed: float
    requests: int
    waiting: float = 0.0
    restarts: float = 0.0
    ready_seconds: float = 1e6


Arms = dict[str, Load]
Fault = Callable[[int, Arms], Arms]


def stream(rng: random.Random, ratio: float, fault: Fault, windows: int) -> Iterator[Window]:
    """HISTORY windows of the baseline alone, then `windows` of a trial at the true `ratio`."""
    shock = noise(rng, SHOCK_SD, SHOCK_PHI)
    baseline, trial = noise(rng, OWN_SD, OWN_PHI), noise(rng, OWN_SD, OWN_PHI)
    hour = rng.random()
    for index in range(HISTORY + windows):
        demand = next(shock) + SWING * math.sin(2 * math.pi * (hour + index / DAY_WINDOWS))
        requests = round(REQUESTS * math.exp(demand))
        arms = {BASELINE: Load(speed(1.0, demand) * math.exp(next(baseline)), requests)}
        if index >= HISTORY:
            arms[TRIAL] = Load(speed(ratio, demand) * math.exp(next(trial)), requests)
            arms = fault(index - HISTORY, arms)
        yield Window(index, SECONDS, {name: (pod(name, load),) for name, load in arms.items()})


def speed(ratio: float, demand: float) -> float:
    """Where demand (its log, 0 the usual) and an engine of `ratio` at equal batch meet: the batch follows
    from the speed, and the speed from the batch."""
    return SPEED * math.exp((math.log(ratio) + ELASTICITY * demand) / (1 + ELASTICITY))


def noise(rng: random.Random, sd: float, phi: float) -> Iterator[float]:
    """A stationary Gaussian AR(1) series."""
    value = rng.gauss(0, sd)
    fresh = sd * math.sqrt(1 - phi * phi)
    while True:
        yield value
        value = phi * value + rng.gauss(0, fresh)


def pod(name: str, load: Load) -> PodWindow:
    """The counters that a pod under this load would show."""
    decoded = load.requests * TOKENS_A_REQUEST
    return PodWindow(
        name,
        SECONDS,
        generation_tokens=decoded + load.requests,
        first_tokens=load.requests,
        itl_seconds=decoded / load.speed,
        requests_waiting=load.waiting,
        ready_seconds=load.ready_seconds,
        restarts=load.restarts,
    )


def nothing(_: int, arms: Arms) -> Arms:
    """No fault."""
    return arms


def no_traffic(index: int, arms: Arms) -> Arms:
    """An hour without a request."""
    if not FAULT_AT <= index < FAULT_AT + QUIET_WINDOWS:
        return arms
    return {name: load._replace(requests=0) for name, load in arms.items()}


def outage(index: int, arms: Arms) -> Arms:
    """Ten windows in which nobody answers for the metrics; the engines go on."""
    return {} if FAULT_AT <= index < FAULT_AT + OUTAGE_WINDOWS else arms


def restart(name: str) -> Fault:
    """The pod of one arm restarts: its counters begin anew, it loads, and is slow while it is young."""
    ready = FAULT_AT + 1 + LOADING_WINDOWS

    def fault(index: int, arms: Arms) -> Arms:
        load, age = arms[name], index - ready
        if index < FAULT_AT:
            return arms
        if index == FAULT_AT:
            return arms | {name: load._replace(requests=load.requests // 3, restarts=1.0)}
        if age < 0:
            return {other: each for other, each in arms.items() if other != name}
        slow = YOUNG_SPEED ** max(0.0, 1 - age / YOUNG_WINDOWS)
        young = load._replace(speed=load.speed * slow, ready_seconds=(age + 1) * SECONDS)
        return arms | {name: young}

    return fault


def unequal_load(_: int, arms: Arms) -> Arms:
    """The trial gets a third of the requests; at that batch any engine is faster for each of them."""
    load = arms[TRIAL]
    faster = speed(1.0, -math.log(LOAD_SHARE)) / SPEED
    return arms | {
        TRIAL: load._replace(requests=round(load.requests / LOAD_SHARE), speed=load.speed * faster)
    }


def growing_queue(index: int, arms: Arms) -> Arms:
    """The drafter's memory took slots away: a small, fast batch, fewer tokens a second, a queue without
    end."""
    load = arms[TRIAL]
    served = round(load.requests * SLOTS_SHARE)
    waiting = float(QUEUE_GROWTH * (index + 1))
    return arms | {TRIAL: load._replace(speed=load.speed * SLOTS_SPEED, requests=served, waiting=waiting)}
