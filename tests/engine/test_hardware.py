"""Rules on AMD's hardware: their edges. Each rule's own two examples are run in test_rules."""

from __future__ import annotations

from typing import Any

import pytest

from specdeploy.api.rule import Severity
from specdeploy.api.spec import Drafter, Spec
from specdeploy.engine.catalogue.entries import Checkpoint, Target, Tokens
from specdeploy.engine.checks import on_drafters, on_spec
from specdeploy.engine.precision import SUPPORTED, precision_of
from specdeploy.engine.setting import setting_of
from tests.engine.specs import SMALLEST, changed, drafter, smallest, with_drafters

CUSTOM = "team/vllm:v0.33.0"


def spec_codes(path: str = "replicas", value: Any = 4, image: str = CUSTOM) -> list[str]:
    """Codes of the hardware rules on the smallest spec with one field changed, advice left out."""
    found = on_spec(setting_of(smallest(path, value), image=image))
    return sorted(
        each.code for each in found if each.code.startswith("SD6") and each.severity is not Severity.ADVICE
    )


def drafter_codes(
    one: Drafter, path: str = "replicas", value: Any = 4, image: str = CUSTOM
) -> list[tuple[str, str]]:
    """(code, field) of the hardware rules on one drafter, advice left out."""
    setting = setting_of(with_drafters(one, path=path, value=value), image=image)
    found = on_drafters(setting).get(one.name, ())
    return [
        (each.code, each.field.removeprefix("spec.drafters[0]."))
        for each in found
        if each.code.startswith("SD6") and each.severity is not Severity.ADVICE
    ]


def env(**variables: str | None) -> list[dict[str, Any]]:
    source = {"secretKeyRef": {"name": "s", "key": "k"}}
    return [
        {"name": name, "value": value} if value is not None else {"name": name, "valueFrom": source}
        for name, value in variables.items()
    ]


# --- the target's backend ---


@pytest.mark.parametrize(
    ("name", "image", "codes"),
    [
        ("TRITON_ATTN", CUSTOM, []),
        ("triton_attn", CUSTOM, []),
        ("auto", CUSTOM, []),
        ("CUSTOM", CUSTOM, []),
        ("ROCM_OCTAVE", CUSTOM, []),
        ("ROCM_OCTAVE", "team/vllm:v0.32.0", ["SD601"]),
        ("TRITON_ATN", CUSTOM, ["SD601"]),
        ("TRITON_ATN", "team/vllm:latest", ["SD601"]),
        ("TRITON_ATN", "team/vllm:v0.31.0", []),  # its list was not read
        ("TRITON_ATN", "team/vllm:v0.40.0", []),  # nor this one
        ("FLASHINFER", CUSTOM, ["SD602"]),
        ("flashinfer", "team/vllm:v0.20.0", ["SD602"]),
        ("CUTLASS_MLA", CUSTOM, ["SD602"]),
        ("FLASH_ATTN", CUSTOM, ["SD603"]),
        ("ROCM_SEGMENTED_ATTN", CUSTOM, ["SD604"]),
    ],
)
def test_a_backend_is_one_that_vllm_has_for_amd(name: str, image: str, codes: list[str]) -> None:
    assert spec_codes("engine.attentionBackend", name, image) == codes
    assert spec_codes("engine.args", ["--attention-backend", name], image) == codes


def test_an_unknown_backend_is_told_with_the_nearest_one() -> None:
    spec = smallest("engine.attentionBackend", "ROCM_AITER_F")
    (found,) = (each for each in on_spec(setting_of(spec, image=CUSTOM)) if each.code == "SD601")
    assert found.fix == "write ROCM_AITER_FA"


def test_what_other_vendors_hardware_can_run_is_not_ours_to_say() -> None:
    body = changed(SMALLEST, "accelerator", {"count": 1, "resourceName": "nvidia.com/gpu"})
    spec = Spec.model_validate(changed(body, "engine.attentionBackend", "FLASHINFER"))
    assert [each.code for each in on_spec(setting_of(spec)) if each.code == "SD602"] == []


