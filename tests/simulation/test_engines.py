"""The engine model against measured figures, and what must hold at any load."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdeploy.simulation.engines import (
    Pace,
    RoundCosts,
    Work,
    mixed_tau,
    plain,
    round_costs,
    serve,
    speed_at,
    tokens_per_round,
)
from specdeploy.simulation.reading import read_scenario, shipped
from specdeploy.simulation.scenario import Acceptance, Cost, DrafterEngine, Target

TARGET = Target(fixed_ms=10, per_request_ms=0.1)
# Requests at once -> tokens per second without a drafter, and the ratio with one: MI350X, DeepSeek-V4,
# DSpark, seven drafted tokens (vLLM PR 52362).
MI350X = {4: (381.53, 2.543), 8: (729.2, 2.417), 16: (1342.83, 2.167), 32: (2392.99, 1.988),
          64: (4094.75, 1.639), 128: (6340.78, 1.385), 256: (8878.57, 0.884)}  # fmt: skip


def _pace(target: Target, cost: RoundCosts, tau: float, slots: int = 512) -> Pace:
    captured = target.captured
    if captured is None:
        return Pace(cost, tau, slots)
    return Pace(cost, tau, slots, captured.tokens, captured.factor)


@pytest.mark.parametrize("requests", MI350X)
def test_the_load_curve_of_a_measured_pair_is_met(requests: int) -> None:
    scenario, _ = read_scenario(shipped()["graph-cliff"].read_text(encoding="utf-8"), "graph-cliff")
    target, drafter = scenario.target, scenario.drafters["dspark"]
    tokens, ratio = MI350X[requests]
    usual = speed_at(_pace(target, plain(target), 1.0), requests)
    cost = round_costs(target, drafter.cost, 7)
    fast = speed_at(_pace(target, cost, mixed_tau(drafter, {}, 7, 1.0)), requests)
    assert usual * requests == pytest.approx(tokens, rel=0.05)
    assert fast / usual == pytest.approx(ratio, rel=0.06)


@pytest.mark.parametrize(
    ("a", "b", "n", "tau", "ratio"),
    [
        (4.11, 0.185, 1, 1.89, 0.44),  # Qwen3-8B, EAGLE-3, MATH500
        (1.06, 0.1104, 7, 5.26, 2.87),  # gemma-4-26B, DFlash, MATH500
        (1.0, 0.305, 4, 4.44, 2.00),  # gemma-4-31B, MTP
    ],
)
def test_a_measured_panel_is_met_at_its_own_concurrency(
    a: float, b: float, n: int, tau: float, ratio: float
) -> None:
    cost = round_costs(TARGET, Cost(a=a, b=b, concurrency=10), n)
    speeds = speed_at(Pace(cost, tau, 64), 10) / speed_at(Pace(plain(TARGET), 1.0, 64), 10)
    assert speeds == pytest.approx(ratio, rel=0.01)


def test_a_panel_that_is_cheaper_than_verification_is_refused() -> None:
    with pytest.raises(ValueError, match="verifying a token costs"):
        round_costs(TARGET, Cost(a=1, b=0.1, concurrency=200), 3)


@pytest.mark.parametrize(
    ("q1", "tail", "n", "tokens"),
    [
        (0.881, 0.872, 7, 5.26),  # gemma-4-26B, DFlash, MATH500
        (0.89, 0.0, 1, 1.89),  # Qwen3-8B, EAGLE-3, MATH500
        (0.948, 0.93, 2, 2.83),  # gemma-4-26B, MTP, GSM8K
    ],
)
def test_the_conditional_chain_gives_the_measured_tokens_per_round(
    q1: float, tail: float, n: int, tokens: float
) -> None:
    assert tokens_per_round(Acceptance(q1=q1, tail=tail), n) == pytest.approx(tokens, rel=0.01)


def test_rounds_of_a_mixed_workload_add_up() -> None:
    engine = DrafterEngine(
        cost=Cost(steps=1), acceptance={"chat": Acceptance(tau=2), "code": Acceptance(tau=4)}
    )
    # 100 tokens of each kind take 50 and 25 rounds.
    assert mixed_tau(engine, {"chat": 1, "code": 1}, 3, 1.0) == pytest.approx(200 / 75)


def test_beyond_the_captured_graphs_a_step_is_slower_at_once() -> None:
    pace = Pace(RoundCosts(0.01, 0.0001, 8), 4.0, 512, captured=1024, factor=5)
    assert speed_at(pace, 128) / speed_at(pace, 129) == pytest.approx(5, rel=0.02)


def _work(rate: float, *, seconds: float = 60.0, output: float = 501.0, patience: float = math.inf) -> Work:
    return Work(seconds, rate, output, 0.0, 1.0, patience)


def test_below_its_slots_an_engine_serves_what_comes_at_the_batch_that_this_needs() -> None:
    pace = Pace(plain(TARGET), 1.0, 64)
    done = serve(pace, _work(1.0), 0.0)
    assert done.tokens == pytest.approx(60 * 500)
    assert done.queue == 0
    # A request finds itself and the others: its speed is that of one request more than the mean.
    assert done.tokens / done.decode_seconds == pytest.approx(speed_at(pace, done.batch + 1))


def test_beyond_its_slots_a_queue_grows_and_is_served_later() -> None:
    pace = Pace(plain(TARGET), 1.0, 8)
    capacity = 8 * speed_at(pace, 8) / 500
    rush = serve(pace, _work(2 * capacity), 0.0)
    assert rush.batch == pytest.approx(8)
    assert rush.queue == pytest.approx(capacity * 60)
    calm = serve(pace, _work(capacity / 2), rush.queue)
    assert calm.queue == pytest.approx(rush.queue - capacity * 30)


def test_clients_give_up_what_would_wait_too_long() -> None:
    pace = Pace(plain(TARGET), 1.0, 8)
    capacity = 8 * speed_at(pace, 8) / 500
    done = serve(pace, _work(3 * capacity, patience=20.0), 0.0)
    assert done.queue == pytest.approx(20 * capacity)
    assert done.given_up == pytest.approx(100 * capacity)


@given(
    rate=st.floats(0.001, 50),
    queue=st.floats(0, 5000),
    slots=st.integers(1, 300),
    seconds=st.floats(1, 600),
    tau=st.floats(1, 8),
    patience=st.floats(1, 1e6),
)
def test_no_request_is_lost_or_made_and_no_slot_is_used_twice(
    rate: float, queue: float, slots: int, seconds: float, tau: float, patience: float
) -> None:
    pace = Pace(RoundCosts(0.01, 0.0003, 4), tau, slots)
    done = serve(pace, _work(rate, seconds=seconds, patience=patience), queue)
    assert done.admitted + done.given_up + done.queue == pytest.approx(queue + rate * seconds)
    assert 0 <= done.batch <= slots * (1 + 1e-9)
    assert min(done.admitted, done.given_up, done.queue, done.waiting_seconds) >= 0
