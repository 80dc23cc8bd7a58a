"""The table of methods, and the rules on methods and checkpoints."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from specdeploy.api.findings import read_spec
from specdeploy.api.spec import NEEDS_MODEL, TAKES_NO_MODEL, Method
from specdeploy.engine.checks import check_drafters
from specdeploy.engine.methods import METHODS, MTP_ALIASES, NOT_TAKEN, Needs
from tests.engine.findings import CUSTOM, a_target, codes, on_drafter
from tests.engine.specs import SMALLEST, changed, drafter, with_drafters

STOCK = "vllm/vllm-openai-rocm:v0.33.0"


def test_the_table_has_the_methods_of_the_resource_and_none_twice() -> None:
    assert set(METHODS) == set(get_args(Method))
    assert not set(METHODS) & set(NOT_TAKEN)
    assert len(set(MTP_ALIASES)) == 27


def test_the_resource_asks_for_a_checkpoint_as_the_table_does() -> None:
    needs = {name for name, method in METHODS.items() if method.needs is Needs.CHECKPOINT}
    takes_none = {name for name, method in METHODS.items() if method.needs is Needs.NOTHING}
    assert (needs, takes_none) == (set(NEEDS_MODEL), set(TAKES_NO_MODEL))


@pytest.mark.parametrize("name", METHODS)
def test_each_method_tells_what_it_is_and_what_it_changes(name: str) -> None:
    method = METHODS[name]
    assert method.name == name
    assert method.title
    assert method.tokens
    assert method.changes
    assert not any(sentence.endswith(".") for sentence in method.changes)


@pytest.mark.parametrize("name", METHODS)
def test_a_plain_drafter_of_every_method_can_run(name: str) -> None:
    assistant = {"model": "org/assistant"} if name == "mtp" else {}
    assert check_drafters(with_drafters(drafter(name, **assistant)), CUSTOM) == {}


@pytest.mark.parametrize(
    ("image", "found"),
    [
        ("team/vllm:v0.23.0", ["SD301"]),
        ("team/vllm:v0.23.1", ["SD302"]),  # AMD measured it on a development build that is called so
        ("team/vllm:v0.24.0", ["SD301"]),
        ("team/vllm:v0.25.0", []),
        ("team/vllm:latest", []),
    ],
)
def test_a_method_younger_than_the_image_is_refused(image: str, found: list[str]) -> None:
    assert codes(drafter("dspark", model="org/draft"), image=image) == found


def test_a_finding_on_a_young_method_tells_both_versions() -> None:
    (finding,) = on_drafter(drafter("dspark"), image="team/vllm:v0.22.1")
    assert str(finding) == (
        "spec.drafters[0].method: dspark came with vLLM 0.25, the image has 0.22.1; "
        "use a newer spec.engine.image or another method"
    )


@pytest.mark.parametrize(("image", "found"), [("team/vllm:v0.20.2", ["SD303"]), ("team/vllm:v0.21.0", [])])
def test_a_backend_of_the_drafters_own_needs_a_release_that_has_the_key(image: str, found: list[str]) -> None:
    assert codes(drafter("eagle3", attentionBackend="TRITON_ATTN"), image=image) == found
    assert codes(drafter("eagle3"), image=image) == []


# Its runner and its scheduling are others than the baseline's, always.
OF_SUFFIX = ("SD532", "SD449")


@pytest.mark.parametrize(("image", "found"), [(STOCK, ["SD304"]), (CUSTOM, [])])
def test_suffix_needs_a_package_that_the_stock_image_lacks(image: str, found: list[str]) -> None:
    assert [code for code in codes(drafter("suffix"), image=image) if code not in OF_SUFFIX] == found


@pytest.mark.parametrize(
    ("method", "model", "found"),
    [
        ("eagle3", None, ["SD305"]),
        ("draft_model", "", ["SD305"]),
        ("ngram", "org/x", ["SD306"]),
        ("suffix", "org/x", ["SD306"]),
        ("mtp", "org/x", []),
        ("mtp", None, []),
        ("dspark", None, []),
    ],
)
def test_method_and_checkpoint_have_to_fit(method: str, model: str | None, found: list[str]) -> None:
    # Admission refuses some of these already; an old object may still bring them.
    one = drafter(method).model_copy(update={"model": model})
    assert [code for code in codes(one) if code.startswith("SD30")] == found


@pytest.mark.parametrize(
    ("family", "model", "found"),
    [("gemma4", None, ["SD307"]), ("gemma4", "org/a", []), ("qwen3", None, ["SD307"]), ("qwen3.5", None, [])],
)
def test_mtp_without_a_checkpoint_needs_layers_in_the_target(
    family: str, model: str | None, found: list[str]
) -> None:
    one = drafter("mtp").model_copy(update={"model": model})
    assert codes(one, target=a_target(family)) == found


@pytest.mark.parametrize(
    ("family", "fix"),
    [
        ("gemma4", "name its assistant, google/gemma-4-26B-A4B-it-assistant"),
        ("qwen3", "use another method"),
    ],
)
def test_only_gemma_4_is_told_of_an_assistant(family: str, fix: str) -> None:
    (finding,) = on_drafter(drafter("mtp"), target=a_target(family))
    assert finding.fix == fix


@pytest.mark.parametrize(
    ("within", "model", "found"),
    [(None, None, ["SD313"]), (None, "org/dspark", []), ("dflash", None, ["SD313"]), ("dspark", None, [])],
)
def test_dspark_without_a_checkpoint_is_known_where_its_layers_are_listed(
    within: str | None, model: str | None, found: list[str]
) -> None:
    one = drafter("dspark").model_copy(update={"model": model})
    assert codes(one, target=a_target("deepseek-v4", within=within)) == found


@pytest.mark.parametrize(
    ("method", "model", "served", "taken"),
    [
        ("draft_model", "/models/dflash-cache/qwen3-0.6b", "org/t", "dflash"),
        ("draft_model", "org/Eagle3-small", "org/t", "eagle3"),
        ("draft_model", "org/eagle-3-eagle3", "org/t", "eagle"),
        ("draft_model", "/models/qwen3-0.6b", "/models/dspark/t", None),
        ("mtp", "/models/dspark/assistant", "org/t", "dspark"),
        ("mtp", None, "org/Model-DSpark", "dspark"),
        ("mtp", None, "org/t", None),
        ("eagle3", "org/dflash-like", "org/t", None),
        ("dspark", None, "org/eagle3-model", None),
    ],
)
def test_a_path_by_which_vllm_would_change_the_method_is_refused(
    method: str, model: str | None, served: str, taken: str | None
) -> None:
    one = drafter(method).model_copy(update={"model": model})
    found = [each for each in on_drafter(one, path="model", value=served) if each.code == "SD308"]
    assert len(found) == (taken is not None)
    assert all(f" for {taken}" in each.reason for each in found)
    assert all((f"use method {taken}" in each.fix) is (model is not None) for each in found)


@pytest.mark.parametrize(
    ("method", "family", "tokens", "version", "found"),
    [
        ("dspark", "any", 7, "0.33.0", []),
        ("dspark", "any", 8, "0.33.0", ["SD309"]),
        ("dspark", "any", 3, "0.27.0", []),
        ("dflash", "any", 6, "0.33.0", []),
        ("dflash", "any", 7, "0.33.0", ["SD309"]),  # the first place of the block is the anchor
        ("dspark", "deepseek-v4", 6, "0.25.1", []),
        ("dspark", "deepseek-v4", 6, "0.26.0", ["SD310"]),
        ("dspark", "deepseek-v4", 6, "0.27.1", ["SD310"]),
        ("dspark", "deepseek-v4", 6, "0.28.0", []),
        ("dspark", "deepseek-v4", 7, "0.27.1", []),
        ("dspark", "deepseek-v4", 8, "0.27.1", ["SD309"]),
    ],
)
def test_tokens_are_told_apart_by_the_block_of_the_checkpoint(
    method: str, family: str, tokens: int, version: str, found: list[str]
) -> None:
    one = drafter(method, model=f"org/{method}", numSpeculativeTokens=tokens)
    assert codes(one, target=a_target(family, block=7), image=f"team/vllm:v{version}") == found


def test_a_checkpoint_of_unknown_block_may_draft_any_number() -> None:
    one = drafter("dflash", model="org/dflash", numSpeculativeTokens=64)
    assert "SD309" not in codes(one, target=a_target())


@pytest.mark.parametrize(
    ("tokens", "options", "found"),
    [
        (24, {}, []),
        (25, {}, ["SD311"]),
        (32, {"suffix_decoding_max_tree_depth": 32}, []),
        (33, {"suffix_decoding_max_tree_depth": 32}, ["SD311"]),
    ],
)
def test_suffix_drafts_no_more_than_its_tree_is_deep(
    tokens: int, options: dict[str, Any], found: list[str]
) -> None:
    one = drafter("suffix", numSpeculativeTokens=tokens, options=options)
    assert [code for code in codes(one) if code not in OF_SUFFIX] == found


def test_no_speculative_tokens_is_found_when_the_spec_is_read_and_the_rest_goes_on() -> None:
    reading = read_spec(changed(SMALLEST, "drafters.0.numSpeculativeTokens", 0))
    assert reading.spec is not None
    assert [(name, finding.field) for name, finding in reading.drafters] == [
        ("dflash", "spec.drafters[0].numSpeculativeTokens")
    ]


@pytest.mark.parametrize("name", NOT_TAKEN)
def test_a_method_that_is_not_taken_is_answered_with_what_to_do(name: str) -> None:
    (finding,) = on_drafter(drafter("eagle3", options={"method": name}))
    assert finding.field == "spec.drafters[0].options.method"
    assert finding.reason == f"{name} is not taken: {NOT_TAKEN[name].why}"
    assert finding.fix == NOT_TAKEN[name].instead
