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
    ],
)
def test_what_is_sure_to_fail_is_an_error(body: dict[str, Any], codes: list[str]) -> None:
    assert refused(body) == codes
