"""What is sure to keep an engine from serving is an error; what may serve is none."""

from __future__ import annotations

from typing import Any

import pytest

from specdeploy.api.rule import errors
from specdeploy.api.spec import Spec
from specdeploy.engine.checks import on_drafters, on_spec
from specdeploy.engine.setting import setting_of

ROCM = "vllm/vllm-openai-rocm"
AITER = {"name": "VLLM_ROCM_USE_AITER", "value": "1"}
V32 = "deepseek-ai/DeepSeek-V3.2"
V4 = "deepseek-ai/DeepSeek-V4-Flash-0731"


def refused(body: dict[str, Any]) -> list[str]:
    """Codes of all errors: those of the spec, then those of its drafters."""
    around = {"model": "Qwen/Qwen3-8B", "replicas": 4, "accelerator": {"type": "MI300X", "count": 1}}
    setting = setting_of(Spec.model_validate({**around, **body}))
    found = (*on_spec(setting), *(each for found in on_drafters(setting).values() for each in found))
    return [each.code for each in errors(found)]


def env(name: str, value: str) -> dict[str, Any]:
    """engine.env with one variable."""
    return {"engine": {"env": [{"name": name, "value": value}]}}


def eight(model: str, gpu: str, *variables: dict[str, str], version: str = "0.33.0") -> dict[str, Any]:
    """A target on eight GPUs."""
    accelerator = {"type": gpu, "count": 8}
    return {
        "model": model,
        "accelerator": accelerator,
        "engine": {"vllmVersion": version, "env": list(variables)},
    }


def drafted(method: str, model: str | None) -> dict[str, Any]:
    """drafters with one of five tokens."""
    named = {"model": model} if model else {}
    return {"drafters": [{"name": "d", "method": method, "numSpeculativeTokens": 5, **named}]}


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        # No node offers it.
        ({"accelerator": {"type": "MI300X", "count": 1, "resourceName": "nvidia.com/gpu"}}, ["SD631"]),
        ({"accelerator": {"count": 1, "resourceName": "nvidia.com/gpu"}}, []),
        ({"accelerator": {"type": "MI300X", "count": 1, "resourceName": "example.com/gpu"}}, []),
        # There is no vLLM in it.
        ({"engine": {"image": f"{ROCM}:v0.33.0-base"}}, ["SD210"]),
        ({"engine": {"image": f"mirror.example/{ROCM}:v0.33.0-base"}}, ["SD210"]),
        ({"engine": {"image": "rocm/vllm-dev:base", "vllmVersion": "0.33.0"}}, ["SD210"]),
        ({"engine": {"image": "registry.example/vllm/server:v0.33.0-base", "vllmVersion": "0.33.0"}}, []),
        # It waits for pods that nobody starts.
        ({"engine": {"args": ["--nnodes", "2"]}}, ["SD163"]),
        ({"engine": {"args": ["--nnodes", "1"]}}, []),
        # It raises ValueError, in releases that look at it.
        (env("VLLM_MOE_USE_DEEP_GEMM", "false"), ["SD244"]),
        (env("VLLM_MOE_USE_DEEP_GEMM", "0"), []),
        ({"engine": {"vllmVersion": "0.33.0", **env("VLLM_USE_FBGEMM", "false")["engine"]}}, []),
        # vLLM's source raises an error.
        (eight(V32, "MI300X"), ["SD640"]),
        (eight(V32, "MI300X", AITER), []),
        (eight(V32, "MI355X"), []),
        (eight("zai-org/GLM-5", "MI325X"), ["SD640"]),
        (eight("zai-org/GLM-5.2", "MI300X", version="0.26.0"), ["SD640"]),
        # The same of a release that is not known, or newer than the rules.
        (eight(V32, "MI300X", version="0.99.0"), []),
        ({"engine": {"image": "team/server:prod", **env("VLLM_MOE_USE_DEEP_GEMM", "false")["engine"]}}, []),
        ({"engine": {"vllmVersion": "0.99.0", **env("VLLM_MOE_USE_DEEP_GEMM", "false")["engine"]}}, []),
        # vLLM reads nothing there, or no model of this kind.
        ({"model": "https://huggingface.co/Qwen/Qwen3-8B"}, ["SD108"]),
        ({"model": "hf://Qwen/Qwen3-8B"}, ["SD108"]),
        ({"model": "s3://bucket/Qwen3-8B"}, []),
        (drafted("dflash", "https://huggingface.co/z-lab/Qwen3-8B-DFlash-b16"), ["SD108"]),
        ({"model": "google/gemma-4-31B-it-assistant"}, ["SD101"]),
        ({"model": "z-lab/Qwen3-8B-DFlash-b16"}, ["SD101"]),
        (drafted("eagle3", "Qwen/Qwen3-8B"), ["SD819"]),
        (drafted("dflash", "Qwen/Qwen3-4B"), ["SD819"]),
        (drafted("draft_model", "Qwen/Qwen3-4B"), []),
        ({"model": "/models/target", **drafted("eagle3", "/models/target")}, ["SD819"]),
        ({"model": "/models/target", **drafted("dspark", "/models/target")}, []),
        ({**eight(V4, "MI355X", AITER), **drafted("dspark", V4)}, []),
    ],
)
def test_what_is_sure_to_fail_is_an_error(body: dict[str, Any], codes: list[str]) -> None:
    assert refused(body) == codes


