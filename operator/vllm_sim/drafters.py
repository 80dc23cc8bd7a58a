"""How fast and how well each speculative method drafts, and which knobs an arm ends up with.

Defaults are chosen so that the cost model of `speed` gives back published numbers at its own default load
(x = 0.13 at 32 streams): vLLM's MI300X sweep of gemma-4-26B-A4B (mtp, eagle3, dflash) and gemma-4-31B
(dspark), mean acceptance over AMD panels, lowered for eagle (SpecDecode-Bench, GSM8K, Llama-3.1-8B) and for
look-up drafting (same, InstructCoder). draft_model and suffix are assumptions: no sweep was published.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from vllm_sim import knobs
from vllm_sim.knobs import KnobError, Knobs

BASELINE = "baseline"

METHODS: dict[str, dict[str, float]] = {
    BASELINE: {},
    "mtp": {"q1": 0.92, "q": 0.90, "d0": 0.0, "d1": 0.07, "kv_loss": 0.02},
    "eagle3": {"q1": 0.80, "q": 0.76, "d0": 0.04, "d1": 0.02, "kv_loss": 0.02},
    "eagle": {"q1": 0.68, "q": 0.66, "d0": 0.30, "d1": 0.005, "kv_loss": 0.02},
    "dflash": {"q1": 0.87, "q": 0.83, "d0": 0.09, "d1": 0.0, "kv_loss": 0.03},
    "dspark": {"q1": 0.88, "q": 0.84, "d0": 0.22, "d1": 0.026, "kv_loss": 0.03},
    "draft_model": {"q1": 0.75, "q": 0.75, "d0": 0.05, "d1": 0.12, "kv_loss": 0.06},
    "ngram": {"q1": 0.70, "q": 0.80, "d0": 0.006, "coverage": 0.6},
    "ngram_gpu": {"q1": 0.70, "q": 0.80, "d0": 0.02, "coverage": 0.6},
    "suffix": {"q1": 0.80, "q": 0.85, "d0": 0.01, "coverage": 0.5},
    "custom_class": {},
    "extract_hidden_states": {"q1": 0.0, "q": 0.0},
}


@dataclass(frozen=True, slots=True)
class Drafter:
    """What the engine was told to draft with: method, checkpoint without its query suffix, tokens a round."""

    method: str
    checkpoint: str | None
    tokens: int


def split_checkpoint(model: str | None) -> tuple[str | None, dict[str, str]]:
    """`org/name?q1=0.3&fail=crash-loading` -> the name, and the knobs in its suffix. Raises KnobError."""
    if model is None or "?" not in model:
        return model, {}
    name, _, query = model.partition("?")
    try:
        return name, dict(parse_qsl(query, strict_parsing=True))
    except ValueError as error:
        raise KnobError(f"the suffix of {model!r} is not of the form name=value&...: {error}") from None


def arm_knobs(method: str, model: str | None, environ: Mapping[str, str]) -> Knobs:
    """The knobs of the arm that drafts with `method` and `model` (BASELINE and None: no drafter).

    Raises KnobError.
    """
    checkpoint, suffix = split_checkpoint(model)
    table = _table(environ.get("VLLM_SIM_DRAFTERS", ""))
    result = Knobs().replaced(METHODS[method]).replaced(knobs.from_environment(environ))
    for key in (method, checkpoint, model):
        result = result.replaced(table.get(key or "", {}))
    return result.replaced(suffix)


def _table(text: str) -> dict[str, dict[str, Any]]:
    if not text.strip():
        return {}
    try:
        table = json.loads(text)
    except ValueError as error:
        raise KnobError(f"VLLM_SIM_DRAFTERS is not JSON: {error}") from None
    if not isinstance(table, dict) or not all(isinstance(row, dict) for row in table.values()):
        raise KnobError("VLLM_SIM_DRAFTERS is not a map from method or checkpoint to a map of knobs")
    return table
