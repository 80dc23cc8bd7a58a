"""Which backends are advised, whose attention is its own, and what vLLM's own choice can't do."""

from __future__ import annotations

from typing import Any

import pytest

from specdeploy.api.rule import Finding
from specdeploy.api.spec import Spec
from specdeploy.engine.aiter import MASTER
from specdeploy.engine.checks import on_drafters, on_spec
from specdeploy.engine.graphs import captures_whole_steps, cudagraph_mode
from specdeploy.engine.setting import Setting, setting_of

AITER = [{"name": MASTER, "value": "1"}]
EAGLE3 = {"method": "eagle3", "model": "org/head"}
DFLASH = {"method": "dflash", "model": "org/block"}
MTP = {"method": "mtp"}
NGRAM = {"method": "ngram"}
ADAPTIVE = {"options": {"enable_adaptive_verification": True}}
KIMI = "moonshotai/Kimi-K2.5"
V4 = "deepseek-ai/DeepSeek-V4-Flash"


def setting(
    model: str = "Qwen/Qwen3-8B",
    *,
    gpu: str | None = "MI300X",
    drafter: dict[str, Any] | None = None,
    version: str = "0.33.0",
    **engine: Any,
) -> Setting:
    """A spec with one drafter, or none."""
    drafters = [{"name": "d", "numSpeculativeTokens": 4, **drafter}] if drafter else []
    body = {
        "model": model,
        "accelerator": {"type": gpu, "count": 8} if gpu else {"count": 8},
        "engine": {"image": "team/vllm:latest", "vllmVersion": version, **engine},
        "drafters": drafters,
    }
    return setting_of(Spec.model_validate(body))


def found(one: Setting, *codes: str) -> list[Finding]:
    """Findings of these codes on the spec and its drafter."""
    everything = (*on_spec(one), *on_drafters(one).get("d", ()))
    return [each for each in everything if each.code in codes]


@pytest.mark.parametrize(
    ("one", "fixes"),
    [
        (setting(drafter=NGRAM), ["name TRITON_ATTN or ROCM_ATTN"]),
        (setting(drafter=NGRAM, gpu="MI210"), ["name TRITON_ATTN or ROCM_ATTN"]),
        (setting(drafter=NGRAM, gpu=None), ["name TRITON_ATTN"]),
        (setting(drafter=NGRAM, attentionBackend="TRITON_ATTN"), []),
        (setting(drafter=NGRAM, args=["-ac.backend", "TRITON_ATTN"]), []),
        (setting(), []),  # no drafters
        # A drafter of EAGLE-3 would get the target's ROCM_ATTN.
        (setting(drafter={**EAGLE3, "attentionBackend": "TRITON_ATTN"}), ["name TRITON_ATTN or ROCM_ATTN"]),
        (setting(drafter=EAGLE3), ["name TRITON_ATTN"]),
        (setting("MiniMaxAI/MiniMax-M3-MXFP8", gpu="MI355X", drafter=NGRAM), ["name TRITON_ATTN"]),
        # The known-bad combination says what to name.
        (setting("Qwen/Qwen3-VL-235B-A22B-Instruct", drafter=NGRAM), []),
        (setting("Qwen/Qwen3.5-122B-A10B-FP8", drafter=MTP), []),
        (setting("Qwen/Qwen3.5-27B", drafter=MTP), ["name TRITON_ATTN"]),
        (setting("moonshotai/Kimi-K3", gpu="MI355X", drafter=NGRAM), ["name TRITON_MLA"]),
        (setting(KIMI, drafter=NGRAM, env=AITER), ["name TRITON_MLA or ROCM_AITER_MLA"]),
        (setting(KIMI, drafter={**NGRAM, "numSpeculativeTokens": 7}, env=AITER), []),
        (setting(KIMI, gpu="MI355X", drafter={**DFLASH, **ADAPTIVE}, env=AITER), ["name ROCM_AITER_MLA"]),
        # There is one backend, or nothing is known.
        (setting("zai-org/GLM-5.2-FP8", drafter=MTP), []),
        (setting(V4, gpu="MI355X", drafter=MTP), []),
        (setting("org/new", drafter=NGRAM), []),
    ],
)
def test_a_target_is_told_which_backends_suit_it(one: Setting, fixes: list[str]) -> None:
    assert [each.fix for each in found(one, "SD611")] == fixes


