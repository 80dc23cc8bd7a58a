"""A drafter together with its target, the engine's arguments and the model runner."""

from __future__ import annotations

from typing import Any

import pytest

from specdeploy.api.spec import Spec
from specdeploy.engine.checks import on_drafters
from specdeploy.engine.setting import setting_of
from tests.engine.findings import a_target, codes
from tests.engine.specs import drafter

LONG = {"prompt_lookup_min": 8, "prompt_lookup_max": 8}
PEAGLE = drafter("eagle3", options={"parallel_drafting": True})
ADAPTIVE = {"enable_adaptive_verification": True}


@pytest.mark.parametrize(
    ("method", "attention", "found"),
    [("ngram", "hybrid", ["SD501"]), ("ngram", "gqa", []), ("ngram", None, []), ("mtp", "hybrid", [])],
)
def test_ngram_is_warned_of_on_a_hybrid_target(method: str, attention: str | None, found: list[str]) -> None:
    one = drafter(method, options=LONG if method == "ngram" else None)
    assert codes(one, target=a_target(attention=attention)) == found


@pytest.mark.parametrize(
    ("method", "found"), [("eagle3", True), ("mtp", True), ("dspark", True), ("ngram", False)]
)
def test_fast_prefill_leaves_out_what_some_drafters_read(method: str, found: bool) -> None:
    assert ("SD505" in codes(drafter(method), args=["--kv-sharing-fast-prefill"])) is found


@pytest.mark.parametrize(
    ("one", "image", "found"),
    [
        (drafter("eagle3"), "v0.33.0", False),
        (drafter("eagle3", options={"disable_padded_drafter_batch": True}), "v0.32.0", True),
        (drafter("eagle3", options={"disable_padded_drafter_batch": True}), "v0.33.0", False),
        (drafter("ngram"), "v0.32.0", True),
        (drafter("ngram"), "v0.33.0", False),
        (drafter("suffix"), "v0.33.0", True),
    ],
)
def test_async_scheduling_is_refused_where_it_can_not_be(one: Any, image: str, found: bool) -> None:
    image = f"team/vllm:{image}"
    assert ("SD506" in codes(one, args=["--async-scheduling"], image=image)) is found
    assert "SD506" not in codes(one, args=["--async-scheduling", "--no-async-scheduling"], image=image)


@pytest.mark.parametrize(
    ("one", "version", "found"),
    [
        (drafter("eagle3"), "0.33.0", False),
        (drafter("eagle3"), "0.31.0", False),
        (drafter("eagle3"), "0.30.0", True),  # V2 had none yet
        (drafter("eagle3"), "0.20.0", True),
        (PEAGLE, "0.33.0", True),
        (drafter("suffix"), "0.33.0", True),
    ],
)
def test_logits_processors_are_refused_where_the_runner_has_none(one: Any, version: str, found: bool) -> None:
    image = f"team/vllm:v{version}"
    assert ("SD507" in codes(one, args=["--logits-processors", "a:B"], image=image)) is found
    assert "SD507" not in codes(one, image=image)


@pytest.mark.parametrize(
    ("one", "found"),
    [
        (drafter("eagle3", options={"draft_sample_method": "probabilistic"}), 0),
        (drafter("eagle3"), 1),
        (drafter("dflash", options={"draft_sample_method": "probabilistic"}), 1),
        (
            drafter(
                "eagle3",
                options={"draft_sample_method": "probabilistic", "rejection_sample_method": "block"},
            ),
            1,
        ),
        (drafter("ngram", options=LONG), 2),
    ],
)
def test_watermarks_work_with_few_drafters(one: Any, found: int) -> None:
    config = '{"key": 7, "algorithm": "dual_key_gumbel"}'
    assert codes(one, args=["--watermark-config", config]).count("SD508") == found
    assert "SD508" not in codes(one)


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["--watermark-config", '{"key": 7, "algorithm": "dual_key_gumbel"}'], False),
        (["--watermark-config.key", "7", "--watermark-config.algorithm", "dual_key_gumbel"], False),
        (["--watermark-config", '{"key": 7, "algorithm": "gumbel"}'], True),
        (["--watermark-config", '{"key": 7}'], True),
        (["--watermark-config", '{"key": 7, "allow_target_only_watermarking": true}'], False),
        (["--watermark-config.allow_target_only_watermarking", "true"], False),
        (["--watermark-config", "{"], False),  # no JSON: SD226
    ],
)
def test_the_algorithm_of_watermarks_has_to_mark_drafts_or_be_told_not_to(
    args: list[str], found: bool
) -> None:
    one = drafter("eagle3", options={"draft_sample_method": "probabilistic"})
    assert ("SD508" in codes(one, args=args)) is found


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["--override-generation-config", '{"min_p": 0.05}'], True),
        (["--override-generation-config.min_p", "0.05"], True),
        (
            ["--override-generation-config", '{"min_p": 0.05}', "--override-generation-config.min_p", "0"],
            False,
        ),
        (["--override-generation-config", '{"min_p": 0}'], False),
        (["--override-generation-config", '{"top_p": 0.9}'], False),
        (["--override-generation-config", "{"], False),
        ([], False),
    ],
)
def test_min_p_is_no_default_beside_a_drafter(args: list[str], found: bool) -> None:
    assert ("SD511" in codes(drafter("eagle3"), args=args)) is found


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["--enable-prompt-embeds"], ["SD509"]),
        (["--enable-sleep-mode"], []),  # SD167 says it of the spec
        (["--runner", "pooling"], ["SD509"]),
        (["--runner", "generate"], []),
    ],
)
def test_arguments_for_what_does_not_work_are_warned_of(args: list[str], found: list[str]) -> None:
    assert codes(drafter("eagle3"), args=args) == found


