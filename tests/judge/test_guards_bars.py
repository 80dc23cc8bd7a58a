"""What the guards must reach on simulated traffic. SPECDEPLOY_RUNS=1000 is the full size."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from random import Random
from statistics import median

import pytest

from specdeploy.judge.guards import CountLimit, Guard, Veto
from tests.judge.guards_streams import LIMITS, RUNS, Engine, Pair, counted, engine_windows, watched

WINDOWS = 240
pytestmark = pytest.mark.slow


def vetoes(windows: Iterator[Pair]) -> tuple[Veto | None, int]:
    _, found, looked = watched(islice(windows, WINDOWS))
    return found, looked


@pytest.mark.parametrize(
    "engine",
    [
        Engine(),
        Engine(client_errors=0.0, server_errors=0.0, aborted=0.0, errored=0.0, preempted=0.0),
        Engine(client_errors=0.1, server_errors=0.05, aborted=0.2, errored=0.05, preempted=1.0),
        Engine(requests=3.0, client_errors=0.1, server_errors=0.1, aborted=0.2),
    ],
    ids=["usual", "no events", "many events", "little traffic"],
)
def test_equal_arms_are_left_alone(engine: Engine) -> None:
    """At most 0.5 % of runs for each guard: counted over all guards at once."""
    rng = Random(11)
    found = [vetoes(engine_windows(rng, engine, engine))[0] for _ in range(RUNS)]
    assert sum(each is not None for each in found) <= max(1, 0.005 * RUNS)


# What is wrong with the trial, which guard must see it, and by which window in half and in 95 % of runs.
HARM = [
    (Engine(client_errors=0.05), Guard.CLIENT_ERRORS, 40, 80),
    (Engine(server_errors=0.05), Guard.SERVER_ERRORS, 10, 16),
    (Engine(aborted=0.06), Guard.ABORTED_REQUESTS, 85, 240),
    (Engine(errored=0.02), Guard.ERRORED_REQUESTS, 35, 75),
    (Engine(preempted=0.4), Guard.PREEMPTIONS, 20, 28),
    (Engine(first_token=0.4), Guard.TIME_TO_FIRST_TOKEN, 22, 32),
    (Engine(hits=0.2), Guard.PREFIX_HITS, 18, 22),
    (Engine(length=300.0), Guard.OUTPUT_LENGTH, 25, 40),
]


@pytest.mark.parametrize(("engine", "guard", "half", "nearly_all"), HARM, ids=[each[1] for each in HARM])
def test_harm_is_found(engine: Engine, guard: Guard, half: int, nearly_all: int) -> None:
    rng = Random(12)
    ends = [vetoes(engine_windows(rng, engine)) for _ in range(RUNS)]
    assert {found.cause for found, _ in ends if found} == {guard}
    took = sorted(looked if found else WINDOWS + 1 for found, looked in ends)
    assert median(took) <= half
    assert took[int(0.95 * len(took))] <= nearly_all


def test_refused_requests_on_the_trial_alone_are_found() -> None:
    """vLLM answers 400 to min_p and logit_bias under speculation: here to 2 % of the requests."""
    rng = Random(13)
    quiet = Engine(client_errors=0.0)
    ends = [vetoes(engine_windows(rng, Engine(client_errors=0.02), quiet)) for _ in range(RUNS)]
    assert {found.cause for found, _ in ends if found} == {Guard.CLIENT_ERRORS}
    assert sorted(looked for _, looked in ends)[int(0.95 * RUNS)] <= 40


# An engine that has exactly the events that its limit allows, beside one with the same before the limit.
AT_THE_LIMIT = {
    "little": (
        Engine(client_errors=0.01, server_errors=0.01, aborted=0.02, errored=0.01, preempted=0.05),
        60.0,
    ),
    "many": (Engine(client_errors=0.1, server_errors=0.1, aborted=0.2, errored=0.1, preempted=0.5), 300.0),
}


def at_the_limit(engine: Engine, requests: float) -> tuple[Engine, Engine]:
    def allowed(rate: float, limit: CountLimit | None) -> float:
        assert limit is not None
        return (1 + limit.increase) * rate + limit.rate

    trial = replace(
        engine,
        requests=requests,
        client_errors=allowed(engine.client_errors, LIMITS.client_errors),
        server_errors=allowed(engine.server_errors, LIMITS.server_errors),
        aborted=allowed(engine.aborted, LIMITS.aborted_requests),
        errored=allowed(engine.errored, LIMITS.errored_requests),
        preempted=allowed(engine.preempted, LIMITS.preemptions),
    )
    return trial, replace(engine, requests=requests)


@pytest.mark.parametrize(("engine", "requests"), AT_THE_LIMIT.values(), ids=AT_THE_LIMIT)
def test_an_engine_at_its_very_limits_is_left_alone(engine: Engine, requests: float) -> None:
    """At most 0.001 for each of the five guards: 0.5 % over all."""
    rng = Random(15)
    found = [vetoes(engine_windows(rng, *at_the_limit(engine, requests)))[0] for _ in range(RUNS)]
    assert sum(each is not None for each in found) <= max(1, 0.005 * RUNS)


@pytest.mark.parametrize("field", ["client_errors", "aborted_requests", "preemptions"])
def test_bursts_that_hit_either_arm_by_chance_end_nothing(field: str) -> None:
    """In 3 windows of 10 one arm, by chance, gets a burst of events of any size up to all requests."""
    rng = Random(14)
    found = [vetoes(bursts(rng, field))[0] for _ in range(RUNS)]
    assert sum(each is not None for each in found) <= max(1, 0.01 * RUNS)


def bursts(rng: Random, field: str) -> Iterator[Pair]:
    while True:
        size = min(60.0, round(3 * rng.paretovariate(1.1))) if rng.random() < 0.3 else 0.0
        on_trial = rng.random() < 0.5
        yield counted(field, size if on_trial else 0.0, 0.0 if on_trial else size)
