"""A target that the catalogue lists under another name: copies and quantised builds."""

from __future__ import annotations

import time
from typing import Any

import pytest

from specdeploy.api.rule import Finding, Severity
from specdeploy.api.spec import Spec
from specdeploy.engine.catalogue import Target
from specdeploy.engine.catalogue.load import about, targets
from specdeploy.engine.catalogue.variants import as_build, build_of, original_of
from specdeploy.engine.checks import on_drafters, on_spec
from specdeploy.engine.setting import Setting, candidates_of, setting_of


@pytest.mark.parametrize(
    ("name", "model", "precision"),
    [
        ("Qwen/Qwen3.5-122B-A10B", "qwen3.5-122b-a10b", None),
        ("/models/Qwen3.5-27B/", "qwen3.5-27b", None),
        ("Qwen3-8B_FP8", "qwen3-8b", "fp8"),
        ("RedHatAI/Qwen3-8B-FP8-dynamic", "qwen3-8b", "fp8"),
        ("amd/Llama-3.3-70B-Instruct-FP8-KV", "llama-3.3-70b-instruct", "fp8"),
        ("RedHatAI/Qwen3-8B-quantized.w4a16", "qwen3-8b", "int4"),
        ("RedHatAI/Qwen3-8B-quantized.w8a8", "qwen3-8b", "int8"),
        ("a/Qwen3-8B-AWQ", "qwen3-8b", "int4"),
        ("a/Qwen3-8B-AWQ-8bit", "qwen3-8b", "int8"),
        ("a/Qwen3-8B-GPTQ-Int8", "qwen3-8b", "int8"),
        ("a/Qwen3-8B-W4A16-G128", "qwen3-8b", "int4"),
        ("a/Qwen3-8B-unsloth-bnb-4bit", "qwen3-8b", "int4"),
        ("amd/gpt-oss-120b-w-mxfp4-a-fp8", "gpt-oss-120b", "mxfp4"),
        ("amd/DeepSeek-R1-MXFP4-Preview", "deepseek-r1", "mxfp4"),
        ("nvidia/Kimi-K2.5-NVFP4", "kimi-k2.5", "nvfp4"),
        ("a/gpt-oss-20b-BF16", "gpt-oss-20b", "bf16"),
        ("tencent/Hy3-preview", "hy3-preview", None),
        ("tencent/Hy3-preview-FP8", "hy3-preview", "fp8"),
        ("our/qwen3-8b-dynamic", "qwen3-8b-dynamic", None),
        ("our/qwen3-8b-fp8-tuned", "qwen3-8b-fp8-tuned", None),
        ("fp8", "fp8", None),
        ("", "", None),
        ("/", "", None),
    ],
)
def test_a_name_is_taken_apart_at_its_owner_and_at_the_ending_that_tells_the_precision(
    name: str, model: str, precision: str | None
) -> None:
    assert build_of(name) == (model, precision)


@pytest.mark.parametrize("name", ["-w" * 50_000, "-fp8" * 50_000 + "x", "-quantized.w4a16" * 50_000 + "!"])
def test_a_name_of_any_length_is_taken_apart_at_once(name: str) -> None:
    started = time.process_time()
    assert build_of(name) == (name, None)
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("model", "original"),
    [
        ("Qwen/Qwen3.5-122B-A10B-FP8", "Qwen/Qwen3.5-122B-A10B"),
        ("/models/qwen3.5-27b", "Qwen/Qwen3.5-27B"),
        ("Qwen3-8B", "Qwen/Qwen3-8B"),
        ("zai-org/GLM-5.2-MXFP4", "zai-org/GLM-5.2"),
        ("our/GLM-5.2-FP8-dynamic", "zai-org/GLM-5.2-FP8"),
        ("nvidia/Kimi-K2.5-NVFP4", "moonshotai/Kimi-K2.5"),
        ("our/Kimi-K2.5-mxfp4", "amd/Kimi-K2.5-MXFP4"),
        ("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8", "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16"),
        ("/models/target", None),
        ("our/Qwen3-8B-tuned", None),
        ("our/Qwen3-8", None),
        ("/", None),
    ],
)
def test_a_build_is_taken_for_the_entry_that_is_nearest_in_precision(
    model: str, original: str | None
) -> None:
    found = original_of(model, about(frozenset({model})))
    assert (found.model if found else None) == original
    assert original_of(model, targets()) == found


def test_every_catalogued_target_is_found_under_a_folder_and_in_other_precisions() -> None:
    for target in targets():
        last = build_of(target.model).model
        for model in (f"/models/{last}", f"our/{last}-FP8", f"our/{last.upper()}-quantized.w4a16"):
            found = original_of(model, about(frozenset({model})))
            assert found is not None, model
            assert build_of(found.model).model == last


def test_no_two_originals_compete_for_a_name_but_by_their_precision() -> None:
    builds = [build_of(target.model) for target in targets()]
    assert len(builds) == len(set(builds))


def test_a_build_has_the_originals_architecture_and_not_what_its_name_does_not_tell() -> None:
    original = next(each for each in targets() if each.model == "meta-llama/Llama-3.1-8B-Instruct")
    build = as_build(original, "our/Llama-3.1-8B-Instruct-FP8")
    same = ("family", "attention", "parameters", "layers", "kv_heads", "head_dim", "vocabulary", "context")
    assert {key: getattr(build, key) for key in same} == {key: getattr(original, key) for key in same}
    assert (build.model, build.precision) == ("our/Llama-3.1-8B-Instruct-FP8", "fp8")
    assert (build.weights_gib, build.gated, build.licence) == (None, None, None)
    assert [each.model for each in build.drafters] == [each.model for each in original.drafters]
    assert all("acceptance on this build of it may differ" in each.notes for each in build.drafters)


