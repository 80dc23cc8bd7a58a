"""The two formulas behind the simulation: how long a step takes, and how many drafted tokens are accepted.

With n drafted tokens a round and C requests decoding together, a plain step costs F + beta C, and a
speculative one F + beta C (n + 1) + F (d0 + d1 n). S_i, the chance that positions 1..i are all accepted, is
q1 q^(i-1). Hence speedup = (1 + sum S_i) / c(n; C) with c the ratio of the two step times.
"""

from __future__ import annotations

import math

from vllm_sim.knobs import Knobs


def step_seconds(knobs: Knobs, *, decoding: int, drafted: int, drafts: int, prompt_tokens: int) -> float:
    """One engine step in seconds, without noise.

    `drafted` tokens are verified for the `drafts` requests that carry any, beside one token of each
    `decoding` request and the prompts being prefilled.
    """
    milliseconds = knobs.base_ms + knobs.token_ms * (decoding + drafted) + knobs.prefill_ms * prompt_tokens
    if drafts:
        milliseconds += knobs.base_ms * (knobs.d0 + knobs.d1 * drafted / drafts)
    return milliseconds / 1000


def rejection_thresholds(
    knobs: Knobs, tokens: int, shift: float = 0.0, seconds: float = 0.0
) -> tuple[float, ...]:
    """1 - S_i for i = 1..tokens: a uniform draw accepts as many tokens as it reaches thresholds.

    `shift` is the request's own, on logit q: some answers are easier to draft than others. `seconds` since
    the engine's start are for acceptance that decays.
    """
    left = math.exp(-knobs.decay_per_hour * seconds / 3600)
    first, later = _shifted(left * knobs.q1, shift), _shifted(left * knobs.q, shift)
    return tuple(1 - first * later**i for i in range(tokens))


def mean_accepted_length(knobs: Knobs, tokens: int) -> float:
    """Tokens a request gains per step, the target's own included (1 = drafting gains nothing)."""
    return 1 + knobs.coverage * sum(1 - threshold for threshold in rejection_thresholds(knobs, tokens))


def expected_speedup(knobs: Knobs, tokens: int, batch: int) -> float:
    """Decode speed per request relative to an engine without a drafter, at the same `batch`, no prefill.

    Exact for full coverage; with less, a step without any draft is rare enough in a batch to be left out.
    """
    plain = step_seconds(knobs, decoding=batch, drafted=0, drafts=0, prompt_tokens=0)
    drafts = max(1, round(batch * knobs.coverage))
    round_ = step_seconds(knobs, decoding=batch, drafted=drafts * tokens, drafts=drafts, prompt_tokens=0)
    return mean_accepted_length(knobs, tokens) * plain / round_


def _shifted(chance: float, shift: float) -> float:
    if shift == 0 or chance <= 0 or chance >= 1:
        return chance
    return 1 / (1 + math.exp(-(math.log(chance / (1 - chance)) + shift)))
