"""Which attention backend runs, and which of AITER's switches are on."""

from __future__ import annotations

from typing import Any

import pytest

from specdeploy.api.spec import Spec
from specdeploy.engine.accelerators import ARCHITECTURES
from specdeploy.engine.aiter import MASTER, MHA, MLA, SWITCHES, is_on
from specdeploy.engine.attention import (
    ALIEN,
    BACKENDS,
    FOREIGN,
    UNUSUAL,
    Kind,
    Need,
    takes_kv,
    vllm_choice,
)
from specdeploy.engine.backends import backend_of_drafter, backend_of_target, kind_of_target
from specdeploy.engine.catalogue.entries import Target
from specdeploy.engine.environment import engine_environment
from specdeploy.engine.setting import Setting, candidates_of, setting_of
from specdeploy.engine.versions import parse_version

FIELD = "spec.engine.attentionBackend"
ON = {"env": [{"name": MASTER, "value": "1"}]}


def setting(
    engine: dict[str, Any] | None = None,
    drafter: dict[str, Any] | None = None,
    attention: str | None = "gqa",
    family: str = "qwen3",
    version: str = "0.33.0",
    **accelerator: Any,
) -> Setting:
    """Of a target that the catalogue knows by its attention and its family."""
    drafters = [{"name": "d", "numSpeculativeTokens": 4, **drafter}] if drafter else []
    spec = Spec.model_validate(
        {
            "model": "org/target",
            "accelerator": {"type": "MI300X", **accelerator},
            "engine": {"image": "team/vllm:latest", "vllmVersion": version, **(engine or {})},
            "drafters": drafters,
        }
    )
    target = Target(model="org/target", family=family, source="a test", attention=attention)
    return setting_of(spec, targets=(target,))


# --- vLLM's choice ---


@pytest.mark.parametrize(
    ("need", "chosen"),
    [
        (Need(Kind.DENSE, "gfx942"), "ROCM_ATTN"),
        (Need(Kind.DENSE, "gfx942", frozenset({MHA, MLA})), "ROCM_ATTN"),
        (Need(Kind.DENSE, "gfx942", frozenset({MHA}), connector=True), "ROCM_AITER_FA"),
        (Need(Kind.DENSE, "gfx942", connector=True), "ROCM_AITER_UNIFIED_ATTN"),
        (Need(Kind.DENSE, "gfx90a", frozenset({MHA}), connector=True), "TRITON_ATTN"),
        (Need(Kind.DENSE, "gfx950", sinks=True), "ROCM_AITER_UNIFIED_ATTN"),
        (Need(Kind.DENSE, "gfx950", frozenset({MHA}), sinks=True, head=64), "ROCM_AITER_FA"),
        (Need(Kind.DENSE, "gfx942", head=512), "ROCM_AITER_UNIFIED_ATTN"),
        (Need(Kind.DENSE, "gfx942", non_causal=True), "ROCM_ATTN"),
        (Need(Kind.DENSE, "gfx942", non_causal=True, head=512), "TRITON_ATTN"),
        (Need(Kind.DENSE, "gfx942", kv="int8_per_token_head"), "TRITON_ATTN"),
        (Need(Kind.DENSE, "gfx942", kv="turboquant_4bit_nc"), "TURBOQUANT"),
        (Need(Kind.DENSE, "gfx942", kv="ultraquant_4bit"), "ULTRAQUANT"),
        (Need(Kind.DENSE, "gfx942", kv="nothing"), None),
        (Need(Kind.MLA, "gfx942"), "TRITON_MLA"),
        (Need(Kind.MLA, "gfx942", frozenset({MLA})), "ROCM_AITER_MLA"),
        (Need(Kind.MLA, "gfx942", frozenset({MLA}), non_causal=True), "TRITON_MLA"),
        (Need(Kind.MLA, "gfx950", frozenset({MLA}), non_causal=True), "ROCM_AITER_MLA"),
        (Need(Kind.SPARSE_MLA, "gfx950"), "ROCM_AITER_MLA_SPARSE"),
    ],
)
def test_vllm_takes_the_first_backend_that_fits(need: Need, chosen: str | None) -> None:
    assert vllm_choice(need, parse_version("0.33.0")) == chosen


def test_the_tables_of_backends_do_not_overlap_and_name_known_gpus_and_switches() -> None:
    names = [*BACKENDS, *ALIEN, *UNUSUAL, *FOREIGN]
    assert len(set(names)) == len(names)
    for backend in BACKENDS.values():
        assert set(backend.non_causal or ()) <= set(backend.architectures) <= set(ARCHITECTURES)
        assert backend.switch is None or backend.switch in SWITCHES
        if backend.aiter:
            assert all(ARCHITECTURES[name].aiter for name in backend.architectures)