@pytest.mark.parametrize(
    ("one", "fixes"),
    [
        (setting(drafter=DFLASH), ["name TRITON_ATTN or ROCM_ATTN"]),
        (setting(drafter=DFLASH, gpu=None), ["name TRITON_ATTN"]),
        (setting("Qwen/Qwen3.5-27B", drafter=DFLASH), ["name TRITON_ATTN"]),
        (setting(drafter={**DFLASH, "attentionBackend": "ROCM_ATTN"}), []),
        (setting(drafter=EAGLE3, version="0.28.0"), []),  # SD644 says it
        (setting(drafter=EAGLE3), []),  # inherited
        (setting(drafter=NGRAM), []),
        (setting(KIMI, drafter=DFLASH, env=AITER), []),  # it may have dense attention or latent
        (setting("org/new", drafter=DFLASH), []),
    ],
)
def test_a_drafter_is_told_which_backends_suit_it(one: Setting, fixes: list[str]) -> None:
    assert [each.fix for each in found(one, "SD612")] == fixes


@pytest.mark.parametrize(
    ("model", "named", "codes"),
    [
        (V4, "TRITON_MLA", ["SD617"]),
        (V4, "ROCM_ATTN", ["SD617"]),
        (V4, "ROCM_FLASHMLA_SPARSE_DSV4", []),
        (V4, "FLASHMLA", ["SD617"]),
        (V4, "TRITON_ATN", ["SD601"]),
        (V4, None, []),
        ("/models/DeepSeek-V4-Pro/", "TRITON_MLA", ["SD617"]),
        ("deepseek-ai/DeepSeek-V4.1", "TRITON_MLA", ["SD606"]),
        ("deepseek-ai/DeepSeek-V4.1", "ROCM_FLASHMLA_SPARSE_DSV4", []),
    ],
)
def test_a_target_with_attention_of_its_own_takes_no_other(
    model: str, named: str | None, codes: list[str]
) -> None:
    one = setting(model, gpu="MI355X", **({"attentionBackend": named} if named else {}))
    assert [each.code for each in found(one, "SD601", "SD602", "SD606", "SD617")] == codes


@pytest.mark.parametrize(
    ("model", "kv", "more", "refused"),
    [
        ("Qwen/Qwen3-8B", "nvfp4", {}, True),
        ("Qwen/Qwen3-8B", "fp8", {}, False),
        ("Qwen/Qwen3-8B", "int8_per_token_head", {}, False),
        ("Qwen/Qwen3-8B", "turboquant_4bit_nc", {}, False),
        ("Qwen/Qwen3-8B", "nvfp4", {"version": "0.31.0"}, False),
        ("Qwen/Qwen3-8B", "nvfp4", {"gpu": None}, False),
        (KIMI, "fp8_e5m2", {}, True),
        (KIMI, "fp8_e5m2", {"env": AITER}, False),
        ("zai-org/GLM-5.2-FP8", "fp8", {"gpu": "MI210"}, False),  # no backend at all; not for its cache
        ("org/new", "nvfp4", {}, False),
    ],
)
def test_some_backend_reads_the_cache_where_none_is_named(
    model: str, kv: str, more: dict[str, Any], refused: bool
) -> None:
    one = setting(model, args=["--kv-cache-dtype", kv], **more)
    assert [each.field for each in found(one, "SD610")] == (["spec.engine.args[0]"] if refused else [])


@pytest.mark.parametrize(
    ("one", "codes"),
    [
        (setting(drafter={**DFLASH, **ADAPTIVE}), []),
        (setting(drafter={**DFLASH, **ADAPTIVE}, attentionBackend="ROCM_AITER_FA"), ["SD609"]),
        (
            setting(
                drafter={**DFLASH, "options": {"enable_adaptive_verification": "yes"}},
                attentionBackend="ROCM_AITER_FA",
            ),
            ["SD609"],
        ),
        (
            setting(drafter={**DFLASH, **ADAPTIVE}, env=AITER, args=["--kv-transfer-config", "{}"]),
            ["SD618"],
        ),
        (setting(KIMI, drafter={**DFLASH, **ADAPTIVE}), ["SD618"]),
        (setting(KIMI, drafter={**DFLASH, **ADAPTIVE}, attentionBackend="ROCM_AITER_MLA"), []),
        (
            setting(
                KIMI, drafter={**DFLASH, **ADAPTIVE}, attentionBackend="ROCM_AITER_MLA", version="0.32.0"
            ),
            ["SD609"],
        ),
        (
            setting(
                KIMI, drafter={**DFLASH, **ADAPTIVE}, attentionBackend="ROCM_AITER_MLA", args=["-dcp", "8"]
            ),
            ["SD609"],
        ),
        (
            setting(
                KIMI, drafter={**DFLASH, **ADAPTIVE}, attentionBackend="ROCM_AITER_MLA", args=["-dcp", "1"]
            ),
            [],
        ),
    ],
)
def test_adaptive_verification_needs_uneven_batches_of_whatever_runs(one: Setting, codes: list[str]) -> None:
    assert [each.code for each in found(one, "SD609", "SD618")] == codes


