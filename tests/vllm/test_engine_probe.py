"""The probe itself: it accepts what the real engine would start with, and refuses with vLLM's own words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.vllm.engine_probe import EngineProbe
from tests.vllm.server import LEAN_ARGS, speculative_args
from tools.vllm.environment import VllmEnvironment

pytestmark = pytest.mark.vllm

# The model, and the speculative config; a draft's folder is relative to the models'.
GOOD: dict[str, tuple[str, dict[str, Any]]] = {
    "baseline": ("target", {}),
    "ngram": ("target", {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4}),
    "draft_model": ("target", {"method": "draft_model", "model": "draft", "num_speculative_tokens": 3}),
    "eagle3": ("target", {"method": "eagle3", "model": "eagle3-head", "num_speculative_tokens": 3}),
    "dflash": ("target", {"method": "dflash", "model": "dflash-head", "num_speculative_tokens": 3}),
    "mtp": ("mtp", {"method": "mtp", "num_speculative_tokens": 1}),
}
BAD = {
    "unknown key": (
        speculative_args(method="ngram", num_speculative_tokens=3, no_such_key=1),
        "Unexpected keyword argument",
    ),
    "nothing to draft": (speculative_args(method="ngram", num_speculative_tokens=0), "greater than 0"),
    "bounds crossed": (
        speculative_args(method="ngram", num_speculative_tokens=3, prompt_lookup_min=5, prompt_lookup_max=2),
        "prompt_lookup_min=5 must be <= prompt_lookup_max=2",
    ),
    "no such flag": (("--no-such-flag", "1"), "unrecognized arguments"),
    "broken JSON": (("--speculative-config", "{"), "--speculative-config"),
}


@pytest.mark.parametrize(("model", "config"), GOOD.values(), ids=GOOD)
def test_the_probe_accepts_what_the_engine_would_start_with(
    probe: EngineProbe, vllm_environment: VllmEnvironment, model: str, config: dict[str, Any]
) -> None:
    models = vllm_environment.models
    if "model" in config:
        config = {**config, "model": str(models / config["model"])}
    speculative = speculative_args(**config) if config else ()
    answer = probe.accepts([str(models / model), *LEAN_ARGS, *speculative])
    assert (answer.ok, answer.error) == (True, "")


@pytest.mark.parametrize(("args", "error"), BAD.values(), ids=BAD)
def test_the_probe_refuses_in_the_words_of_vllm(
    probe: EngineProbe, vllm_environment: VllmEnvironment, args: tuple[str, ...], error: str
) -> None:
    answer = probe.accepts([str(vllm_environment.models / "target"), *LEAN_ARGS, *args])
    assert not answer.ok
    assert error in answer.error
