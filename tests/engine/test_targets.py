"""What vLLM refuses for some targets alone: quantisations, cache types, LoRA, options of their own layers."""

from __future__ import annotations

from typing import Any

import pytest

from specdeploy.api.spec import Spec
from specdeploy.engine.checks import on_drafters, on_spec
from specdeploy.engine.rules import targets
from specdeploy.engine.setting import setting_of

CODES = {rule.code for rule in targets.RULES} | {"SD227", "SD811"}
BF16, LATENT, INKLING = "Qwen/Qwen3-8B", "deepseek-ai/DeepSeek-V3.2", "thinkingmachines/Inkling-NVFP4"
V4, STEP = "deepseek-ai/DeepSeek-V4-Flash-0731", "stepfun-ai/Step-3.5-Flash"


def codes(target: str, words: str, version: str = "v0.33.0", env: str = "", **drafter: Any) -> list[str]:
    variables = [dict(zip(("name", "value"), env.split("="), strict=True))] if env else []
    engine = {"image": f"vllm/vllm-openai-rocm:{version}", "args": words.split(), "env": variables}
    drafters = [{"name": "d", "numSpeculativeTokens": 5, **drafter}] if drafter else []
    spec = Spec.model_validate({"model": target, "engine": engine, "drafters": drafters})
    setting = setting_of(spec)
    found = (*on_spec(setting), *on_drafters(setting).get("d", ()))
    return [finding.code for finding in found if finding.code in CODES]


@pytest.mark.parametrize(
    ("model", "words", "found"),
    [
        (BF16, "--quantization awq", ["SD646"]),
        (BF16, "--quantization compressed-tensors", ["SD646"]),
        (BF16, "--quantization fp8", []),
        (BF16, "--quantization None", []),
        (BF16, "--quantization torchao --hf-overrides {}", []),  # the settings may be there
        ("Qwen/Qwen3-8B-AWQ", "--quantization awq", []),
        ("org/model", "--quantization awq", []),
        (BF16, "--quantization online", ["SD647"]),
        (BF16, '--quantization online --quantization-config {"linear":"fp8_per_tensor_dynamic"}', []),
        (LATENT, "--kv-cache-dtype nvfp4", ["SD648"]),
        (LATENT, "--kv-cache-dtype nvfp4_ds_mla", []),
        (BF16, "--kv-cache-dtype nvfp4", []),
        (INKLING, "--enable-lora", ["SD649"]),
        (INKLING, "--no-enable-lora", []),
        (BF16, "--enable-lora", []),
    ],
)
def test_some_targets_do_not_go_with_an_argument(model: str, words: str, found: list[str]) -> None:
    assert codes(model, words) == found


def test_the_variable_makes_inkling_take_adapters() -> None:
    assert codes(INKLING, "--enable-lora", env="INKLING_MULTIMEM_AR=0") == []
    assert codes(INKLING, "--enable-lora", env="INKLING_MULTIMEM_AR=1") == ["SD649"]


def test_a_release_that_was_not_read_is_doubtful() -> None:
    assert codes(BF16, "--quantization awq", "v0.25.0") == ["SD227"]
    assert codes(BF16, "--quantization awq", "v0.18.0") == []


def test_topk_is_not_for_layers_of_the_target() -> None:
    options = {"dspark_draft_topk": 8}
    assert codes(V4, "", method="dspark", options=options) == ["SD451"]
    assert codes(V4, "", method="dspark") == []
    own = {"method": "dspark", "model": "deepseek-ai/dspark_qwen3_8b_block7"}
    assert codes(BF16, "", options=options, **own) == []


def test_a_chain_is_the_one_of_the_config_that_is_read() -> None:
    four = {"method": "mtp", "numSpeculativeTokens": 4}
    assert codes(STEP, "", **four) == ["SD811"]
    assert codes(STEP, '--hf-overrides {"num_nextn_predict_layers":1}', **four) == []
