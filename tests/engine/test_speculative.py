"""The speculative config of a drafter, and what is found wrong with one."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from specdeploy.api.findings import read_spec
from specdeploy.api.spec import Drafter, Method
from specdeploy.engine.checks import check_drafters
from specdeploy.engine.options import FIELDS, OPTIONS, REFUSED
from specdeploy.engine.speculative import speculative_config
from tests.engine.specs import SMALLEST, changed, drafter, with_drafters

METHODS = get_args(Method)
CUSTOM = "team/vllm:v0.33.0"  # not the stock image: whatever a method needs may be in it

# A value that each key takes, and one that it does not.
EXAMPLES: dict[str, tuple[Any, Any]] = {
    "draft_tensor_parallel_size": (2, 3),
    "quantization": ("fp8", 8),
    "moe_backend": ("triton", True),
    "kv_cache_dtype": ("fp8", ""),
    "max_model_len": (4096, 0),
    "code_revision": ("main", []),
    "draft_load_config": ({"load_format": "dummy"}, "dummy"),
    "enforce_eager": (True, "true"),
    "parallel_drafting": (False, 0),
    "num_speculative_tokens_per_batch_size": ([[1, 8, 4], [9, 64, 0]], [[2, 8, 4]]),
    "enable_adaptive_verification": (True, 1),
    "rejection_sample_method": ("block", "strict"),
    "draft_sample_method": ("probabilistic", "random"),
    "fly_window_size": (2, 0),
    "fly_entropy_threshold": (0.3, -1),
    "fly_entropy_top_k": (3, 2.5),
    "dspark_draft_topk": (4, "4"),
    "xpress_topc": (2, None),
    "draft_lm_head_quantization": ("fp8", "int4"),
    "use_local_argmax_reduction": (True, "yes"),
    "use_heterogeneous_vocab": (True, "yes"),
    "disable_padded_drafter_batch": (True, "yes"),
    "disable_eagle_block_drop": (True, "yes"),
    "disable_lookahead_block_hashes": (True, "yes"),
    "index_share_for_mtp_iteration": (True, "yes"),
    "prompt_lookup_min": (2, 0),
    "prompt_lookup_max": (4, True),
    "suffix_decoding_max_tree_depth": (24, 0),
    "suffix_decoding_max_cached_requests": (0, -1),
    "suffix_decoding_max_spec_factor": (1.5, "1"),
    "suffix_decoding_min_token_prob": (0.1, 1.1),
}


def findings(
    one: Drafter, image: str = CUSTOM, path: str = "replicas", value: Any = 4
) -> list[tuple[str, str]]:
    """(field below the drafter, reason) of each finding."""
    found = check_drafters(with_drafters(one, path=path, value=value), image).get(one.name, ())
    assert all(finding.fix for finding in found)
    return [(finding.field.removeprefix("spec.drafters[0]."), finding.reason) for finding in found]


def method_for(key: str) -> str:
    return next(iter(OPTIONS[key].methods), "eagle3")


@pytest.mark.parametrize(
    ("one", "config"),
    [
        (
            drafter("eagle3", model="org/e3", revision="abc", attentionBackend="TRITON_ATTN"),
            '{"method": "eagle3", "model": "org/e3", "num_speculative_tokens": 4, "revision": "abc", '
            '"attention_backend": "TRITON_ATTN"}',
        ),
        (drafter("eagle"), '{"method": "eagle", "model": "org/draft", "num_speculative_tokens": 4}'),
        (drafter("dflash"), '{"method": "dflash", "model": "org/draft", "num_speculative_tokens": 4}'),
        (
            drafter("draft_model"),
            '{"method": "draft_model", "model": "org/draft", "num_speculative_tokens": 4}',
        ),
        (drafter("mtp"), '{"method": "mtp", "num_speculative_tokens": 4}'),
        (
            drafter("mtp", model="org/assistant"),
            '{"method": "mtp", "model": "org/assistant", "num_speculative_tokens": 4}',
        ),
        (drafter("dspark"), '{"method": "dspark", "num_speculative_tokens": 4}'),
        (drafter("suffix"), '{"method": "suffix", "num_speculative_tokens": 4}'),
        (
            drafter("ngram", options={"prompt_lookup_min": 2, "prompt_lookup_max": 4}),
            '{"method": "ngram", "num_speculative_tokens": 4, '
            '"prompt_lookup_max": 4, "prompt_lookup_min": 2}',
        ),
    ],
    ids=lambda value: value.method if isinstance(value, Drafter) else "",
)
def test_the_config_has_the_method_and_a_fixed_order_of_keys(one: Drafter, config: str) -> None:
    assert json.dumps(speculative_config(one)) == config


@pytest.mark.parametrize("method", METHODS)
def test_a_plain_drafter_of_every_method_is_accepted(method: str) -> None:
    assert findings(drafter(method)) == []


def test_every_key_has_examples() -> None:
    assert set(EXAMPLES) == set(OPTIONS)


@pytest.mark.parametrize("key", sorted(EXAMPLES))
def test_a_known_key_takes_a_good_value_and_refuses_a_bad_one(key: str) -> None:
    good, bad = EXAMPLES[key]
    assert findings(drafter(method_for(key), options={key: good})) == []
    (found,) = findings(drafter(method_for(key), options={key: bad}))
    assert found[0] == f"options.{key}"


@pytest.mark.parametrize("key", [key for key, option in OPTIONS.items() if option.methods])
def test_a_key_of_another_method_is_refused(key: str) -> None:
    other = next(m for m in METHODS if m not in OPTIONS[key].methods)
    ((field, reason),) = findings(drafter(other, options={key: EXAMPLES[key][0]}))
    assert field == f"options.{key}"
    assert other in reason


@pytest.mark.parametrize("key", sorted(FIELDS))
def test_a_key_that_is_a_field_is_refused(key: str) -> None:
    spec = with_drafters(drafter("eagle3", options={key: "x"}))
    (finding,) = check_drafters(spec, CUSTOM)["d"]
    assert str(finding) == (
        f"spec.drafters[0].options.{key}: it has a field of its own; use spec.drafters[0].{FIELDS[key]}"
    )


@pytest.mark.parametrize("key", sorted(REFUSED))
def test_a_key_that_is_never_right_is_refused(key: str) -> None:
    assert [field for field, _ in findings(drafter("eagle3", options={key: 1}))] == [f"options.{key}"]


def test_synthetic_acceptance_is_refused() -> None:
    ((field, reason),) = findings(drafter("eagle3", options={"rejection_sample_method": "synthetic"}))
    assert field == "options.rejection_sample_method"
    assert "garbage" in reason


@pytest.mark.parametrize(
    "options", [{"brand_new_key": 1}, {"rejection_sample_method": "brand-new"}], ids=["key", "rejection"]
)
def test_what_only_a_newer_engine_can_know_is_left_to_that_engine(options: dict[str, object]) -> None:
    spec = with_drafters(drafter("ngram", options=options))
    newer, newest_known = "vllm/vllm-openai-rocm:v0.40.0", "vllm/vllm-openai-rocm:v0.33.0"
    assert "d" not in check_drafters(spec, newer)
    assert len(check_drafters(spec, newest_known)["d"]) == 1


@pytest.mark.parametrize(
    ("key", "fix"),
    [("prompt_lookup_mx", "write prompt_lookup_max or remove it"), ("zzz", "remove it")],
)
def test_an_unknown_key_is_told_with_the_nearest_known_one(key: str, fix: str) -> None:
    spec = with_drafters(drafter("ngram", options={key: 1}))
    (finding,) = check_drafters(spec, CUSTOM)["d"]
    assert str(finding) == (
        f"spec.drafters[0].options.{key}: vLLM's speculative config has no such key; {fix}"
    )


@pytest.mark.parametrize(
    ("options", "image", "accepted"),
    [
        ({"kv_cache_dtype": "fp8"}, "team/vllm:v0.26.0", True),
        ({"kv_cache_dtype": "fp8"}, "team/vllm:v0.25.1", False),
        ({"kv_cache_dtype": "fp8"}, "team/vllm:latest", True),
        ({"rejection_sample_method": "fly"}, "team/vllm:v0.32.0", False),
        ({"rejection_sample_method": "standard"}, "team/vllm:v0.22.0", True),
    ],
)
def test_a_key_younger_than_the_image_is_refused_if_the_version_is_known(
    options: dict[str, Any], image: str, accepted: bool
) -> None:
    assert (findings(drafter("eagle3", options=options), image) == []) is accepted


def test_a_method_younger_than_the_image_is_refused() -> None:
    ((field, reason),) = findings(drafter("dspark"), "team/vllm:v0.25.0")
    assert (field, reason) == ("method", "dspark came with vLLM 0.26, the image has 0.25")


def test_suffix_is_refused_on_the_stock_image_which_lacks_its_package() -> None:
    ((field, reason),) = findings(drafter("suffix"), "vllm/vllm-openai-rocm:v0.33.0")
    assert field == "method"
    assert "arctic-inference" in reason


@pytest.mark.parametrize(
    ("method", "model", "accepted"),
    [
        ("eagle3", None, False),
        ("draft_model", "", False),
        ("ngram", "org/x", False),
        ("mtp", "org/x", True),
        ("draft_model", "/models/dflash-cache/qwen3-0.6b", False),
        ("draft_model", "org/Eagle3-small", False),
        ("draft_model", "/models/qwen3-0.6b", True),
    ],
)
def test_method_and_checkpoint_have_to_fit(method: str, model: str | None, accepted: bool) -> None:
    # Admission and reading refuse some of these already; an old object may still bring them.
    one = drafter(method).model_copy(update={"model": model})
    assert ([field for field, _ in findings(one)] == ([] if accepted else ["model"])) is True


def test_no_speculative_tokens_is_found_when_the_spec_is_read_and_the_rest_goes_on() -> None:
    reading = read_spec(changed(SMALLEST, "drafters.0.numSpeculativeTokens", 0))
    assert reading.spec is not None
    assert [(name, finding.field) for name, finding in reading.drafters] == [
        ("dflash", "spec.drafters[0].numSpeculativeTokens")
    ]


@pytest.mark.parametrize(
    ("least", "most", "accepted"), [(2, 2, True), (5, 2, False), ("5", 2, False), (2, None, True)]
)
def test_the_shortest_lookup_is_at_most_the_longest(least: Any, most: Any, accepted: bool) -> None:
    options = {"prompt_lookup_min": least} | ({"prompt_lookup_max": most} if most else {})
    found = findings(drafter("ngram", options=options))
    assert [field for field, _ in found] == ([] if accepted else ["options.prompt_lookup_min"])


@pytest.mark.parametrize(("size", "accepted"), [(1, True), (2, True), (4, False), (0, False)])
def test_draft_tensor_parallelism_is_1_or_the_targets(size: int, accepted: bool) -> None:
    found = findings(drafter("eagle3", options={"draft_tensor_parallel_size": size}))
    assert [field for field, _ in found] == ([] if accepted else ["options.draft_tensor_parallel_size"])


@pytest.mark.parametrize(
    ("rows", "accepted"),
    [
        ([[1, 8, 4]], True),
        ([[1, 8, 4], [16, 32, 0]], True),
        ([[1, 8, 5]], False),
        ([[1, 8, 4], [8, 32, 0]], False),
        ([[1, 8, 4], [16, 12, 0]], False),
        ([[0, 8, 4]], False),
        ([[1, 8]], False),
        ([[1, 8, 4.0]], False),
        ([{"first": 1}], False),
        ([], False),
        ("1-8", False),
    ],
)
def test_a_schedule_is_in_order_from_1_on_and_within_the_drafted_tokens(rows: Any, accepted: bool) -> None:
    key = "num_speculative_tokens_per_batch_size"
    found = findings(drafter("eagle3", options={key: rows}))
    assert [field for field, _ in found] == ([] if accepted else [f"options.{key}"])


def test_a_schedule_is_refused_with_data_parallelism_which_ignores_it() -> None:
    one = drafter("eagle3", options={"num_speculative_tokens_per_batch_size": [[1, 8, 4]]})
    ((_, reason),) = findings(one, path="engine.args", value=["-dp", "2"])
    assert "ignores" in reason


@pytest.mark.parametrize(
    ("tokens", "window", "field"),
    [
        (4, 3, None),
        (4, None, None),
        (4, 4, "options.fly_window_size"),
        (1, None, "numSpeculativeTokens"),
    ],
)
def test_fly_needs_a_window_shorter_than_what_is_drafted(
    tokens: int, window: int | None, field: str | None
) -> None:
    options = {"rejection_sample_method": "fly"} | ({"fly_window_size": window} if window else {})
    found = findings(drafter("eagle3", numSpeculativeTokens=tokens, options=options))
    assert [name for name, _ in found] == ([field] if field else [])


@pytest.mark.parametrize(
    ("method", "gpu", "target", "draft", "field"),
    [
        ("dflash", "MI300X", None, None, None),
        ("dflash", "MI300X", "TRITON_ATTN", None, None),
        ("dflash", "MI300X", "rocm_aiter_unified_attn", None, "spec.engine.attentionBackend"),
        ("dflash", "MI300X", "ROCM_AITER_UNIFIED_ATTN", "auto", "spec.engine.attentionBackend"),
        ("dflash", "MI300X", "ROCM_AITER_UNIFIED_ATTN", "TRITON_ATTN", None),
        ("dspark", "MI300X", None, "ROCM_AITER_UNIFIED_ATTN", "attentionBackend"),
        ("eagle3", "MI300X", "ROCM_AITER_UNIFIED_ATTN", None, None),
        ("dspark", "MI300X", None, "ROCM_AITER_MLA", "attentionBackend"),
        ("dspark", "MI355X", None, "ROCM_AITER_MLA", None),
    ],
)
def test_drafters_that_look_both_ways_need_a_backend_that_can(
    method: str, gpu: str, target: str | None, draft: str | None, field: str | None
) -> None:
    spec = with_drafters(drafter(method, attentionBackend=draft), path="accelerator.type", value=gpu)
    engine = spec.engine.model_copy(update={"attention_backend": target})
    found = check_drafters(spec.model_copy(update={"engine": engine}), CUSTOM).get("d", ())
    assert [f.field.removeprefix("spec.drafters[0].") for f in found] == ([field] if field else [])


@pytest.mark.parametrize(
    ("path", "value", "accepted"),
    [
        ("engine.attentionBackend", "ROCM_ATTN", True),
        ("engine.attentionBackend", "ROCM_AITER_FA", False),
        ("engine.args", ["-pp", "2"], False),
        ("engine.args", ["--enforce-eager"], False),
        ("engine.args", ["--enforce_eager"], False),
    ],
)
def test_adaptive_verification_needs_graphs_for_uneven_batches(path: str, value: Any, accepted: bool) -> None:
    one = drafter("eagle3", options={"enable_adaptive_verification": True})
    found = findings(one, path=path, value=value)
    assert [name for name, _ in found] == ([] if accepted else ["options.enable_adaptive_verification"])
    assert findings(drafter("eagle3"), path=path, value=value) == []


def test_all_that_is_wrong_is_told_at_once() -> None:
    found = findings(drafter("eagle3", options={"foo": 1, "model": "x", "prompt_lookup_min": 2}))
    assert [field for field, _ in found] == ["options.foo", "options.model", "options.prompt_lookup_min"]