@pytest.mark.parametrize(
    ("model", "holds"),
    [
        ("/models/DeepSeek-V4-Pro", True),
        ("our/DeepSeek-V4-Pro-FP8", True),
        ("nvidia/DeepSeek-V4-Pro-NVFP4", False),
        ("our/DeepSeek-V4-Pro-BF16", False),
    ],
)
def test_where_a_model_runs_holds_for_a_copy_and_not_for_another_precision(model: str, holds: bool) -> None:
    original = next(each for each in targets() if each.model == "deepseek-ai/DeepSeek-V4-Pro")
    build = as_build(original, model)
    said = (build.verified, build.unsupported)
    assert said == ((original.verified, original.unsupported) if holds else ((), ()))


def setting(model: str, method: str = "mtp", extra: tuple[Target, ...] = (), **more: Any) -> Setting:
    """A spec on MI300X with one drafter."""
    drafter = {"name": "d", "method": method, "numSpeculativeTokens": 5, **more.pop("drafter", {})}
    body = {"model": model, "accelerator": {"type": "MI300X", "count": 4}, "drafters": [drafter], **more}
    return setting_of(Spec.model_validate(body), extra=extra)


def findings(found: Setting) -> list[Finding]:
    return [*on_spec(found), *(each for some in on_drafters(found).values() for each in some)]


def codes(found: Setting) -> set[str]:
    return {each.code for each in findings(found)}


@pytest.mark.parametrize(
    "model", ["Qwen/Qwen3.5-122B-A10B", "Qwen/Qwen3.5-122B-A10B-FP8", "/models/Qwen3.5-122B-A10B"]
)
def test_rules_on_hybrid_targets_hold_for_every_build(model: str) -> None:
    assert "SD501" in codes(setting(model, "ngram"))
    assert "SD707" in codes(setting(model))


def test_a_finding_says_what_the_target_was_taken_for() -> None:
    found = [each for each in findings(setting("our/qwen3.5-27b-FP8")) if each.code == "SD809"]
    assert [str(each) for each in found] == [
        "spec.model: by its name it is taken for Qwen/Qwen3.5-27B in fp8; its drafters may accept less; "
        "if it is another model, describe it in a file of your own (--catalog)"
    ]


def test_a_drafter_measured_on_the_original_is_named_with_it() -> None:
    found = [each for each in findings(setting("our/Qwen3-8B-FP8", "ngram")) if each.code == "SD807"]
    (told,) = found
    assert "was measured on Qwen/Qwen3-8B: " in told.reason


def test_the_drafters_of_the_original_are_known_for_its_build() -> None:
    head = {"model": "z-lab/Qwen3-8B-DFlash-b16"}
    (candidate,) = candidates_of(setting("our/Qwen3-8B-FP8", "dflash", drafter=head))
    assert candidate.checkpoint is not None
    assert candidate.checkpoint.block == 16


@pytest.mark.parametrize(
    ("model", "told"), [("/models/Qwen3-8B", False), ("/models/Qwen3-4B", True), ("/models/any", False)]
)
def test_a_head_of_another_model_is_told_where_the_folder_names_its_target(model: str, told: bool) -> None:
    head = {"model": "z-lab/Qwen3-8B-DFlash-b16"}
    assert ("SD801" in codes(setting(model, "dflash", drafter=head))) is told


def test_weights_that_a_name_tells_are_no_error() -> None:
    accelerator = {"type": "MI300X", "count": 1}
    named = findings(setting("Qwen/Qwen3.5-397B-A17B", accelerator=accelerator))
    taken = findings(setting("/models/Qwen3.5-397B-A17B", accelerator=accelerator))
    assert "SD701" in {each.code for each in named}
    assert [each for each in taken if each.severity is Severity.ERROR] == []
    assert "SD702" in {each.code for each in taken}


def test_ones_own_entry_for_a_build_goes_before_and_the_original_fills_the_rest() -> None:
    own = Target("our/Qwen3.5-27B-FP8", "qwen3.5", "me", weights_gib=29)
    found = setting("our/Qwen3.5-27B-FP8", extra=(own,))
    assert found.target is not None
    assert (found.target.weights_gib, found.target.precision, found.target.attention) == (29, "fp8", "hybrid")
    assert "SD809" not in codes(found)


def test_a_build_of_ones_own_entry_is_taken_for_it() -> None:
    own = Target("our/model", "any", "me", attention="hybrid")
    found = setting("/models/Model-AWQ", extra=(own,))
    assert found.taken_for == "our/model"
    assert found.target is not None
    assert (found.target.attention, found.target.precision) == ("hybrid", "int4")


@pytest.mark.parametrize("model", ["/models/target", "our/own", "sim/llama", "a/-fp8", "/", "é/ü-FP8"])
def test_a_name_that_is_no_build_of_anything_known_is_left_alone(model: str) -> None:
    found = setting(model)
    assert (found.target, found.taken_for) == (None, None)
    assert "SD809" not in codes(found)


@pytest.mark.parametrize(
    ("original", "model", "precision"),
    [
        ("thinkingmachines/Inkling-NVFP4", "thinkingmachines/Inkling", None),
        ("thinkingmachines/Inkling-NVFP4", "/models/Inkling-FP8", "fp8"),
        ("Qwen/Qwen3-8B", "/models/Qwen3-8B", "bf16"),
    ],
)
def test_a_name_without_a_format_is_of_no_known_one_where_the_originals_name_has_one(
    original: str, model: str, precision: str | None
) -> None:
    known = next(each for each in targets() if each.model == original)
    assert as_build(known, model).precision == precision
