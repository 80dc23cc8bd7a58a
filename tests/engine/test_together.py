"""Arguments beside one another: what needs another one, what excludes it, and what is at most another."""

from __future__ import annotations

from typing import Any

import pytest

from specdeploy.api.spec import Spec
from specdeploy.engine.checks import on_spec
from specdeploy.engine.rules.limits import LIMITS
from specdeploy.engine.rules.needs import EXCLUSIONS, NEEDS, Pair
from specdeploy.engine.setting import setting_of
from specdeploy.engine.tables.flags import PLAIN, SPANS, SWITCHES

CODES = ("SD119", "SD169", "SD227", "SD237", "SD238", "SD239")
DENSE, EXPERTS, HYBRID = "Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B", "Qwen/Qwen3.5-27B"


def codes(model: str, words: str, version: str = "v0.33.0", **more: Any) -> list[str]:
    engine = {"image": f"vllm/vllm-openai-rocm:{version}", "args": words.split(), **more.pop("engine", {})}
    spec = Spec.model_validate({"model": model, "engine": engine, **more})
    return [finding.code for finding in on_spec(setting_of(spec)) if finding.code in CODES]


@pytest.mark.parametrize(
    ("model", "words", "found"),
    [
        (DENSE, "--enable-auto-tool-choice", ["SD119"]),
        (DENSE, "--enable-log-outputs --no-enable-log-requests", ["SD119"]),
        (DENSE, "--no-enable-log-outputs", []),
        (DENSE, "--collect-detailed-traces all", ["SD119"]),
        (DENSE, "--collect-detailed-traces all --otlp-traces-endpoint http://x", []),
        (DENSE, "--grpc-port 5000", ["SD119"]),
        (DENSE, "--grpc-port None", []),
        (DENSE, "--numa-bind-nodes 0", ["SD119"]),
        (DENSE, "--numa-bind --numa-bind-nodes 0", []),
        (DENSE, "--return-sampling-mask", ["SD119"]),
        (DENSE, "--return-sampling-mask --logprobs-mode processed_logprobs", []),
        (
            DENSE,
            "--return-sampling-mask --logprobs-mode processed_logprobs --logits-processors a:B",
            ["SD237"],
        ),
        (DENSE, '--profiler-config {"profiler":"torch"}', ["SD119"]),
        (DENSE, "--offload-group-size 4 --offload-prefetch-step 0", ["SD119"]),
        (DENSE, "--offload-prefetch-step 0", []),
        (DENSE, '--structured-outputs-config {"disable_any_whitespace":true}', ["SD119"]),
        (DENSE, '--structured-outputs-config {"disable_any_whitespace":true,"backend":"guidance"}', []),
        (DENSE, "--quantization fbgemm_fp8", ["SD119"]),
        (DENSE, "--quantization fbgemm_fp8 --allow-deprecated-quantization", []),
        (EXPERTS, "--enable-eplb", ["SD119"]),
        (EXPERTS, "--enable-eplb --enable-expert-parallel -tp 1", ["SD119"]),
        (EXPERTS, "--enable-eplb --enable-expert-parallel -tp 2", []),
        (EXPERTS, '--eplb-config {"num_redundant_experts":2}', ["SD119"]),
        (EXPERTS, '--eplb-config {"num_redundant_experts":0}', []),
        (EXPERTS, "--enable-elastic-ep", ["SD119"]),
        (EXPERTS, "--data-parallel-external-lb", ["SD119", "SD119"]),
        (EXPERTS, "-dp 2 --data-parallel-hybrid-lb", ["SD119"]),
        (EXPERTS, "-dp 2 --data-parallel-rank 1", []),
        (EXPERTS, "-dp 2 --data-parallel-rank 2", ["SD238"]),
        (DENSE, "-dp 2 --data-parallel-rank 1", ["SD237"]),
        (DENSE, "--enable-fault-tolerance", ["SD119"]),
        (HYBRID, "--no-enable-chunked-prefill", ["SD119"]),
        (HYBRID, "--no-enable-chunked-prefill --no-enable-prefix-caching", []),
        (HYBRID, "--no-enable-chunked-prefill --enable-chunked-prefill", []),
        (DENSE, "--enable-return-routed-experts", ["SD119"]),
        (EXPERTS, "--enable-return-routed-experts", []),
        (EXPERTS, '--aux-output-config {"enable_return_routed_experts":true} -pp 2', ["SD237"]),
        (EXPERTS, "--enable-return-routed-experts --no-enable-prefix-caching", ["SD119"]),
        (EXPERTS, "--enable-return-routed-experts -pcp 2", ["SD237"]),
        ("org/model", "--enable-return-routed-experts", []),  # nothing is known of its experts
        (DENSE, '--attention-backend X --attention-config {"backend":"X"}', ["SD237"]),
        (DENSE, "--kda-prefill-backend flashkda", ["SD237"]),
        (EXPERTS, "-tp 4 -dcp 2", ["SD169"]),  # as many ranks as key-value heads
        (EXPERTS, "-tp 8 -dcp 2", []),
        (EXPERTS, "-tp 8 -dcp 4", ["SD169"]),
        ("deepseek-ai/DeepSeek-V3.2", "-tp 8 -dcp 8", []),  # one latent for all heads
        ("deepseek-ai/DeepSeek-V3.2", "-tp 4 -pcp 2 -dcp 4", ["SD169"]),
        ("deepseek-ai/DeepSeek-V3.2", "-tp 4 -pcp 2 -dcp 8", []),
        (DENSE, "--enable-mamba-cache-stochastic-rounding", ["SD237"]),
    ],
)
def test_a_flag_needs_another_or_excludes_it(model: str, words: str, found: list[str]) -> None:
    assert codes(model, words, accelerator={"type": "MI300X", "count": 2}) == found