@pytest.mark.parametrize(
    ("gpu", "name", "codes"),
    [
        ("MI300X", "ROCM_AITER_FA", ["SD614"]),
        ("MI355X", "ROCM_AITER_UNIFIED_ATTN", ["SD614"]),
        ("MI250", "ROCM_AITER_FA", ["SD604", "SD614"]),
        ("MI250", "ROCM_AITER_UNIFIED_ATTN", ["SD605", "SD614"]),
        ("MI250", "ROCM_ATTN", []),
        (None, "ROCM_AITER_FA", ["SD614"]),
    ],
)
def test_aiters_backends_are_for_the_gpus_that_it_is_built_for(
    gpu: str | None, name: str, codes: list[str]
) -> None:
    body = changed(SMALLEST, "engine.attentionBackend", name)
    body["accelerator"] = {"count": 2, **({"type": gpu} if gpu else {})}
    found = on_spec(setting_of(Spec.model_validate(body), image=CUSTOM))
    assert sorted(each.code for each in found if each.code in ("SD604", "SD605", "SD614")) == codes


@pytest.mark.parametrize(
    ("attention", "name", "refused"),
    [
        ("gqa", "TRITON_MLA", True),
        ("gqa", "TRITON_ATTN", False),
        ("mla", "TRITON_ATTN", True),
        ("mla", "TRITON_MLA", False),
        ("mla", "ROCM_AITER_MLA_SPARSE", True),
        ("sparse-mla", "ROCM_AITER_MLA_SPARSE", False),
        ("sparse-mla", "TRITON_MLA", True),
        ("sparse-mla", "TRITON_ATTN", True),
        ("hybrid", "TRITON_MLA", False),
        (None, "TRITON_MLA", False),
    ],
)
def test_a_backend_computes_the_targets_kind_of_attention(
    attention: str | None, name: str, refused: bool
) -> None:
    spec = smallest("engine.attentionBackend", name)
    target = Target(model=spec.model, family="new", source="a test", attention=attention)
    found = on_spec(setting_of(spec, image=CUSTOM, targets=(target,)))
    assert any(each.code == "SD606" for each in found) is refused


@pytest.mark.parametrize(
    ("name", "kv", "image", "refused"),
    [
        ("ROCM_ATTN", "fp8", CUSTOM, False),
        ("ROCM_ATTN", "int8_per_token_head", CUSTOM, True),
        ("ROCM_ATTN", "int8_per_token_head", "team/vllm:v0.31.0", False),
        ("ROCM_ATTN", "turboquant_4bit_nc", CUSTOM, False),
        ("TURBOQUANT", "auto", CUSTOM, True),
        ("TURBOQUANT", "turboquant_4bit_nc", CUSTOM, False),
    ],
)
def test_a_named_backend_reads_the_cache(name: str, kv: str, image: str, refused: bool) -> None:
    spec = with_drafters(
        drafter("dflash", attentionBackend=name), path="engine.args", value=["--kv-cache-dtype", kv]
    )
    engine = spec.engine.model_copy(update={"attention_backend": name})
    setting = setting_of(spec.model_copy(update={"engine": engine}), image=image)
    fields = [
        each.field for each in (*on_spec(setting), *on_drafters(setting).get("d", ())) if each.code == "SD610"
    ]
    both = ["spec.engine.attentionBackend", "spec.drafters[0].attentionBackend"]
    assert fields == (both if refused else [])


# --- a drafter's backend ---