@pytest.mark.parametrize(
    ("named", "codes"),
    [("ROCM_OCTAVE", ["SD608"]), ("ROCM_AITER_UNIFIED_ATTN", ["SD607"]), ("TRITON_ATTN", [])],
)
def test_a_backend_of_which_nothing_is_known_is_only_doubted(named: str, codes: list[str]) -> None:
    one = setting(drafter={**DFLASH, "attentionBackend": named})
    assert [each.code for each in found(one, "SD607", "SD608")] == codes


@pytest.mark.parametrize(
    ("drafter", "resource", "fields"),
    [
        ({**DFLASH, "options": {"moe_backend": "cutlass"}}, None, ["options.moe_backend"]),
        (
            {**DFLASH, "options": {"draft_lm_head_quantization": "nvfp4"}},
            None,
            ["options.draft_lm_head_quantization"],
        ),
        ({**DFLASH, "options": {"moe_backend": "triton"}}, None, []),
        ({**DFLASH, "options": {"moe_backend": "cutlass"}}, "nvidia.com/gpu", []),
        ({**NGRAM, "options": {"moe_backend": "cutlass"}}, None, []),
    ],
)
def test_options_of_another_vendor_are_told(
    drafter: dict[str, Any], resource: str | None, fields: list[str]
) -> None:
    spec = setting(drafter=drafter).spec
    accelerator = spec.accelerator.model_copy(update={"resource_name": resource or "amd.com/gpu"})
    one = setting_of(spec.model_copy(update={"accelerator": accelerator}))
    assert [each.field for each in found(one, "SD621")] == [f"spec.drafters[0].{field}" for field in fields]


@pytest.mark.parametrize(
    ("one", "told"),
    [
        (setting(gpu="MI300X"), True),
        (setting(gpu="MI355X"), True),
        (setting(env=[{"name": MASTER, "value": "0"}]), False),
        (setting(env=AITER), False),
        (setting(gpu="MI210"), False),
        (setting(gpu=None), False),
        (setting("zai-org/GLM-5.2-FP8"), False),  # a known-bad combination says more
        (setting("zai-org/GLM-5.2-FP8", gpu="MI355X"), True),
    ],
)
def test_a_spec_says_whether_it_wants_aiter(one: Setting, told: bool) -> None:
    assert bool(found(one, "SD616")) is told


@pytest.mark.parametrize(
    ("args", "mode", "whole"),
    [
        ([], "FULL_AND_PIECEWISE", True),
        (["--enforce-eager"], "NONE", False),
        (["--compilation-config", '{"cudagraph_mode": "piecewise"}'], "PIECEWISE", False),
        (["-cc.cudagraph_mode=NONE"], "NONE", False),
        (["--compilation-config.cudagraph_mode", "FULL_DECODE_ONLY"], "FULL_DECODE_ONLY", True),
        (["-cc.level=3", "-cc", '{"level": 3}'], "FULL_AND_PIECEWISE", True),
        (["-cc", "{"], "FULL_AND_PIECEWISE", True),
        (["-cc", "[1]"], "FULL_AND_PIECEWISE", True),
        (["-O0"], "NONE", False),
        (["-O1"], "PIECEWISE", False),
        (["-O2"], "FULL_AND_PIECEWISE", True),
        (["-O1", "-cc", '{"cudagraph_mode": "FULL"}'], "FULL", True),
    ],
)
def test_the_graphs_are_those_that_the_arguments_ask_for(args: list[str], mode: str, whole: bool) -> None:
    one = setting(args=args)
    assert (cudagraph_mode(one), captures_whole_steps(one)) == (mode, whole)
