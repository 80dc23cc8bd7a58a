"""What one engine does with its requests over a period: a fluid with finite slots and a queue, no token loop.

scenario -> Pace (what a step costs and yields now) -> serve() -> Served (what its counters rise by).

Plain decoding takes F + beta C for a step with C requests and yields a token for each. A round with n drafted
tokens takes F + beta C + v C n + d0 + d1 n and yields tau. A request finds 1 + B others' worth of batch, B
being the mean number that decode at once, so with lambda requests/s of o tokens each

    B = u (F' + beta') / (1 - u beta'),   u = lambda o / (tau gain)      [rounds per second and engine]

where F' and beta' are the fixed part and the part per request of a round. Beyond the slots requests wait, and
the queue is carried over to the next period.
"""

import math
from typing import NamedTuple

from specdeploy.simulation.scenario import Acceptance, Cost, DrafterEngine, Target

_MS = 1e-3
# Prompts may take this share of an engine's time at most: beyond it the fluid has no meaning.
_MOST_PREFILL = 0.9


class RoundCosts(NamedTuple):
    """A round in seconds: `fixed` + `per_request` * batch. `tokens`: in a step, of each request."""

    fixed: float
    per_request: float
    tokens: int


class Pace(NamedTuple):
    """How an engine runs now: its round, `tau` tokens a round and request, `slots`, and the size of the
    largest captured step (tokens; inf: any) with the factor beyond it."""

    cost: RoundCosts
    tau: float
    slots: int
    captured: float = math.inf
    factor: float = 1.0


class Work(NamedTuple):
    """What comes to one engine in `seconds`: `rate` requests/s of `output` tokens each (the first one
    counted), `prefill` seconds of the engine's time for each; `gain` multiplies its speed. `patience`:
    seconds after which a request that waits is given up."""

    seconds: float
    rate: float
    output: float
    prefill: float
    gain: float
    patience: float = math.inf


class Served(NamedTuple):
    """What an engine did: requests admitted and given up, decode tokens, request-seconds spent decoding and
    waiting, the mean batch, and requests that wait at the end."""

    admitted: float
    given_up: float
    tokens: float
    decode_seconds: float
    waiting_seconds: float
    batch: float
    queue: float


def plain(target: Target) -> RoundCosts:
    """A step without a drafter."""
    return RoundCosts(target.fixed_ms * _MS, target.per_request_ms * _MS, 1)


def round_costs(target: Target, cost: Cost, tokens: int) -> RoundCosts:
    """A round with `tokens` drafted ones. Raises ValueError where a measured panel is cheaper than the
    target's own verification."""
    step, verify = plain(target), target.drafted_token_ms * tokens
    if cost.steps is not None:
        return RoundCosts(step.fixed * cost.steps, step.per_request * cost.steps, tokens + 1)
    fixed, per_token = cost.fixed_ms or 0.0, cost.per_token_ms
    if cost.a is not None and cost.b is not None and cost.concurrency is not None:
        at = target.step_ms(cost.concurrency)
        fixed = (cost.a - 1) * at
        per_token = cost.b * at - target.drafted_token_ms * cost.concurrency
        if per_token < -1e-9:
            least = target.drafted_token_ms * cost.concurrency / at
            raise ValueError(
                f"b is {cost.b:g} plain steps, but verifying a token costs {least:.4f} at concurrency "
                f"{cost.concurrency:g}"
            )
    extra = (fixed + per_token * tokens) * _MS
    if step.fixed + extra <= 0:
        raise ValueError("a round would take no time")
    return RoundCosts(step.fixed + extra, step.per_request + verify * _MS, tokens + 1)


def tokens_per_round(acceptance: Acceptance, tokens: int, kept: float = 1.0) -> float:
    """tau: 1 + the sum of the chances that the first 1, 2, ... `tokens` drafted ones are all accepted.

    `kept` multiplies every single chance (what decay and faults have left of it).
    """
    if acceptance.tau is not None:
        return 1 + (acceptance.tau - 1) * kept
    survival, total = (acceptance.q1 or 0.0) * kept, 1.0
    for _ in range(tokens):
        total += survival
        survival *= (acceptance.tail or 0.0) * kept
    return total


def mixed_tau(engine: DrafterEngine, shares: dict[str, float], tokens: int, kept: float) -> float:
    """tau over all workloads: their tokens are given, so the rounds add up."""
    if isinstance(engine.acceptance, Acceptance):
        return tokens_per_round(engine.acceptance, tokens, kept)
    total = sum(shares.values())
    if total <= 0:
        return 1.0
    rounds = sum(
        share / tokens_per_round(engine.acceptance[kind], tokens, kept) for kind, share in shares.items()
    )
    return total / rounds


def speed_at(pace: Pace, batch: float) -> float:
    """Decode tokens per request-second with `batch` requests in every step."""
    seconds = pace.cost.fixed + pace.cost.per_request * batch
    beyond = pace.factor if batch * pace.cost.tokens > pace.captured else 1.0
    return pace.tau / (seconds * beyond)


def serve(pace: Pace, work: Work, queue: float) -> Served:
    """What comes, with `queue` requests waiting from before, is served as far as the slots allow."""
    decode = max(1.0, work.output - 1)
    gain = work.gain * (1 - min(_MOST_PREFILL, work.rate * work.prefill))
    capacity = pace.slots * speed_at(pace, pace.slots) * gain / decode
    arrived = work.rate * work.seconds
    busy = _busy(work, capacity, queue)
    calm = work.seconds - busy
    batch = _steady(pace, work.rate * decode / gain) if calm > 0 else 0.0
    admitted = min(queue + arrived, capacity * busy + work.rate * calm)
    waits = max(0.0, queue + arrived - admitted)
    left = min(waits, capacity * work.patience)
    held = pace.slots * busy + batch * calm
    return Served(
        admitted=admitted,
        given_up=waits - left,
        tokens=admitted * decode,
        decode_seconds=held,
        waiting_seconds=(queue + left) / 2 * busy,
        batch=held / work.seconds,
        queue=left,
    )


def _busy(work: Work, capacity: float, queue: float) -> float:
    """For how long all slots are in use: until the queue is served, or to the end."""
    if work.rate >= capacity:
        return work.seconds
    return min(work.seconds, queue / (capacity - work.rate))


def _steady(pace: Pace, demand: float) -> float:
    """The mean batch at which as many tokens come out as are asked for: `demand` tokens/s at gain 1."""
    batch = _fixed_point(pace, demand, 1.0)
    if (1 + batch) * pace.cost.tokens > pace.captured:
        batch = _fixed_point(pace, demand, pace.factor)
    return batch


def _fixed_point(pace: Pace, demand: float, factor: float) -> float:
    rounds = demand / pace.tau * factor
    fixed, each = pace.cost.fixed, pace.cost.per_request
    full = rounds * (fixed + each * pace.slots)
    if rounds * each >= 1:
        return full
    return min(full, rounds * (fixed + each) / (1 - rounds * each))