@pytest.mark.parametrize(
    ("method", "gpu", "target", "draft", "found"),
    [
        ("dflash", "MI300X", None, None, []),
        ("dflash", "MI300X", "TRITON_ATTN", None, []),
        ("dflash", "MI300X", "rocm_aiter_unified_attn", None, [("SD608", "spec.engine.attentionBackend")]),
        ("dflash", "MI300X", "ROCM_AITER_UNIFIED_ATTN", "auto", [("SD608", "spec.engine.attentionBackend")]),
        ("dflash", "MI300X", "ROCM_AITER_UNIFIED_ATTN", "TRITON_ATTN", []),
        ("dspark", "MI300X", None, "ROCM_AITER_UNIFIED_ATTN", [("SD607", "attentionBackend")]),
        ("eagle3", "MI300X", "ROCM_AITER_UNIFIED_ATTN", None, []),
        ("dspark", "MI300X", None, "ROCM_AITER_MLA", [("SD607", "attentionBackend")]),
        ("dspark", "MI355X", None, "ROCM_AITER_MLA", []),
        ("dflash", "MI300X", None, "ROCM_AITER_FA", []),
        ("eagle3", "MI300X", None, "TRITON_ATN", [("SD601", "attentionBackend")]),
        ("eagle3", "MI300X", None, "FLASHINFER", [("SD602", "attentionBackend")]),
        ("ngram", "MI300X", None, "TRITON_ATN", [("SD601", "attentionBackend")]),
        ("ngram", "MI300X", None, "FLASHINFER", []),
    ],
)
def test_drafters_that_look_both_ways_need_a_backend_that_can(
    method: str, gpu: str, target: str | None, draft: str | None, found: list[tuple[str, str]]
) -> None:
    one = drafter(method, attentionBackend=draft)
    spec = with_drafters(one, path="accelerator.type", value=gpu)
    engine = spec.engine.model_copy(update={"attention_backend": target})
    findings = on_drafters(setting_of(spec.model_copy(update={"engine": engine}), image=CUSTOM)).get("d", ())
    assert [
        (each.code, each.field.removeprefix("spec.drafters[0]."))
        for each in findings
        if each.code in ("SD601", "SD602", "SD607", "SD608")
    ] == found


@pytest.mark.parametrize(
    ("model", "code"),
    [("z-lab/x-DFlash", "SD607"), ("RedHatAI/x-speculator.dflash", "SD608")],
)
def test_a_drafter_with_sliding_windows_only_may_look_one_way(model: str, code: str) -> None:
    one = drafter("dflash", model=model, attentionBackend="ROCM_AITER_UNIFIED_ATTN")
    assert drafter_codes(one) == [(code, "attentionBackend")]


@pytest.mark.parametrize(
    ("name", "image", "refused"),
    [
        ("ROCM_ATTN", CUSTOM, False),
        ("TRITON_ATTN", CUSTOM, False),
        ("ROCM_AITER_FA", CUSTOM, True),
        ("TRITON_MLA", CUSTOM, True),
        ("ROCM_AITER_MLA", "team/vllm:v0.32.0", True),
        ("ROCM_AITER_MLA", CUSTOM, False),
    ],
)
def test_adaptive_verification_needs_graphs_for_uneven_batches(name: str, image: str, refused: bool) -> None:
    one = drafter("eagle3", options={"enable_adaptive_verification": True})
    found = drafter_codes(one, "engine.attentionBackend", name, image)
    field = "options.enable_adaptive_verification"
    assert (("SD609", field) in found) is refused
    assert "SD609" not in [
        code for code, _ in drafter_codes(drafter("eagle3"), "engine.attentionBackend", name)
    ]


@pytest.mark.parametrize(
    ("named", "code", "severity"),
    [
        (None, "SD626", Severity.ADVICE),
        ("TRITON_ATTN", None, None),
        ("ROCM_ATTN", "SD627", Severity.WARNING),
    ],
)
def test_a_checkpoint_with_a_known_backend_is_best_on_it(
    named: str | None, code: str | None, severity: Severity | None
) -> None:
    one = drafter("dflash", attentionBackend=named)
    checkpoint = Checkpoint(
        method="dflash",
        model="org/draft",
        tokens=Tokens(1, 7, 7),
        source="a test",
        backends={"gfx942": "TRITON_ATTN"},
    )
    found = _with_checkpoint(one, checkpoint)
    ours = [(each.code, each.severity) for each in found if each.code in ("SD612", "SD626", "SD627")]
    assert ours == ([(code, severity)] if code else [])


