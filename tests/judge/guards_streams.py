"""Pods and streams for the tests of the guards: what an engine tells beside its speed, with its noise."""

import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from specdeploy.judge.guards import Guards, Limits, Veto, veto, watch
from specdeploy.judge.window import PodWindow

RUNS = int(os.environ.get("SPECDEPLOY_RUNS", "60"))
LIMITS = Limits()
REQUESTS = 60.0

Pair = tuple[PodWindow, PodWindow]


def pod(**fields: Any) -> PodWindow:
    """A pod that had 60 requests in a window, and told all of `fields` beside its speed."""
    return PodWindow("p", 60.0, 24000.0 + REQUESTS, fields.pop("first_tokens", REQUESTS), 480.0, **fields)


def counted(field: str, trial: float, baseline: float, *, requests: float = REQUESTS) -> Pair:
    """One window of trial and baseline with so many events of so many requests."""
    of = {"first_tokens": requests, "http_requests": requests}
    return pod(**of, **{field: trial}), pod(**of, **{field: baseline})


def watched(
    windows: Iterable[Pair], limits: Limits = LIMITS, guards: Guards | None = None
) -> tuple[Guards, Veto | None, int]:
    """Watches windows until a veto: the state, the veto and how many windows it took."""
    guards, looked = guards or Guards(), 0
    for trial, baseline in windows:
        guards = watch(guards, (trial,), (baseline,), limits)
        looked += 1
        found = veto(guards, limits)
        if found is not None:
            return guards, found, looked
    return guards, None, looked


@dataclass(frozen=True)
class Engine:
    """The true figures of an engine: means, and rates per request."""

    first_token: float = 0.2
    length: float = 200.0
    hits: float = 0.6
    client_errors: float = 0.01
    server_errors: float = 0.002
    aborted: float = 0.02
    errored: float = 0.002
    preempted: float = 0.05
    requests: float = REQUESTS


HEALTHY = Engine()


def engine_windows(rng: Random, trial: Engine, baseline: Engine = HEALTHY) -> Iterator[Pair]:
    """Two pods with independent Poisson requests and events, exponential lengths, and 15 % and 8 points of
    noise in the means of time to first token and prefix hits."""
    while True:
        yield engine_pod(rng, trial), engine_pod(rng, baseline)


def engine_pod(rng: Random, engine: Engine) -> PodWindow:
    begun, finished = poisson(rng, engine.requests), poisson(rng, engine.requests)
    queries = 500.0 * begun
    hits = min(1.0, max(0.0, rng.gauss(engine.hits, 0.08)))
    return pod(
        first_tokens=begun,
        requests_waiting=0.0,
        ttft_seconds=begun * engine.first_token * math.exp(rng.gauss(0, 0.15)),
        finished_requests=finished,
        finished_tokens=rng.gammavariate(finished, engine.length) if finished else 0.0,
        aborted_requests=poisson(rng, engine.aborted * begun),
        errored_requests=poisson(rng, engine.errored * begun),
        http_requests=begun,
        client_errors=poisson(rng, engine.client_errors * begun),
        server_errors=poisson(rng, engine.server_errors * begun),
        preemptions=poisson(rng, engine.preempted * begun),
        prefix_queries=queries,
        prefix_hits=hits * queries,
        kv_tokens=100000.0,
        max_model_len=8192.0,
    )


def poisson(rng: Random, mean: float) -> float:
    """By the exponential gaps between events, which is exact."""
    count, time = 0, rng.expovariate(1.0)
    while time < mean:
        count += 1
        time += rng.expovariate(1.0)
    return float(count)


def changed(pair: Pair, **fields: Any) -> Pair:
    """The same window with other figures on the trial."""
    return pair[0]._replace(**fields), pair[1]