def told(body: dict[str, Any], *codes: str) -> list[tuple[str, str]]:
    """Code and fix of findings by some rules, of every severity."""
    around = {"model": "Qwen/Qwen3-8B", "replicas": 4, "accelerator": {"type": "MI300X", "count": 1}}
    setting = setting_of(Spec.model_validate({**around, **body}))
    found = (*on_spec(setting), *(each for found in on_drafters(setting).values() for each in found))
    return [(each.code, each.fix) for each in found if each.code in codes]


@pytest.mark.parametrize(
    ("model", "fix"),
    [
        ("https://huggingface.co/Qwen/Qwen3-8B", "write Qwen/Qwen3-8B"),
        ("https://huggingface.co/Qwen/Qwen3-8B/tree/main", "write Qwen/Qwen3-8B"),
        ("file:///models/x", "write the id on the hub, <org>/<name>, or a path in the container"),
    ],
)
def test_an_address_is_answered_with_what_to_write(model: str, fix: str) -> None:
    assert told({"model": model}, "SD108", "SD809") == [("SD108", fix)]


@pytest.mark.parametrize(
    ("drafter", "codes"),
    [
        (drafted("draft_model", "google/gemma-3-270m"), ["SD820"]),
        (drafted("draft_model", "/models/small"), ["SD820"]),
        (drafted("dflash", "z-lab/Qwen3-8B-DFlash-b16"), []),
        (drafted("ngram", None), []),
        ({"model": "/models/target", **drafted("draft_model", "/models/small")}, ["SD812"]),
        ({"model": "google/gemma-4-31B-it-assistant"}, []),
    ],
)
def test_what_the_catalogue_does_not_list_is_said_of_targets_and_drafters(
    drafter: dict[str, Any], codes: list[str]
) -> None:
    assert [code for code, _ in told(drafter, "SD812", "SD820")] == codes


SERVE = "serve deepseek-ai/DeepSeek-V4-Flash-0731 or deepseek-ai/DeepSeek-V4-Pro-0813, or use another method"


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("deepseek-ai/DeepSeek-V4-Flash", [("SD313", SERVE)]),
        ("deepseek-ai/DeepSeek-V4-Pro", [("SD313", SERVE)]),
        ("/models/DeepSeek-V4-Pro-FP8", [("SD313", SERVE)]),
        (V4, []),
        ("/models/DeepSeek-V4-Flash-0731", []),
        ("deepseek-ai/DeepSeek-V4.1", []),
        ("Qwen/Qwen3-8B", [("SD313", "name a draft checkpoint")]),
    ],
)
def test_layers_for_dspark_are_in_the_targets_that_the_catalogue_names(
    model: str, found: list[tuple[str, str]]
) -> None:
    assert told({**eight(model, "MI355X", AITER), **drafted("dspark", None)}, "SD313") == found


@pytest.mark.parametrize("gpu", ["MI300X", "MI355X"])
def test_a_backend_that_the_target_ignores_is_nothing_to_its_drafter(gpu: str) -> None:
    body = {**eight(V4, gpu, AITER), **drafted("dspark", None)}
    body["engine"]["attentionBackend"] = "ROCM_AITER_MLA"
    assert [code for code, _ in told(body, "SD607", "SD608", "SD617", "SD614", "SD643")] == ["SD617"]