@pytest.mark.parametrize(("unsupported", "found"), [(("MI300X",), True), (("MI325X",), False), ((), False)])
def test_a_checkpoint_that_does_not_run_on_a_gpu_is_refused_there(
    unsupported: tuple[str, ...], found: bool
) -> None:
    checkpoint = Checkpoint(
        method="eagle3",
        model="org/draft",
        tokens=Tokens(1, 5, 3),
        source="a recipe",
        unsupported=unsupported,
    )
    reasons = [
        each.reason for each in _with_checkpoint(drafter("eagle3"), checkpoint) if each.code == "SD625"
    ]
    assert reasons == (["org/draft is known not to run on MI300X (a recipe)"] if found else [])


def _with_checkpoint(one: Drafter, checkpoint: Checkpoint) -> tuple[Any, ...]:
    spec = with_drafters(one)
    target = Target(model=spec.model, family="new", source="a test", drafters=(checkpoint,))
    return on_drafters(setting_of(spec, image=CUSTOM, targets=(target,))).get("d", ())


# --- variables ---


@pytest.mark.parametrize(
    ("variables", "codes"),
    [
        (env(VLLM_ROCM_USE_AITER_MHA="1"), ["SD613"]),
        (env(VLLM_ROCM_USE_AITER_MHA="0"), []),
        (env(VLLM_ROCM_USE_AITER_MHA="1", VLLM_ROCM_USE_AITER="0"), ["SD613"]),
        (env(VLLM_ROCM_USE_AITER_MHA="1", VLLM_ROCM_USE_AITER="true"), []),
        (env(VLLM_ROCM_USE_AITER_MHA="1", VLLM_ROCM_USE_AITER=None), []),
        (env(VLLM_ROCM_SHUFFLE_KV_CACHE_LAYOUT="1"), []),
        (env(HIP_VISIBLE_DEVICES="0,1", CUDA_VISIBLE_DEVICES="0"), ["SD620"]),
        (env(HIP_VISIBLE_DEVICES="0", CUDA_VISIBLE_DEVICES="0"), []),
        (env(HIP_VISIBLE_DEVICES="0", CUDA_VISIBLE_DEVICES=""), []),
        (env(HIP_VISIBLE_DEVICES="0", CUDA_VISIBLE_DEVICES=None), []),
        (env(NVIDIA_VISIBLE_DEVICES="all"), ["SD621"]),
        (env(VLLM_USE_FLASHINFER_MOE_FP8="1"), ["SD621"]),
    ],
)
def test_variables_fit_amd_and_each_other(variables: list[dict[str, Any]], codes: list[str]) -> None:
    assert spec_codes("engine.env", variables) == codes


@pytest.mark.parametrize(("gpu", "codes"), [("MI250X", ["SD615"]), ("MI300X", [])])
def test_aiter_is_turned_on_where_it_has_kernels(gpu: str, codes: list[str]) -> None:
    body = changed(SMALLEST, "engine.env", env(VLLM_ROCM_USE_AITER="1"))
    spec = Spec.model_validate(changed(body, "accelerator.type", gpu))
    found = on_spec(setting_of(spec, image=CUSTOM))
    assert [each.code for each in found if each.code == "SD615"] == codes


# --- number formats ---