@pytest.mark.parametrize(
    ("version", "words", "found"),
    [
        ("v0.32.0", "--enable-dbo", ["SD119"]),
        ("v0.33.0", "--enable-dbo", []),  # from here on the usual way will do on ROCm
        ("v0.33.0", "--enable-dbo --all2all-backend pplx", ["SD119"]),
        ("v0.32.0", "--ubatch-size 2 --all2all-backend nixl_ep", []),
        ("v0.18.0", "--enable-dbo --all2all-backend nixl_ep", ["SD119"]),
        ("v0.25.0", "--enable-dbo", ["SD227"]),
        ("v0.25.0", "--numa-bind-nodes 0", ["SD227"]),
        ("v0.25.0", "--enable-elastic-ep", ["SD119"]),
    ],
)
def test_what_a_release_needs(version: str, words: str, found: list[str]) -> None:
    assert codes(EXPERTS, words, version, accelerator={"count": 1}) == found


def test_the_field_of_the_backend_excludes_the_key_too() -> None:
    engine = {"attentionBackend": "TRITON_ATTN"}
    assert codes(DENSE, '--attention-config {"backend":"TRITON_ATTN"}', engine=engine) == ["SD237"]


@pytest.mark.parametrize(
    ("model", "words", "found"),
    [
        (DENSE, "--no-enable-chunked-prefill --max-num-batched-tokens 8k", ["SD238"]),
        (DENSE, "--no-enable-chunked-prefill --max-num-batched-tokens 8k --max-model-len 8k", []),
        (DENSE, "--no-enable-chunked-prefill", []),  # the default is raised
        ("org/model", "--no-enable-chunked-prefill --max-num-batched-tokens 8k", []),
        (
            "org/model",
            "--no-enable-chunked-prefill --max-num-batched-tokens 8k --max-model-len 9k",
            ["SD238"],
        ),
        (DENSE, "--max-num-active-seqs 1025", ["SD238"]),
        (DENSE, "--max-num-active-seqs 1025 --performance-mode throughput", []),
        (DENSE, "--max-num-active-seqs 65 --max-num-seqs 64", ["SD238"]),
        (DENSE, "--max-num-active-seqs None --max-num-seqs 64", []),
        (DENSE, "--long-prefill-token-threshold 65536", ["SD238"]),
        (DENSE, "--long-prefill-token-threshold 4096", []),
        (DENSE, "--enable-lora --max-loras 4 --max-cpu-loras 2", ["SD238"]),
        (DENSE, "--enable-lora --max-cpu-loras 0", []),  # read as absent
        (DENSE, "--max-loras 4 --max-cpu-loras 2", []),
        (DENSE, "--offload-backend prefetch", ["SD238"]),
        (DENSE, "--offload-group-size 4 --offload-num-in-group 2", []),
    ],
)
def test_a_number_is_at_most_another(model: str, words: str, found: list[str]) -> None:
    assert codes(model, words) == found


CC = "--compilation-config"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("--max-cudagraph-capture-size 64 --cudagraph-capture-sizes 1 2 4", ["SD239"]),
        ("--max-cudagraph-capture-size 4 --cudagraph-capture-sizes 1 2 4", []),
        (f'{CC} {{"cudagraph_capture_sizes":[1,2],"max_cudagraph_capture_size":8}}', ["SD239"]),
        (f'{CC} {{"cudagraph_capture_sizes":[]}}', ["SD239"]),
        (f'{CC} {{"cudagraph_capture_sizes":[]}} --enforce-eager', []),
        ("--max-cudagraph-capture-size 0", ["SD239"]),
        ("--max-cudagraph-capture-size -1", ["SD239"]),
        ("--max-cudagraph-capture-size 0 -O0", []),
        ("--cudagraph-capture-sizes=4 --max-cudagraph-capture-size 4", []),
        # What no step holds is left out first.
        (
            "--cudagraph-capture-sizes 2 8 --max-cudagraph-capture-size 8 --max-num-batched-tokens 4",
            ["SD239"],
        ),
        ("--cudagraph-capture-sizes 2 8 --max-cudagraph-capture-size 2 --max-num-batched-tokens 4", []),
        (f'--max-cudagraph-capture-size 4 {CC} {{"max_cudagraph_capture_size":4}}', ["SD237"]),
    ],
)
def test_sizes_of_graphs_go_together(words: str, found: list[str]) -> None:
    assert codes("org/model", f"{words} --max-num-seqs 2") == found


def test_the_tables_name_flags() -> None:
    assert {row.flag for row in (*NEEDS, *EXCLUSIONS)} - {"--no-enable-chunked-prefill"} <= SPANS.keys()
    assert all(row.name.startswith("--") or row.name == "max_model_len" for row in LIMITS)


@pytest.mark.parametrize("row", NEEDS, ids=lambda row: f"{row.flag} {row.other}")
def test_a_flag_that_takes_a_value_is_not_just_added(row: Pair) -> None:
    takes_one = row.other in SPANS and row.other not in (*SWITCHES, *PLAIN)
    assert not takes_one or row.fix != "add it"
