"""Single keys of a drafter's options: which there are, in which release, with which values."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from specdeploy.api.rule import Severity
from specdeploy.api.spec import Method
from specdeploy.engine.kinds import SCHEDULE, SWITCH, as_number, as_switch, as_whole, rows_of
from specdeploy.engine.options import FIELDS, OPTIONS, REFUSED, SYNTHETIC
from tests.engine.findings import codes, on_drafter
from tests.engine.specs import drafter

METHODS = get_args(Method)

NOTHING = object()

# A value that each key takes, one that vLLM reads as another (or nothing such), and one that it refuses.
EXAMPLES: dict[str, tuple[Any, Any, Any]] = {
    "draft_tensor_parallel_size": (2, "2", 0),
    "quantization": ("fp8", None, ""),
    "moe_backend": ("triton", None, True),
    "kv_cache_dtype": ("fp8", None, 8),
    "max_model_len": (4096, 4096.0, 0),
    "code_revision": ("main", "", []),
    "draft_load_config": ({"load_format": "dummy"}, None, {"format": "dummy"}),
    "enforce_eager": (True, "true", "maybe"),
    "parallel_drafting": (False, 0, None),
    "num_speculative_tokens_per_batch_size": ([[1, 8, 4], [9, 64, 1]], [[1, 8, "4"]], [[2, 8, 4]]),
    "enable_adaptive_verification": (True, 1, 2),
    "rejection_sample_method": ("block", NOTHING, "random"),
    "draft_sample_method": ("greedy", NOTHING, "random"),
    "fly_window_size": (2, None, 0),
    "fly_entropy_threshold": (0.3, "0.3", -1),
    "fly_entropy_top_k": (3, 3.0, 2.5),
    "dspark_draft_topk": (4, "4", 0),
    "xpress_topc": (0, None, -1),
    "draft_lm_head_quantization": ("fp8", None, "int4"),
    "use_local_argmax_reduction": (True, "yes", "aye"),
    "use_heterogeneous_vocab": (True, "on", "aye"),
    "disable_padded_drafter_batch": (False, "no", "aye"),
    "disable_eagle_block_drop": (True, "yes", "aye"),
    "disable_lookahead_block_hashes": (True, "yes", "aye"),
    "index_share_for_mtp_iteration": (True, "yes", "aye"),
    "prompt_lookup_min": (8, "8", 0),
    "prompt_lookup_max": (8, "8", 1.5),
    "suffix_decoding_max_tree_depth": (24, "24", 0),
    "suffix_decoding_max_cached_requests": (0, "7", -1),
    "suffix_decoding_max_spec_factor": (1.5, "1", "much"),
    "suffix_decoding_min_token_prob": (0.1, "0.1", 1.1),
}
# Findings of the rules on how keys go together, which are not asked about here.
SINGLE = [f"SD{number}" for number in range(401, 414)]


def single(key: str, value: Any, method: str | None = None, **where: Any) -> list[str]:
    """Codes of the rules on single keys."""
    one = drafter(method or method_for(key), options={key: value})
    return [code for code in codes(one, **where) if code in SINGLE]


def method_for(key: str) -> str:
    return next(iter(OPTIONS[key].methods), "eagle3")


def test_every_key_that_there_still_is_has_examples() -> None:
    assert set(EXAMPLES) == {key for key, option in OPTIONS.items() if option.span.holds(None)}


@pytest.mark.parametrize("key", sorted(EXAMPLES))
def test_a_known_key_takes_a_good_value_and_refuses_a_bad_one(key: str) -> None:
    good, loose, bad = EXAMPLES[key]
    assert single(key, good) == []
    assert loose is NOTHING or single(key, loose) == ["SD404"]
    assert single(key, bad) == ["SD403"]


@pytest.mark.parametrize(
    ("key", "nullable"), [(key, option.nullable) for key, option in OPTIONS.items() if key in EXAMPLES]
)
def test_null_is_taken_for_absent_where_absent_is_a_value(key: str, nullable: bool) -> None:
    assert single(key, None) == (["SD404"] if nullable else ["SD403"])


@pytest.mark.parametrize(
    "key", [key for key, option in OPTIONS.items() if option.methods and key in EXAMPLES]
)
def test_a_key_of_other_methods_is_ignored_or_refused_as_vllm_does(key: str) -> None:
    option = OPTIONS[key]
    for other in (method for method in METHODS if method not in option.methods):
        expected = "SD409" if other in option.refusing else "SD408"
        assert single(key, EXAMPLES[key][0], other) == [expected]


@pytest.mark.parametrize(
    ("key", "value", "method", "found"),
    [
        ("prompt_lookup_min", 0, "eagle3", ["SD408", "SD403"]),  # read before the method is known
        ("suffix_decoding_max_tree_depth", 0, "eagle3", ["SD408"]),  # asked of suffix alone
        ("suffix_decoding_max_tree_depth", "deep", "eagle3", ["SD408", "SD403"]),
        ("suffix_decoding_max_cached_requests", 1.5, "ngram", ["SD408", "SD403"]),
        ("suffix_decoding_min_token_prob", 7, "eagle3", ["SD408"]),
        ("suffix_decoding_min_token_prob", "x", "eagle3", ["SD408", "SD403"]),
        ("use_heterogeneous_vocab", False, "eagle3", []),  # what it is anyway
        ("use_heterogeneous_vocab", True, "ngram", ["SD409"]),
        ("index_share_for_mtp_iteration", False, "eagle3", ["SD409"]),
        ("dspark_draft_topk", 8, "eagle3", ["SD409"]),
        ("dspark_draft_topk", 8, "ngram", ["SD408"]),
        ("dspark_draft_topk", 0, "ngram", ["SD408", "SD403"]),
    ],
)
def test_a_key_of_other_methods_is_checked_as_far_as_vllm_does(
    key: str, value: object, method: str, found: list[str]
) -> None:
    assert single(key, value, method) == found


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("max-model-len", ["SD413"]),
        ("max_model-len", ["SD413"]),
        ("num-speculative-tokens", ["SD413", "SD401"]),
        ("no-such-key", ["SD413", "SD402"]),
    ],
)
def test_a_key_with_hyphens_is_read_as_vllm_reads_it(key: str, found: list[str]) -> None:
    assert codes(drafter("eagle3", options={key: 4})) == found


@pytest.mark.parametrize("key", sorted(FIELDS))
def test_a_key_that_is_a_field_is_refused(key: str) -> None:
    (finding,) = on_drafter(drafter("eagle3", options={key: "x"}))
    assert str(finding) == (
        f"spec.drafters[0].options.{key}: it has a field of its own; use spec.drafters[0].{FIELDS[key].name}"
    )


@pytest.mark.parametrize("key", sorted(REFUSED))
def test_a_key_that_is_never_right_is_refused(key: str) -> None:
    assert codes(drafter("eagle3", options={key: 1})) == ["SD410"]


@pytest.mark.parametrize("key", SYNTHETIC)
def test_keys_of_the_test_hook_are_refused_once(key: str) -> None:
    assert codes(drafter("eagle3", options={key: 3})) == ["SD420"]


@pytest.mark.parametrize(
    ("options", "image", "found"),
    [
        ({"brand_new_key": 1}, "vllm/vllm-openai-rocm:v0.40.0", []),
        ({"brand_new_key": 1}, "vllm/vllm-openai-rocm:v0.33.1", ["SD402"]),
        ({"rejection_sample_method": "brand-new"}, "vllm/vllm-openai-rocm:v0.40.0", []),
        ({"rejection_sample_method": "brand-new"}, "vllm/vllm-openai-rocm:v0.33.1", ["SD403"]),
    ],
)
def test_what_only_a_newer_engine_can_know_is_left_to_that_engine(
    options: dict[str, object], image: str, found: list[str]
) -> None:
    assert codes(drafter("eagle3", options=options), image=image) == found


@pytest.mark.parametrize(
    ("key", "fix"),
    [("prompt_lookup_mx", "write prompt_lookup_max or remove it"), ("zzz", "remove it")],
)
def test_an_unknown_key_is_told_with_the_nearest_known_one(key: str, fix: str) -> None:
    (finding,) = on_drafter(drafter("eagle3", options={key: 1}))
    assert str(finding) == (
        f"spec.drafters[0].options.{key}: vLLM's speculative config has no such key; {fix}"
    )


@pytest.mark.parametrize(
    ("key", "value", "image", "found"),
    [
        ("kv_cache_dtype", "fp8", "team/vllm:v0.26.0", []),
        ("kv_cache_dtype", "fp8", "team/vllm:v0.25.1", ["SD405"]),
        ("kv_cache_dtype", "fp8", "team/vllm:latest", []),
        ("kv_cache_dtype", "nvfp4_ds_mla", "team/vllm:v0.30.0", []),
        ("kv_cache_dtype", "nvfp4_ds_mla", "team/vllm:v0.29.0", ["SD405"]),
        ("quantization", "gguf", "team/vllm:v0.23.0", []),
        ("quantization", "gguf", "team/vllm:v0.24.0", ["SD407"]),
        ("enable_adaptive_verification", False, "team/vllm:v0.28.0", []),
        ("enable_adaptive_verification", False, "team/vllm:v0.27.9", ["SD405"]),
        ("draft_sample_method", "greedy", "team/vllm:v0.20.2", ["SD405"]),
        ("draft_sample_method", "gumbel", "team/vllm:v0.21.0", []),
        ("draft_sample_method", "gumbel", "team/vllm:v0.22.0", ["SD407"]),
        ("draft_sample_method", "probabilistic", "team/vllm:v0.21.0", ["SD405"]),
        ("rejection_sample_method", "fly", "team/vllm:v0.33.0", []),
        ("rejection_sample_method", "fly", "team/vllm:v0.32.0", ["SD405"]),
        ("rejection_sample_method", "standard", "team/vllm:v0.21.0", []),
        ("rejection_sample_method", "standard", "team/vllm:v0.20.2", ["SD405"]),
        ("rejection_sample_method", "strict", "team/vllm:v0.21.0", ["SD407"]),
        ("rejection_sample_method", "strict", "team/vllm:v0.20.2", []),
        ("rejection_sample_method", "strict", "team/vllm:latest", ["SD407"]),
        ("speculative_token_tree", "[(0,)]", "team/vllm:v0.20.2", []),
        ("speculative_token_tree", "[(0,)]", "team/vllm:v0.21.0", ["SD407"]),
        ("disable_by_batch_size", 4, "team/vllm:v0.18.0", ["SD407"]),
    ],
)
def test_keys_and_values_have_the_releases_that_know_them(
    key: str, value: object, image: str, found: list[str]
) -> None:
    assert single(key, value, "eagle3", image=image) == found


def test_a_value_that_was_renamed_is_told_its_new_name() -> None:
    (finding,) = on_drafter(drafter("eagle3", options={"rejection_sample_method": "strict"}))
    assert (finding.reason, finding.fix) == (
        "it ended with vLLM 0.21, the image has 0.33",
        "write standard",
    )


@pytest.mark.parametrize(
    ("key", "word", "method", "image", "found"),
    [
        ("kv_cache_dtype", "fp8_e4m3fn", "eagle3", "team/vllm:v0.32.1", ["SD411"]),
        ("kv_cache_dtype", "fp8_e4m3fn", "eagle3", "vllm/vllm-openai-rocm:v0.33.0", ["SD411"]),
        ("kv_cache_dtype", "fp8_e4m3fn", "eagle3", "team/vllm:v0.33.0", ["SD412"]),  # packages may add some
        ("kv_cache_dtype", "fp8_e4m3fn", "eagle3", "team/vllm:latest", ["SD412"]),
        ("kv_cache_dtype", "fp8_e4m3fn", "ngram", "team/vllm:v0.32.1", ["SD408", "SD411"]),
        ("moe_backend", "trition", "eagle3", "team/vllm:v0.33.0", ["SD411"]),
        ("moe_backend", "trition", "eagle3", "team/vllm:v0.40.0", ["SD412"]),
        ("quantization", "ours", "eagle3", "vllm/vllm-openai-rocm:v0.32.0", ["SD411"]),
        ("quantization", "ours", "eagle3", "team/vllm:v0.32.0", ["SD412"]),
        ("quantization", "ours", "ngram", "team/vllm:v0.32.0", ["SD408"]),
    ],
)
def test_a_word_that_no_release_lists_is_an_error_where_nothing_can_add_to_the_list(
    key: str, word: str, method: str, image: str, found: list[str]
) -> None:
    assert single(key, word, method, image=image) == found


def test_the_nearest_word_is_suggested() -> None:
    (finding,) = on_drafter(drafter("eagle3", options={"moe_backend": "trition"}))
    assert (finding.severity, finding.fix) == (Severity.ERROR, "write triton")


def test_all_that_is_wrong_is_told_at_once() -> None:
    found = on_drafter(drafter("eagle3", options={"foo": 1, "model": "x", "prompt_lookup_min": 2}))
    assert [each.field.rpartition(".")[2] for each in found] == ["foo", "model", "prompt_lookup_min"]


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (5, 5),
        (True, 1),
        (5.0, 5),
        (5.5, None),
        ("5", 5),
        (" 5 ", 5),
        ("5.0", 5),
        ("5.", None),
        ("1_0", 10),
        ("+5", 5),
        ("0x5", None),
        ("", None),
        (None, None),
        ([5], None),
    ],
)
def test_whole_numbers_are_read_as_vllms_parser_reads_them(value: object, read: int | None) -> None:
    assert as_whole(value) == read


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (True, True),
        (0, False),
        (1.0, True),
        (2, None),
        ("yes", True),
        ("ON", True),
        ("n", False),
        ("true ", None),
        ("", None),
        (None, None),
        ([], None),
    ],
)
def test_switches_are_read_as_vllms_parser_reads_them(value: object, read: bool | None) -> None:
    assert as_switch(value) is read
    assert SWITCH.tolerates(value) is (read is not None)


@pytest.mark.parametrize(
    ("value", "read"), [(1, 1.0), (True, 1.0), ("1e3", 1000.0), (" 1 ", 1.0), ("", None), ({}, None)]
)
def test_numbers_are_read_as_vllms_parser_reads_them(value: object, read: float | None) -> None:
    assert as_number(value) == read


@pytest.mark.parametrize(
    ("rows", "accepted"),
    [
        ([[1, 8, 4]], True),
        ([[1, 8, 4], [16, 32, 0]], True),
        ([[16, 32, 0], [1, 8, 4]], True),  # vLLM sorts them
        ([[1, 8, 4], [8, 32, 0]], False),
        ([[1, 8, 4], [16, 12, 0]], False),
        ([[0, 8, 4]], False),
        ([[2, 8, 4]], False),
        ([[1, 8, -1]], False),
        ([[1, 8]], False),
        ([[1, 8, 4.5]], False),
        ([{"first": 1}], False),
        ([1], False),
        ([], False),
        ("1-8", False),
        (None, False),
    ],
)
def test_a_schedule_begins_at_1_and_does_not_overlap(rows: Any, accepted: bool) -> None:
    assert SCHEDULE.tolerates(rows) is accepted
    assert SCHEDULE.accepts(rows) is accepted


def test_a_loosely_written_schedule_is_read_and_told_apart() -> None:
    assert SCHEDULE.tolerates([[1, "8", 4.0]])
    assert not SCHEDULE.accepts([[1, "8", 4.0]])
    assert rows_of([[9, 16, 2], [1, "8", 4.0]]) == [(1, 8, 4), (9, 16, 2)]
