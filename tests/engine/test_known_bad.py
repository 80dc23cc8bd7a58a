"""Combinations that are known to go wrong: each row finds its example, and lets a close one pass."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from specdeploy.api.rule import Finding, Severity
from specdeploy.api.spec import Spec
from specdeploy.engine.accelerators import ARCHITECTURES
from specdeploy.engine.aiter import MASTER, SHUFFLE, SWITCHES
from specdeploy.engine.attention import BACKENDS
from specdeploy.engine.checks import on_drafters, on_spec
from specdeploy.engine.known_bad import KNOWN_BAD, KnownBad
from specdeploy.engine.known_bad.row import DEFAULT
from specdeploy.engine.not_checkable import HANDLED, OF_DRAFTERS, OF_ENGINES
from specdeploy.engine.rules.known import rule_of
from specdeploy.engine.setting import setting_of
from specdeploy.engine.versions import OLDEST


@dataclass(frozen=True)
class Case:
    """A spec with one drafter, in few words. `version` of vLLM; `args`, `env` of the engine."""

    model: str = "org/target"
    gpu: str | None = "MI300X"
    method: str = "mtp"
    tokens: int = 3
    version: str = "0.33.0"
    target: str | None = None
    draft: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    image: str = "team/vllm:latest"
    count: int = 1

    def spec(self) -> Spec:
        drafter = {
            "name": "d",
            "method": self.method,
            "numSpeculativeTokens": self.tokens,
            "attentionBackend": self.draft,
            "options": self.options,
            "model": "org/draft" if self.method in ("eagle3", "dflash", "draft_model") else None,
        }
        engine = {
            "image": self.image,
            "vllmVersion": self.version,
            "attentionBackend": self.target,
            "args": list(self.args),
            "env": [{"name": name, "value": "1"} for name in self.env],
        }
        accelerator = {"type": self.gpu, "count": self.count}
        given = {"model": self.model, "accelerator": accelerator, "engine": engine, "drafters": [drafter]}
        return Spec.model_validate(_without_nones(given))


def _without_nones(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nones(each) for key, each in value.items() if each is not None}
    return [_without_nones(each) for each in value] if isinstance(value, list) else value


_SCHEDULE = {"num_speculative_tokens_per_batch_size": [[1, 8, 3]]}
_QWEN_VL = "Qwen/Qwen3-VL-235B-A22B-Instruct"
_M3 = "MiniMaxAI/MiniMax-M3-MXFP8"
_FLASH = "zai-org/GLM-5.3-Flash"
_EAGER = ("--enforce-eager",)
_YARN = ("--hf-overrides", '{"rope_scaling": {"rope_type": "yarn"}}')
_RUNNER = "VLLM_USE_V2_MODEL_RUNNER"
_PAGES = Case(_M3, "MI325X", "dspark", 7, "0.26.0", env=(MASTER, SHUFFLE), args=("--kv-cache-dtype", "fp8"))
_FLASH_CASE = Case(_FLASH, "MI355X", env=(MASTER,))
_FP8_CACHE = ("--kv-cache-dtype", "fp8")
_K25 = Case("moonshotai/Kimi-K2.5", "MI355X", target="ROCM_AITER_MLA", args=_FP8_CACHE)
_K3 = replace(_K25, model="moonshotai/Kimi-K3", count=8, version="0.27.0")
_FEW_HEADS = Case("zai-org/GLM-4.7-Flash", target="ROCM_AITER_MLA")

# For each row: what it finds, and what is different in a spec that it lets pass.
EXAMPLES: dict[str, tuple[Case, dict[str, Any]]] = {
    "eagle3-on-rocm-attn": (Case(method="eagle3", draft="ROCM_ATTN"), {"draft": "TRITON_ATTN"}),
    "rocm-attn-verifies-slowly": (Case(_QWEN_VL, env=(MASTER,)), {"target": "ROCM_AITER_FA"}),
    "minimax-m3-on-aiter-fa": (Case(_M3, "MI355X", target="ROCM_AITER_FA"), {"target": "TRITON_ATTN"}),
    "drafter-of-minimax-m3-on-aiter-fa": (
        Case(_M3, "MI355X", "eagle3", draft="ROCM_AITER_FA"),
        {"draft": "TRITON_ATTN"},
    ),
    "shuffled-cache-verifies-nothing": (
        Case(version="0.32.1", target="ROCM_AITER_FA", env=(SHUFFLE,)),
        {"env": ()},
    ),
    "minimax-m3-dspark-on-sparse-pages": (_PAGES, {"version": "0.27.0"}),
    "minimax-m3-on-sparse-pages": (replace(_PAGES, version="0.30.0"), {"env": (MASTER,)}),
    "eagle3-beside-aiter-mla": (
        Case(method="eagle3", version="0.20.2", target="ROCM_AITER_MLA"),
        {"version": "0.21.0"},
    ),
    "mtp-verified-by-aiter-mla": (
        Case(version="0.24.0", target="ROCM_AITER_MLA"),
        {"version": "0.25.0"},
    ),
    "eight-rows-on-aiter-mla": (Case(tokens=7, target="ROCM_AITER_MLA"), {"tokens": 6}),
    "many-rows-on-aiter-mla": (
        Case(tokens=4, target="ROCM_AITER_MLA", args=("--kv-cache-dtype", "fp8")),
        {"tokens": 3},
    ),
    "ling-mtp-on-aiter-mla": (
        Case("inclusionAI/Ling-3.0-flash", "MI350X", target="ROCM_AITER_MLA"),
        {"target": "TRITON_MLA"},
    ),
    "ling-mtp-on-vllms-choice": (
        Case("inclusionAI/Ling-3.0-flash", "MI350X", env=(MASTER,)),
        {"env": ()},
    ),
    "kimi-k3-on-aiter-mla": (
        Case("moonshotai/Kimi-K3", "MI355X", target="ROCM_AITER_MLA"),
        {"args": ("--max-model-len", "131072")},
    ),
    "heads-that-aiter-mla-refuses": (replace(_FEW_HEADS, version="0.26.0"), {"version": "0.27.0"}),
    "more-heads-that-aiter-mla-refuses": (replace(_FEW_HEADS, version="0.28.0"), {"version": "0.29.0"}),
    "few-heads-on-gfx942": (replace(_K3, gpu="MI325X"), {"version": "0.28.0"}),
    "few-heads-with-fp8-cache": (_K3, {"args": ()}),
    "folded-heads-with-fp8-cache": (replace(_K25, count=2, version="0.25.1"), {"version": "0.26.0"}),
    "minimax-m3-fp8-cache-on-gfx942": (Case(_M3, version="0.23.1", args=_FP8_CACHE), {"version": "0.24.0"}),
    "modelopt-channels-on-gfx942": (
        Case(version="0.25.1", args=("--quantization", "modelopt")),
        {"args": ("--quantization", "modelopt_fp4")},
    ),
    "deepseek-v4-scales-on-gfx942": (
        Case("deepseek-ai/DeepSeek-V4-Flash", "MI325X", version="0.23.0"),
        {"version": "0.24.0"},
    ),
    "laguna-fp8-cache": (
        Case("poolside/Laguna-XS.2-FP8", version="0.21.0"),
        {"model": "poolside/Laguna-XS.2"},
    ),
    "step-3.5-on-aiter-experts": (Case("stepfun-ai/Step-3.5-Flash-FP8", env=(MASTER,)), {"env": ()}),
    "glm-5.1-mtp-under-graphs": (Case("zai-org/GLM-5.1-FP8"), {"args": _EAGER}),
    "glm-5.2-mtp-under-graphs": (Case("zai-org/GLM-5.2-FP8"), {"args": _EAGER}),
    "glm-5.2-mtp-without-headroom": (
        Case("amd/GLM-5.2-MXFP4", "MI355X"),
        {"args": ("--gpu-memory-utilization", "0.80")},
    ),
    "deepseek-v4.1-has-no-mtp": (Case("deepseek-ai/DeepSeek-V4.1", "MI355X"), {"method": "ngram"}),
    "parse-3.5-drafts-one-token": (Case("org/Parse-3.5", tokens=2), {"tokens": 1}),
    "minimax-m3-small-blocks": (Case(_M3, "MI355X"), {"args": ("--block-size", "128")}),
    "kimi-k3-on-breakable-graphs": (
        Case("moonshotai/Kimi-K3", "MI355X", version="0.28.0"),
        {"version": "0.29.0"},
    ),
    "sparse-attention-without-aiter": (Case("zai-org/GLM-5.2-FP8"), {"gpu": "MI355X"}),
    "qwen3.5-122b-without-aiter": (Case("Qwen/Qwen3.5-122B-A10B-FP8"), {"env": (MASTER,)}),
    "qwen3.5-397b-mtp-on-rocm-attn": (
        Case("Qwen/Qwen3.5-397B-A17B", "MI355X"),
        {"target": "TRITON_ATTN"},
    ),
    "yarn-shortens-the-context": (
        Case(method="dflash", args=_YARN),
        {"args": (*_YARN, "--max-model-len", "32768")},
    ),
    "eagle3-on-w4a16": (
        Case("org/Qwen3-8B-quantized.w4a16", method="eagle3"),
        {"model": "org/Qwen3-8B"},
    ),
    "glm-5.1-mxfp4-mtp": (Case("amd/GLM-5.1-MXFP4", "MI355X"), {"model": "zai-org/GLM-5.1-FP8"}),
    "glm-5.2-mtp": (Case("zai-org/GLM-5.2-FP8", version="0.23.1"), {"version": "0.24.0"}),
    "glm-5.3-mtp-drafts-noise": (Case("zai-org/GLM-5.3"), {"model": _FLASH}),
    "glm-5.3-dflash": (Case("zai-org/GLM-5.3", method="dflash"), {"method": "dspark"}),
    "glm-5.2-mtp-accepts-nothing": (Case("amd/GLM-5.2-MXFP4", "MI355X"), {"gpu": "MI300X"}),
    "glm-5.3-on-the-old-runner": (
        Case("amd/GLM-5.3-Quark-MXFP4-AttnFP8", "MI355X", version="0.30.0"),
        {"env": (_RUNNER,)},
    ),
    "glm-5.3-flash-mtp": (replace(_FLASH_CASE, version="0.28.0"), {"method": "ngram"}),
    "glm-5.3-flash-mtp-answers": (replace(_FLASH_CASE, version="0.28.0"), {"version": "0.29.0"}),
    "glm-5.3-flash-mtp-in-mixed-batches": (replace(_FLASH_CASE, gpu="MI325X"), {"method": "ngram"}),
    "glm-5.3-flash-without-aiter": (replace(_FLASH_CASE, env=()), {"env": (MASTER,)}),
    "glm-5.3-flash-long-chunks": (_FLASH_CASE, {"args": ("--max-num-batched-tokens", "8192")}),
    "glm-5.3-flash-many-requests": (_FLASH_CASE, {"args": ("--max-num-seqs=512",)}),
    "deepseek-v4-decode-graphs": (
        Case(
            "deepseek-ai/DeepSeek-V4-Flash",
            "MI355X",
            version="0.28.0",
            args=("--compilation-config", '{"cudagraph_mode": "FULL_DECODE_ONLY"}'),
        ),
        {"args": ("--compilation-config", '{"cudagraph_mode": "FULL_AND_PIECEWISE"}')},
    ),
    "qwen3.6-27b-mtp-long-sequences": (
        Case("Qwen/Qwen3.6-27B-FP8", version="0.20.2"),
        {"version": "0.22.0"},
    ),
    "schedule-fails-in-capture": (Case(options=_SCHEDULE), {"args": _EAGER}),
    "schedule-collapses-at-its-threshold": (
        Case(version="0.28.0", options=_SCHEDULE),
        {"version": "0.29.0"},
    ),
    "dflash-accepts-nothing": (
        Case(method="dflash", version="0.25.1", env=(_RUNNER,)),
        {"env": ()},
    ),
    "mtp-ignores-yarn": (
        Case(args=_YARN),
        {"args": ("--hf-overrides", '{"rope_scaling": {"rope_type": "linear"}}')},
    ),
    "replicas-hang-near-the-end": (
        Case(args=("-dp", "2", "--enable-expert-parallel")),
        {"args": ("-dp", "2")},
    ),
    "graphs-of-rocm-7.2": (
        Case(image="vllm/vllm-openai-rocm:v0.33.0-rocm72"),
        {"image": "vllm/vllm-openai-rocm:v0.33.0-rocm100"},
    ),
}


def findings(case: Case) -> tuple[Finding, ...]:
    setting = setting_of(case.spec())
    return (*on_spec(setting), *on_drafters(setting).get("d", ()))


def told(row: KnownBad, case: Case) -> list[Finding]:
    return [each for each in findings(case) if each.reason.startswith(row.what)]


def test_every_row_has_an_example_and_a_name_of_its_own() -> None:
    names = [row.name for row in KNOWN_BAD]
    assert sorted(names) == sorted(EXAMPLES)
    assert all(re.fullmatch(r"[a-z0-9.]+(-[a-z0-9.]+)*", name) for name in names)


@pytest.mark.parametrize("row", KNOWN_BAD, ids=lambda row: row.name)
def test_a_row_finds_its_example_by_the_rule_of_its_effect(row: KnownBad) -> None:
    (found,) = told(row, EXAMPLES[row.name][0])
    assert (found.code, found.severity, found.fix) == (rule_of(row).code, rule_of(row).severity, row.fix)
    assert found.field.startswith("spec.drafters[0]") is not row.baseline
    assert row.source in found.reason


@pytest.mark.parametrize("row", KNOWN_BAD, ids=lambda row: row.name)
def test_a_row_lets_a_close_spec_pass(row: KnownBad) -> None:
    case, change = EXAMPLES[row.name]
    assert told(row, replace(case, **change)) == []


@pytest.mark.parametrize("row", [row for row in KNOWN_BAD if row.architectures], ids=lambda row: row.name)
def test_a_row_about_some_gpus_says_nothing_of_an_unknown_one(row: KnownBad) -> None:
    assert told(row, replace(EXAMPLES[row.name][0], gpu=None)) == []


@pytest.mark.parametrize("row", KNOWN_BAD, ids=lambda row: row.name)
def test_a_row_says_what_happens_what_to_do_and_who_saw_it(row: KnownBad) -> None:
    for text in (row.what, row.fix, row.source):
        assert text == text.strip()
        assert text
        assert not text.endswith(".")
    assert set(row.architectures) <= set(ARCHITECTURES)
    assert {*row.target, *row.draft} <= {*BACKENDS, DEFAULT}
    assert {*row.switches, *row.off} <= set(SWITCHES)
    assert all(pattern == pattern.lower() for pattern in row.targets)
    assert row.span.until is None or row.span.until > OLDEST, "no release that is accepted has it"


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("shuffled-cache-verifies-nothing", Severity.ERROR),
        ("minimax-m3-dspark-on-sparse-pages", Severity.ERROR),
        ("minimax-m3-on-sparse-pages", Severity.WARNING),
        ("glm-5.3-flash-without-aiter", Severity.ERROR),
        ("glm-5.3-flash-mtp", Severity.WARNING),
        ("eagle3-on-rocm-attn", Severity.WARNING),
    ],
)
def test_only_what_was_measured_on_this_very_combination_is_an_error(name: str, severity: Severity) -> None:
    (row,) = (each for each in KNOWN_BAD if each.name == name)
    assert rule_of(row).severity is severity


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("zai-org/GLM-5.3-Flash", True),
        ("/models/GLM-5.3-Flash/", True),
        ("zai-org/GLM-5.3-Flash-BF16", True),
        ("zai-org/GLM-5.3", False),
        ("glm-5.3-flash/other", False),
    ],
)
def test_a_target_is_known_by_the_last_part_of_its_name(model: str, found: bool) -> None:
    (row,) = (each for each in KNOWN_BAD if each.name == "glm-5.3-flash-long-chunks")
    assert bool(told(row, replace(_FLASH_CASE, model=model))) is found


@pytest.mark.parametrize(
    ("name", "change", "found"),
    [
        ("eagle3-on-rocm-attn", {"draft": None, "model": "Qwen/Qwen3-8B"}, True),  # vLLM's own choice
        ("eagle3-on-rocm-attn", {"draft": None, "model": "Qwen/Qwen3-8B", "target": "TRITON_ATTN"}, False),
        ("eagle3-on-rocm-attn", {"draft": None}, False),  # nothing is known of the target
        ("eight-rows-on-aiter-mla", {"target": None, "model": "moonshotai/Kimi-K2.5"}, False),
        ("heads-that-aiter-mla-refuses", {"count": 2}, True),  # 10 each
        ("heads-that-aiter-mla-refuses", {"count": 5}, False),  # 4 each
        ("heads-that-aiter-mla-refuses", {"model": "moonshotai/Kimi-K2.5"}, False),  # 64
        ("heads-that-aiter-mla-refuses", {"model": "org/target"}, False),  # nothing is known of its heads
        ("heads-that-aiter-mla-refuses", {"target": "TRITON_MLA"}, False),
        ("more-heads-that-aiter-mla-refuses", {"count": 2}, False),
        ("few-heads-on-gfx942", {"count": 4}, False),  # 24 each
        ("few-heads-on-gfx942", {"model": "moonshotai/Kimi-K2.5"}, True),  # 8 each
        ("few-heads-with-fp8-cache", {"args": ("--kv-cache-dtype", "fp8_e4m3")}, True),
        ("few-heads-with-fp8-cache", {"args": (*_FP8_CACHE, "-tp", "2", "-dp", "4")}, False),
        ("folded-heads-with-fp8-cache", {"count": 4}, False),  # 16 each
        ("folded-heads-with-fp8-cache", {"count": 1}, False),  # 64
        ("folded-heads-with-fp8-cache", {"args": ()}, False),
        ("folded-heads-with-fp8-cache", {"count": 3}, False),  # they don't divide
        ("folded-heads-with-fp8-cache", {"model": "deepseek-ai/DeepSeek-R1", "count": 4}, True),
        ("modelopt-channels-on-gfx942", {"gpu": "MI355X"}, False),
        ("modelopt-channels-on-gfx942", {"version": "0.26.0"}, False),
        ("minimax-m3-fp8-cache-on-gfx942", {"gpu": "MI355X"}, False),
        ("step-3.5-on-aiter-experts", {"gpu": "MI210"}, False),
        (
            "eight-rows-on-aiter-mla",
            {"target": None, "model": "moonshotai/Kimi-K2.5", "env": (MASTER,)},
            True,
        ),
        ("glm-5.3-dflash", {"model": "zai-org/GLM-5.3-FP8"}, True),
        ("glm-5.3-dflash", {"model": _FLASH}, False),
        ("glm-5.3-on-the-old-runner", {"version": "0.31.0"}, True),
        ("glm-5.3-on-the-old-runner", {"version": "0.32.0"}, False),
        ("glm-5.3-flash-long-chunks", {"args": ("--max-num-batched-tokens", "16384")}, True),
        ("glm-5.3-flash-long-chunks", {"args": ("--max-num-batched-tokens", "16383")}, False),
        ("glm-5.3-flash-long-chunks", {"version": "0.27.0"}, False),  # its default is 8192
        ("schedule-fails-in-capture", {"args": ("-cc", '{"cudagraph_mode": "FULL_AND_PIECEWISE"}')}, True),
        ("schedule-fails-in-capture", {"args": ("--compilation-config", '{"level": 3}')}, True),
        ("schedule-fails-in-capture", {"args": ("-cc.cudagraph_mode=piecewise",)}, False),
        ("schedule-fails-in-capture", {"args": ("-cc", '{"cudagraph_mode": "NONE"}')}, False),
        ("schedule-fails-in-capture", {"args": ("-O1",)}, False),
        ("schedule-fails-in-capture", {"args": ("-O2",)}, True),
        ("kimi-k3-on-breakable-graphs", {"env": ("VLLM_USE_BREAKABLE_CUDAGRAPH",)}, False),
        ("sparse-attention-without-aiter", {"env": (MASTER,)}, False),
    ],
)
def test_a_row_looks_at_what_is_in_force(name: str, change: dict[str, Any], found: bool) -> None:
    (row,) = (each for each in KNOWN_BAD if each.name == name)
    assert bool(told(row, replace(EXAMPLES[name][0], **change))) is found


def test_a_switch_whose_value_only_the_cluster_knows_is_neither_on_nor_off() -> None:
    body = _FLASH_CASE.spec().model_dump(by_alias=True, exclude_none=True)
    secret = {"secretKeyRef": {"name": "switches", "key": "aiter"}}
    body["engine"]["env"] = [{"name": MASTER, "valueFrom": secret}]
    setting = setting_of(Spec.model_validate(body))
    assert not [each for each in on_spec(setting) if "does not start without AITER" in each.reason]


def test_what_can_not_be_known_says_why_and_is_said_once() -> None:
    everything = [*HANDLED, *((each.what, each.why) for each in (*OF_DRAFTERS, *OF_ENGINES))]
    assert len({what for what, _ in everything}) == len(everything)
    reports = [report for what, _ in everything for report in re.findall(r"(?<!\w)#\d+", what)]
    assert len(set(reports)) == len(reports)
    for what, why in everything:
        assert what
        assert why
        assert not what.endswith(".")
        assert not why.endswith(".")