@pytest.mark.parametrize(
    ("name", "kv", "taken"),
    [
        ("ROCM_ATTN", "fp8_e5m2", True),
        ("TRITON_MLA", "fp8_e5m2", False),
        ("ROCM_AITER_FA", "int8_per_token_head", False),
        ("TURBOQUANT", "auto", False),
        ("ROCM_OCTAVE", "anything", True),
    ],
)
def test_a_backend_takes_its_own_formats_of_the_cache(name: str, kv: str, taken: bool) -> None:
    assert takes_kv(BACKENDS[name], kv) is taken


# --- the target's ---


@pytest.mark.parametrize(
    ("engine", "attention", "family", "field", "named", "own"),
    [
        ({}, "gqa", "qwen3", FIELD, None, "ROCM_ATTN"),
        (ON, "gqa", "qwen3", FIELD, None, "ROCM_ATTN"),
        ({}, "gqa", "gemma4", FIELD, None, "TRITON_ATTN"),
        ({}, "gqa", "gpt-oss", FIELD, None, "ROCM_AITER_UNIFIED_ATTN"),
        ({}, "hybrid", "qwen3.5", FIELD, None, None),
        ({}, "mla", "deepseek-v3", FIELD, None, "TRITON_MLA"),
        (ON, "mla", "deepseek-v3", FIELD, None, "ROCM_AITER_MLA"),
        ({}, "sparse-mla", "glm", FIELD, None, "ROCM_AITER_MLA_SPARSE"),
        ({}, None, "new", FIELD, None, None),
        ({"attentionBackend": "triton_attn"}, "gqa", "qwen3", FIELD, "TRITON_ATTN", None),
        ({"attentionBackend": "auto"}, "gqa", "qwen3", FIELD, None, "ROCM_ATTN"),
        (
            {"args": ["--seed", "1", "--attention-backend=ROCM_AITER_FA"]},
            "gqa",
            "qwen3",
            "spec.engine.args[2]",
            "ROCM_AITER_FA",
            None,
        ),
        ({"args": ["--attention-config", '{"backend": "TRITON_ATTN"}']}, "gqa", "qwen3", FIELD, None, None),
        ({"args": ["-ac.backend", "TRITON_ATTN"]}, "gqa", "qwen3", FIELD, None, None),
        ({"args": ["--kv-transfer-config", "{}"]}, "gqa", "qwen3", FIELD, None, "ROCM_AITER_UNIFIED_ATTN"),
        (
            {"env": [{"name": MASTER, "valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}}]},
            "gqa",
            "qwen3",
            FIELD,
            None,
            None,
        ),
    ],
)
def test_the_targets_backend_is_the_one_that_is_named_or_vllms_choice(
    engine: dict[str, Any], attention: str | None, family: str, field: str, named: str | None, own: str | None
) -> None:
    choice = backend_of_target(setting(engine, attention=attention, family=family))
    assert (choice.field, choice.named, choice.own) == (field, named, own)
    assert choice.name == (named or own)


def test_without_a_kind_of_gpu_vllms_choice_is_not_known() -> None:
    assert backend_of_target(setting(type=None)).own is None


@pytest.mark.parametrize(
    ("attention", "disabled", "kind"),
    [
        ("gqa", None, Kind.DENSE),
        ("mla", None, Kind.MLA),
        ("mla", "0", Kind.MLA),
        ("mla", "1", Kind.DENSE),
        ("sparse-mla", None, Kind.SPARSE_MLA),
        ("hybrid", None, None),
        (None, None, None),
    ],
)
def test_latent_attention_can_be_turned_into_dense(
    attention: str | None, disabled: str | None, kind: Kind | None
) -> None:
    env = [{"name": "VLLM_MLA_DISABLE", "value": disabled}] if disabled else []
    assert kind_of_target(setting({"env": env}, attention=attention)) is kind


# --- a drafter's ---

_EAGLE3 = {"method": "eagle3", "model": "org/head"}
_DFLASH = {"method": "dflash", "model": "org/block"}
_NAMED = {"attentionBackend": "ROCM_AITER_FA"}
_OLD_RUNNER = {"env": [{"name": "VLLM_USE_V2_MODEL_RUNNER", "value": "0"}]}


@pytest.mark.parametrize(
    ("drafter", "engine", "more", "named", "own", "inherited"),
    [
        ({**_EAGLE3, "attentionBackend": "triton_attn"}, _NAMED, {}, "TRITON_ATTN", None, False),
        (_EAGLE3, _NAMED, {}, "ROCM_AITER_FA", None, True),
        (_EAGLE3, {}, {}, None, "ROCM_ATTN", True),
        (_EAGLE3, _NAMED, {"version": "0.28.0"}, None, "ROCM_ATTN", False),
        ({**_EAGLE3, "options": {"parallel_drafting": True}}, _NAMED, {}, None, "ROCM_ATTN", False),
        ({**_EAGLE3, "options": {"parallel_drafting": "true"}}, _NAMED, {}, None, "ROCM_ATTN", False),
        ({**_EAGLE3, "options": {"parallel_drafting": "false"}}, _NAMED, {}, "ROCM_AITER_FA", None, True),
        (_EAGLE3, _NAMED, {"version": "0.29.0"}, "ROCM_AITER_FA", None, True),
        (_EAGLE3, {**_NAMED, **_OLD_RUNNER}, {"version": "0.29.0"}, None, "ROCM_ATTN", False),
        (_EAGLE3, {**_NAMED, **_OLD_RUNNER}, {"version": "0.28.0"}, None, "ROCM_ATTN", False),
        ({"method": "mtp"}, _NAMED, {"version": "0.28.0", "family": "gemma4"}, "ROCM_AITER_FA", None, True),
        (_DFLASH, _NAMED, {}, None, "ROCM_ATTN", False),
        (
            {**_DFLASH, "options": {"kv_cache_dtype": "fp8_per_token_head"}},
            {},
            {},
            None,
            "TRITON_ATTN",
            False,
        ),
        (_DFLASH, _NAMED, {"attention": "mla"}, None, None, False),
        ({"method": "dspark"}, _NAMED, {"family": "deepseek-v4"}, "ROCM_AITER_FA", None, True),
        ({"method": "dspark", "model": "org/d"}, _NAMED, {}, None, "ROCM_ATTN", False),
        (
            {"method": "eagle3", "model": "org/eagle3-mla"},
            ON,
            {"attention": "mla", "version": "0.28.0"},
            None,
            "ROCM_AITER_MLA",
            False,
        ),
    ],
)
def test_a_drafters_backend_is_named_the_targets_or_vllms_choice(
    drafter: dict[str, Any],
    engine: dict[str, Any],
    more: dict[str, Any],
    named: str | None,
    own: str | None,
    inherited: bool,
) -> None:
    (candidate,) = candidates_of(setting(engine, drafter, **more))
    choice = backend_of_drafter(candidate)
    assert choice is not None
    assert (choice.named, choice.own, choice.inherited) == (named, own, inherited)
    assert choice.field == "spec.drafters[0].attentionBackend"


@pytest.mark.parametrize("method", ["ngram", "suffix"])
def test_a_method_without_a_model_has_no_backend_of_its_own(method: str) -> None:
    (candidate,) = candidates_of(setting({}, {"method": method}))
    assert backend_of_drafter(candidate) is None


# --- AITER's switches ---


@pytest.mark.parametrize(
    ("variable", "version", "on"),
    [
        ({}, "0.33.0", {MASTER: False, MHA: True}),
        ({"name": MASTER, "value": "1"}, "0.33.0", {MASTER: True}),
        ({"name": MASTER, "value": "True"}, "0.33.0", {MASTER: True}),
        ({"name": MASTER, "value": "yes"}, "0.33.0", {MASTER: False}),
        ({"name": MASTER}, "0.33.0", {MASTER: False}),
        ({"name": MASTER, "value": "$(OTHER)"}, "0.33.0", {MASTER: None}),
        ({"name": MASTER, "valueFrom": {"fieldRef": {"fieldPath": "x"}}}, "0.33.0", {MASTER: None}),
        ({}, "0.32.0", {"VLLM_ROCM_USE_AITER_FP8BMM": True}),
        ({}, "0.33.0", {"VLLM_ROCM_USE_AITER_FP8BMM": False}),
    ],
)
def test_a_switch_is_on_as_vllm_reads_it(
    variable: dict[str, Any], version: str, on: dict[str, bool | None]
) -> None:
    one = setting({"env": [variable] if variable else []}, version=version)
    assert {name: is_on(one, name) for name in on} == on


def test_the_master_is_off_because_it_is_rendered_so() -> None:
    rendered = {each["name"]: each.get("value") for each in engine_environment(setting().spec, "image")}
    assert rendered[MASTER] == "0"
    assert SWITCHES[MASTER].on is None
