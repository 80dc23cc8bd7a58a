"""What can be set about one simulated arm, before it starts and while it runs.

Sources, each overriding the ones before it (see `drafters.arm_knobs`): defaults of the method, `VLLM_SIM_*`
environment variables, the `VLLM_SIM_DRAFTERS` table, the query suffix of the drafter's checkpoint name, and
`POST /sim/knobs` on the running server.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

START_FAILURES = (
    "bad-config",
    "missing-draft",
    "vocabulary",
    "unsupported-method",
    "missing-package",
    "crash-loading",
    "free-memory",
)
RUN_FAILURES = ("crash", "engine-death", "hang", "killed")
METRICS_MODES = ("ok", "garbage", "binary", "endless", "slow", "error")

_PROBABILITIES = frozenset(
    {"q1", "q", "coverage", "kv_loss", "prefix_hits", "error_share", "repetition_share", "corrupt_share"}
)
_POSITIVE = frozenset({"base_ms", "answer_tokens", "tick_ms", "young_slowdown"})


class KnobError(ValueError):
    """A knob that does not exist, or a value out of its range."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """Behaviour of one arm. Costs without a unit are multiples of `base_ms`."""

    q1: float = 0.8
    """Chance that the first drafted token is accepted."""
    q: float = 0.8
    """Chance that each later one is, given that all before it were."""
    d0: float = 0.0
    """Fixed cost of a draft pass."""
    d1: float = 0.0
    """Cost of one more drafted token."""
    coverage: float = 1.0
    """Share of request-steps that carry a draft (look-up methods find one only sometimes)."""
    sticky: float = 0.5
    """Standard deviation, over requests, of a request's own shift on logit q."""
    decay_per_hour: float = 0.0
    """Acceptance decays: all its chances are multiplied by exp(-decay_per_hour x hours since the start)."""
    kv_loss: float = 0.0
    """Share of the KV blocks that the drafter's weights and cache take away. Read at the start only."""
    draft_max_model_len: float = 0.0
    """Longest context of the drafter, which the engine then lowers its own to; 0: as the model's. Read at the
    start only."""
    slots: float = 0.0
    """At most so many requests run at once, whatever the flags allow; 0: as they say."""
    base_ms: float = 12.0
    """Fixed part of a plain step: weights and launch."""
    token_ms: float = 0.05
    """Cost of each token in a step."""
    prefill_ms: float = 0.05
    """Cost of each prompt token, in the step that admits the request."""
    prefix_hits: float = 0.0
    """Share of each prompt's tokens found in the prefix cache; they cost no prefill."""
    young_seconds: float = 0.0
    """For so long after its start the engine is slow."""
    young_slowdown: float = 2.0
    """By so much: the factor on all step times meanwhile."""
    noise: float = 0.03
    """Standard deviation of the log of one step's time."""
    drift: float = 0.01
    """Standard deviation of the log of a slow drift of all step times, with a memory of one minute."""
    answer_tokens: float = 256.0
    """Mean length of an answer to a request that sets no limit of its own."""
    error_share: float = 0.0
    """Chance that a request ends in an error of the engine, half-way through its answer."""
    repetition_share: float = 0.0
    """Chance that a request is ended for repeating itself, half-way through its answer."""
    corrupt_share: float = 0.0
    """Share of the tokens of every answer that are not what the model says."""
    tick_ms: float = 125.0
    """How often streams are written to. Counters are exact for every step in between."""
    startup_seconds: float = 2.0
    """From process start to the port being open."""
    fail: str = ""
    """One of START_FAILURES or RUN_FAILURES; empty: none."""
    fail_after: float = 0.0
    """Seconds after readiness at which a run-time failure happens."""
    fail_starts: float = 0.0
    """Only the first so many starts fail, as counted in VLLM_SIM_STATE_DIR; 0: every start."""
    metrics: str = "ok"
    """What `/metrics` answers: one of METRICS_MODES."""

    def replaced(self, values: Mapping[str, Any]) -> Knobs:
        """A copy with the named values, given as numbers or as text. Raises KnobError."""
        checked: dict[str, Any] = {name: _checked(name, value) for name, value in values.items()}
        return dataclasses.replace(self, **checked)


NAMES = tuple(field.name for field in dataclasses.fields(Knobs))


_PREFIX = "VLLM_SIM_"
_OTHER_VARIABLES = frozenset({"drafters", "seed", "version", "state_dir"})


def from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The `VLLM_SIM_<NAME>` variables, as text; `replaced` refuses a name that is no knob."""
    named = {
        key.removeprefix(_PREFIX).lower(): value for key, value in environ.items() if key.startswith(_PREFIX)
    }
    return {name: value for name, value in named.items() if value and name not in _OTHER_VARIABLES}


def _checked(name: str, value: Any) -> str | float:
    if name not in NAMES:
        raise KnobError(f"unknown knob {name!r}: one of {', '.join(NAMES)}")
    if name == "fail":
        return _choice(name, value, ("", *START_FAILURES, *RUN_FAILURES))
    if name == "metrics":
        return _choice(name, value, METRICS_MODES)
    return _number(name, value)


def _choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise KnobError(f"knob {name}={value!r}: one of {', '.join(filter(None, choices))}")
    return str(value)


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise KnobError(f"knob {name}={value!r} is not a number") from None
    highest = 1.0 if name in _PROBABILITIES else 1e9
    if not 0 <= number <= highest or (number == 0 and name in _POSITIVE):
        raise KnobError(f"knob {name}={value!r} is out of range")
    return number