@pytest.mark.parametrize(
    ("args", "image", "codes"),
    [
        (["--quantization", "fp8"], CUSTOM, []),
        (["-q", "awq"], CUSTOM, []),
        (["--quantization", "None"], CUSTOM, []),
        (["--quantization="], CUSTOM, []),
        (["--quantization", "bitsandbytes"], CUSTOM, ["SD622"]),
        (["--quantization=gguf"], CUSTOM, ["SD622"]),
        (["--quantization", "bitsandbytes"], "team/vllm:v0.20.0", []),
        (["--quantization", "bitsandbytes"], "team/vllm:v0.40.0", []),
        (["--moe-backend", "flashinfer_trtllm"], CUSTOM, ["SD621"]),
        (["--moe-backend", "triton"], CUSTOM, []),
        (["--quantization", "mxfp8"], CUSTOM, ["SD623"]),
        (["--quantization", "modelopt_fp4"], CUSTOM, ["SD623"]),
    ],
)
def test_quantisations_are_those_that_vllm_has_on_amd(args: list[str], image: str, codes: list[str]) -> None:
    found = spec_codes("engine.args", args, image)
    assert [each for each in found if each.startswith("SD62")] == codes


@pytest.mark.parametrize("name", SUPPORTED)
def test_every_supported_quantisation_passes(name: str) -> None:
    assert "SD622" not in spec_codes("engine.args", ["--quantization", name])


def test_a_drafters_quantisation_is_looked_at_too() -> None:
    quantised = {"quantization": "bitsandbytes"}
    assert drafter_codes(drafter("eagle3", options=quantised)) == [("SD622", "options.quantization")]
    assert drafter_codes(drafter("ngram", options=quantised)) == []  # nothing is loaded


@pytest.mark.parametrize(
    ("model", "known", "args", "precision"),
    [
        ("org/x", None, [], None),
        ("org/x-FP8", None, [], ("spec.model", "fp8")),
        ("nvidia/x-NVFP4", None, [], ("spec.model", "nvfp4")),
        ("amd/x-MXFP4", None, [], ("spec.model", "mxfp4")),
        ("org/x", "mxfp8", [], ("spec.model", "mxfp8")),
        ("org/x-FP8", "bf16", [], None),
        ("fp8-team/x", None, [], None),
        ("openai/gpt-oss-120b", "mxfp4", [], None),
        ("org/x", None, ["--quantization", "modelopt_fp4"], ("spec.engine.args[0]", "nvfp4")),
        ("org/x-FP8", None, ["--quantization", "quark"], None),
    ],
)
def test_the_format_of_the_weights_is_in_the_catalogue_the_name_or_an_argument(
    model: str, known: str | None, args: list[str], precision: tuple[str, str] | None
) -> None:
    spec = smallest("engine.args", args).model_copy(update={"model": model})
    targets = (Target(model=model, family="new", source="a test", precision=known),) if known else ()
    assert precision_of(setting_of(spec, targets=targets)) == precision


@pytest.mark.parametrize(
    ("gpu", "model", "codes"),
    [
        ("MI210", "org/x-FP8", ["SD624"]),
        ("MI300X", "org/x-FP8", []),
        ("MI300X", "org/x-MXFP4", ["SD623"]),
        ("MI355X", "org/x-MXFP4", []),
        ("MI355X", "org/x-NVFP4", ["SD623"]),
    ],
)
def test_a_gpu_computes_in_the_format_of_the_weights(gpu: str, model: str, codes: list[str]) -> None:
    spec = smallest("accelerator.type", gpu).model_copy(update={"model": model})
    found = on_spec(setting_of(spec, image=CUSTOM))
    assert [each.code for each in found if each.code in ("SD623", "SD624")] == codes


@pytest.mark.parametrize(
    ("gpu", "model", "fix"),
    [
        (
            "MI355X",
            "thinkingmachines/Inkling-NVFP4",
            "use lightseekorg/Inkling-MXFP4, or another checkpoint in FP8 or BF16",
        ),
        (
            "MI300X",
            "thinkingmachines/Inkling-NVFP4",
            "use lightseekorg/Inkling-MXFP4, or another checkpoint in FP8 or BF16",
        ),
        ("MI300X", "lightseekorg/Inkling-MXFP4", "use a checkpoint in FP8 or BF16"),
        (
            "MI300X",
            "amd/MiniMax-M3-MXFP4",
            "use MiniMaxAI/MiniMax-M3, or another checkpoint in FP8 or BF16",
        ),
        ("MI210", "thinkingmachines/Inkling-NVFP4", "use a checkpoint in BF16"),
        ("MI355X", "org/x-NVFP4", "use a checkpoint in FP8 or BF16"),
    ],
)
def test_another_build_of_the_target_is_named_where_the_catalogue_has_one(
    gpu: str, model: str, fix: str
) -> None:
    spec = smallest("accelerator.type", gpu).model_copy(update={"model": model})
    found = on_spec(setting_of(spec, image=CUSTOM))
    assert [each.fix for each in found if each.code == "SD623"] == [fix]


