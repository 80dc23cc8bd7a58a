"""Heads, experts and context of a target, beside what a spec asks of them."""

from __future__ import annotations

import pytest

from specdeploy.api.rule import Severity
from specdeploy.api.spec import Spec
from specdeploy.engine.catalogue import Target
from specdeploy.engine.checks import on_spec
from specdeploy.engine.setting import setting_of

CODES = {"SD814", "SD815", "SD816", "SD817"}
DENSE = Target(
    "own/dense",
    "own",
    "me",
    attention="gqa",
    heads=24,
    kv_heads=4,
    experts=0,
    context=4096,
    config="config.json of ours",
)


def found(model: str, *args: str, gpus: int = 1, env: dict[str, str] | None = None) -> dict[str, str]:
    """What these rules find: the sentence by code."""
    engine = {
        "args": list(args),
        "env": [{"name": name, "value": value} for name, value in (env or {}).items()],
    }
    spec = Spec.model_validate(
        {"model": model, "accelerator": {"count": gpus}, "engine": engine, "drafters": []}
    )
    return {each.code: str(each) for each in on_spec(setting_of(spec, extra=(DENSE,))) if each.code in CODES}


@pytest.mark.parametrize(
    ("model", "gpus", "fits"),
    [
        ("own/dense", 1, True),
        ("own/dense", 4, True),
        ("own/dense", 8, True),  # each key-value head stands on two of them
        ("own/dense", 12, True),
        ("own/dense", 3, False),  # divides the heads, and not those of keys and values
        ("own/dense", 5, False),
        ("own/dense", 16, False),
        ("deepseek-ai/DeepSeek-V3", 8, True),
        ("deepseek-ai/DeepSeek-V3", 3, False),
        ("moonshotai/Kimi-K3", 6, True),  # one latent for all heads
        ("team/Qwen3.5-27B-FP8", 5, True),  # taken by its name, which is no proof
        ("/models/unknown", 3, True),
    ],
)
def test_heads_are_spread_evenly_or_it_is_an_error(model: str, gpus: int, fits: bool) -> None:
    assert ("SD814" not in found(model, gpus=gpus)) is fits


def test_the_sizes_that_would_do_are_named_and_the_field_that_sets_them() -> None:
    assert found("own/dense", gpus=5)["SD814"] == (
        "spec.accelerator.count: the target has 24 attention heads and 4 key-value heads, which can't be "
        "spread over 5 GPUs; use a tensor parallel size of 1, 2, 4 or 8"
    )
    assert found("own/dense", "-tp", "5", gpus=5)["SD814"].startswith("spec.engine.args: ")


def test_heads_are_spread_over_the_tensor_parallel_ranks_alone() -> None:
    assert "SD814" not in found("own/dense", "-tp", "2", "-pp", "5", gpus=10)


@pytest.mark.parametrize(
    ("model", "args", "refused"),
    [
        ("own/dense", ("--enable-expert-parallel",), True),
        ("own/dense", ("-ep",), True),
        ("own/dense", ("-ep", "--no-enable-expert-parallel"), False),
        ("Qwen/Qwen3-30B-A3B", ("-ep",), False),
        ("/models/unknown", ("-ep",), False),
    ],
)
def test_experts_are_split_only_where_there_are_some(
    model: str, args: tuple[str, ...], refused: bool
) -> None:
    assert ("SD815" in found(model, *args)) is refused


@pytest.mark.parametrize(
    ("model", "args", "env", "code"),
    [
        ("own/dense", ("--max-model-len", "4096"), {}, None),
        ("own/dense", ("--max-model-len", "4K"), {}, None),
        ("own/dense", ("--max-model-len", "4097"), {}, "SD816"),
        ("own/dense", ("--max-model-len=1m",), {}, "SD816"),
        ("own/dense", ("--max-model-len", "auto"), {}, None),
        ("own/dense", ("--max-model-len", "-1"), {}, None),
        ("own/dense", ("--max-model-len", "8192"), {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"}, None),
        ("own/dense", ("--max-model-len", "8192"), {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "0"}, "SD816"),
        ("own/dense", ("--max-model-len", "8192", "--hf-overrides", "{}"), {}, None),
        ("Qwen/Qwen3-4B", ("--max-model-len", "50000"), {}, "SD817"),
        ("team/Qwen3-8B-128k", ("--max-model-len", "131072"), {}, None),
        ("/models/unknown", ("--max-model-len", "99999999"), {}, None),
    ],
)
def test_a_length_above_the_context_is_an_error_only_where_it_was_read_in_its_config(
    model: str, args: tuple[str, ...], env: dict[str, str], code: str | None
) -> None:
    assert set(found(model, *args, env=env)) == ({code} if code else set())


def test_what_is_only_published_is_a_warning() -> None:
    spec = Spec.model_validate(
        {"model": "Qwen/Qwen3-4B", "engine": {"args": ["--max-model-len", "50000"]}, "drafters": []}
    )
    severities = {each.severity for each in on_spec(setting_of(spec)) if each.code in CODES}
    assert severities == {Severity.WARNING}