@pytest.mark.parametrize(
    ("args", "found"),
    [
        ([], []),
        (["--enforce-eager"], ["SD520"]),
        (["--enforce_eager"], ["SD520"]),
        (["--enforce-eager", "--no-enforce-eager"], []),
        (["--compilation-config", '{"cudagraph_mode": "PIECEWISE"}'], ["SD520"]),
        (["-cc.cudagraph_mode=NONE"], ["SD520"]),
        (["--compilation-config", '{"cudagraph_mode": "FULL_DECODE_ONLY"}'], []),
        (["-O1"], ["SD520"]),
        (["-O0"], ["SD520"]),
        (["-O2"], []),
        (["-O1", "-cc.cudagraph_mode=FULL"], []),
        (["--enable-lora"], ["SD520"]),
        (["--enable-return-routed-experts"], ["SD520"]),
        (["-pp", "2"], ["SD521"]),
        (["-tp", "2"], []),
    ],
)
def test_adaptive_verification_needs_graphs_and_one_stage(args: list[str], found: list[str]) -> None:
    assert codes(drafter("eagle3", options=ADAPTIVE), args=args) == found
    assert codes(drafter("eagle3"), args=args) == []


@pytest.mark.parametrize(("method", "found"), [("eagle3", ["SD522"]), ("dspark", [])])
def test_adaptive_verification_needs_logits_but_for_dspark(method: str, found: list[str]) -> None:
    assert codes(drafter(method, options={**ADAPTIVE, "use_local_argmax_reduction": True})) == found


@pytest.mark.parametrize(
    ("method", "version", "found"),
    [("eagle3", "0.29.0", ["SD524"]), ("eagle3", "0.30.0", []), ("dspark", "0.28.0", [])],
)
def test_adaptive_verification_was_for_dspark_alone(method: str, version: str, found: list[str]) -> None:
    assert codes(drafter(method, options=ADAPTIVE), image=f"team/vllm:v{version}") == found


@pytest.mark.parametrize(("attention", "found"), [("hybrid", ["SD523"]), ("mla", [])])
def test_adaptive_verification_is_warned_of_on_a_hybrid_target(attention: str, found: list[str]) -> None:
    one = drafter("mtp", options=ADAPTIVE)
    assert codes(one, target=a_target(attention=attention)) == found


@pytest.mark.parametrize(
    ("model", "method", "args", "found"),
    [
        ("Qwen/Qwen3.5-122B-A10B", "mtp", "--enable-eplb --enable-elastic-ep", ["SD513"]),
        ("zai-org/GLM-4.5", "mtp", "--enable-eplb --enable-elastic-ep", ["SD513"]),
        ("zai-org/GLM-5", "mtp", "--enable-eplb --enable-elastic-ep", ["SD513"]),
        ("Qwen/Qwen3.5-122B-A10B", "mtp", "--enable-eplb", []),
        ("Qwen/Qwen3.5-122B-A10B", "mtp", "--enable-elastic-ep", []),
        ("Qwen/Qwen3.5-122B-A10B", "ngram", "--enable-eplb --enable-elastic-ep", []),
        ("Qwen/Qwen3.5-27B", "mtp", "--enable-eplb --enable-elastic-ep", []),  # dense
        ("MiniMaxAI/MiniMax-M3", "mtp", "--enable-eplb --enable-elastic-ep", []),
        ("/models/target", "mtp", "--enable-eplb --enable-elastic-ep", []),
    ],
)
def test_experts_that_come_and_go_are_none_of_a_drafters(
    model: str, method: str, args: str, found: list[str]
) -> None:
    drafters = [{"name": "d", "method": method, "numSpeculativeTokens": 1}]
    spec = Spec.model_validate(
        {
            "model": model,
            "accelerator": {"count": 8},
            "engine": {"args": args.split()},
            "drafters": drafters,
        }
    )
    told = on_drafters(setting_of(spec)).get("d", ())
    assert [each.code for each in told if each.code == "SD513"] == found