@pytest.mark.parametrize(
    ("model", "args", "image", "places"),
    [
        ("Qwen/Qwen3-32B-FP8", ["--kv-cache-dtype", "fp8_e5m2"], CUSTOM, ["spec.engine.args[0]"]),
        (
            "Qwen/Qwen3-32B-FP8",
            ["--kv-cache-dtype", "fp8_e5m2"],
            "team/vllm:v0.20.0",
            ["spec.engine.args[0]"],
        ),
        ("Qwen/Qwen3-32B-FP8", ["--kv-cache-dtype", "fp8"], CUSTOM, []),
        ("Qwen/Qwen3-32B", ["--kv-cache-dtype", "fp8_e5m2"], CUSTOM, []),
        ("Qwen/Qwen3-32B", ["-q", "fp8", "--kv-cache-dtype=fp8_e5m2"], CUSTOM, ["spec.engine.args[2]"]),
        ("RedHatAI/Qwen3-32B-quantized.w4a16", ["--kv-cache-dtype", "fp8_e5m2"], CUSTOM, []),
    ],
)
def test_weights_in_fp8_take_no_cache_in_the_other_format(
    model: str, args: list[str], image: str, places: list[str]
) -> None:
    spec = smallest("engine.args", args).model_copy(update={"model": model})
    assert [each.field for each in on_spec(setting_of(spec, image=image)) if each.code == "SD619"] == places


# --- devices ---


@pytest.mark.parametrize(
    ("accelerator", "codes"),
    [
        ({"type": "MI300X", "count": 2}, []),
        ({"type": "MI300X", "resourceName": "amd.com/cpx_nps4"}, []),
        ({"type": "MI300X", "count": 2, "resourceName": "amd.com/cpx_nps4"}, ["SD630"]),
        ({"type": "MI300X", "count": 2, "resourceName": "amd.com/spx_nps1"}, []),
        ({"count": 2, "resourceName": "amd.com/cpx_nps4"}, ["SD630"]),
        ({"type": "MI300X", "resourceName": "amd.com/cpx_nps2"}, ["SD629"]),
        ({"type": "MI300A", "resourceName": "amd.com/tpx_nps1"}, []),
        ({"type": "MI210", "resourceName": "amd.com/cpx_nps4"}, ["SD628"]),
        ({"type": "MI300X", "resourceName": "nvidia.com/gpu"}, ["SD631"]),
        ({"resourceName": "nvidia.com/gpu"}, []),
        ({"type": "MI300X", "resourceName": "example.com/gpu"}, []),
    ],
)
def test_resources_are_ones_that_the_gpu_can_be_offered_as(
    accelerator: dict[str, Any], codes: list[str]
) -> None:
    assert spec_codes("accelerator", accelerator) == codes


@pytest.mark.parametrize(
    ("toleration", "codes"),
    [
        ({"key": "amd.com/gpu", "operator": "Exists"}, []),
        ({"key": "amd-dcm", "operator": "Equal", "value": "up", "effect": "NoExecute"}, ["SD632"]),
        ({"key": "gpu.amd.com/memory-partition-conflict", "operator": "Exists"}, ["SD632"]),
        ({"operator": "Exists"}, ["SD632"]),
    ],
)
def test_taints_of_sick_gpus_are_not_tolerated(toleration: dict[str, Any], codes: list[str]) -> None:
    assert spec_codes("engine.podTemplate", {"tolerations": [toleration]}) == codes
