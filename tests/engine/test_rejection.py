"""How drafts are sampled and rejected, how a schedule and lookups are written, and how drafters are split."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.findings import codes, on_drafter
from tests.engine.specs import drafter

KEY = "num_speculative_tokens_per_batch_size"


def test_synthetic_acceptance_is_refused_however_it_is_asked_for() -> None:
    options = {"rejection_sample_method": "synthetic", "synthetic_acceptance_length": 3}
    found = on_drafter(drafter("eagle3", options=options))
    assert [each.code for each in found] == ["SD420", "SD420"]
    assert "garbage" in found[0].reason


@pytest.mark.parametrize(
    ("method", "allowed", "found"),
    [
        ("fly", None, ["SD421"]),
        ("fly", False, ["SD421"]),
        ("fly", True, []),
        ("block", None, []),
        ("standard", None, []),
    ],
)
def test_a_lossy_rejection_has_to_be_allowed(method: str, allowed: bool | None, found: list[str]) -> None:
    one = drafter("eagle3", allowLossy=allowed, options={"rejection_sample_method": method})
    assert codes(one) == found


@pytest.mark.parametrize(
    ("tokens", "window", "field"),
    [
        (2, None, None),
        (4, 3, None),
        (4, "3", None),
        (4, 4, "options.fly_window_size"),
        (4, "4", "options.fly_window_size"),
        (1, None, "numSpeculativeTokens"),
    ],
)
def test_fly_needs_a_window_shorter_than_what_is_drafted(tokens: int, window: Any, field: str | None) -> None:
    options = {"rejection_sample_method": "fly"} | ({"fly_window_size": window} if window else {})
    one = drafter("eagle3", numSpeculativeTokens=tokens, allowLossy=True, options=options)
    found = [each.field.removeprefix("spec.drafters[0].") for each in on_drafter(one) if each.code == "SD422"]
    assert found == ([field] if field else [])


def test_keys_of_fly_mean_nothing_without_it() -> None:
    options = {"fly_window_size": 2, "fly_entropy_threshold": 0.2}
    assert codes(drafter("eagle3", options=options)) == ["SD423", "SD423"]


@pytest.mark.parametrize(
    ("key", "method", "found"),
    [
        ("use_heterogeneous_vocab", "draft_model", "SD424"),
        ("use_local_argmax_reduction", "draft_model", "SD425"),
    ],
)
@pytest.mark.parametrize("sampling", ["greedy", "probabilistic"])
def test_what_needs_greedy_drafts_is_refused_with_sampled_ones(
    key: str, method: str, found: str, sampling: str
) -> None:
    one = drafter(method, options={key: True, "draft_sample_method": sampling})
    assert (found in codes(one)) == (sampling == "probabilistic")


@pytest.mark.parametrize("method", ["ngram", "suffix"])
def test_without_a_model_there_are_no_logits_to_miss(method: str) -> None:
    options = {"use_local_argmax_reduction": True, "draft_sample_method": "probabilistic"}
    assert "SD425" not in codes(drafter(method, options=options))


@pytest.mark.parametrize(
    ("image", "more", "found"),
    [
        ("v0.33.0", {}, True),
        ("v0.29.0", {}, True),
        ("v0.28.0", {}, False),
        ("v0.25.0", {}, False),
        ("v0.33.0", {"parallel_drafting": True}, False),  # leads to the V1 runner
    ],
)
def test_sampled_drafts_without_logits_are_refused_by_the_v2_runner_alone(
    image: str, more: dict[str, Any], found: bool
) -> None:
    options = {"use_local_argmax_reduction": True, "draft_sample_method": "probabilistic", **more}
    assert ("SD425" in codes(drafter("eagle3", options=options), image=f"team/vllm:{image}")) is found


def test_sampled_drafts_without_logits_pass_where_the_v1_runner_is_forced() -> None:
    one = drafter(
        "eagle3", options={"use_local_argmax_reduction": True, "draft_sample_method": "probabilistic"}
    )
    env = [{"name": "VLLM_USE_V2_MODEL_RUNNER", "value": "0"}]
    assert "SD425" not in codes(one, path="engine.env", value=env)


@pytest.mark.parametrize(
    ("requests", "tokens", "gpu", "found"),
    [
        (512, 4, "MI300X", []),
        (513, 4, "MI300X", ["SD426"]),
        (None, 3, "MI300X", ["SD426"]),  # 1024 by default
        (None, 2, "MI300X", []),
        (None, 8, "MI210", []),  # 256 by default
        (None, 9, "MI210", ["SD426"]),
    ],
)
def test_sampled_drafts_of_many_requests_take_memory(
    requests: int | None, tokens: int, gpu: str, found: list[str]
) -> None:
    one = drafter("eagle3", numSpeculativeTokens=tokens, options={"draft_sample_method": "probabilistic"})
    args = ["--max-num-seqs", str(requests)] if requests else []
    assert codes(one, args=args, path="accelerator.type", value=gpu) == found


@pytest.mark.parametrize(
    ("rows", "args", "found"),
    [
        ([[1, 8, 4], [9, 64, 1]], [], []),
        ([[1, 8, 5], [9, 64, 1]], [], ["SD430"]),
        ([[1, 8, 4], [9, 64, 1]], ["-dp", "2"], ["SD431"]),
        ([[1, 8, 4], [9, 64, 1]], ["-dp", "1"], []),
        ([[1, 8, 4], [9, 64, 0]], [], ["SD432"]),
        ([[1, 8, "5"]], [], ["SD404", "SD430"]),
        ([[2, 8, 5]], [], ["SD403"]),
    ],
)
def test_a_schedule_stays_within_the_tokens_and_away_from_data_parallelism(
    rows: Any, args: list[str], found: list[str]
) -> None:
    assert codes(drafter("eagle3", options={KEY: rows}), args=args) == found


@pytest.mark.parametrize(
    ("method", "size", "args", "found"),
    [
        ("eagle3", 1, [], []),
        ("eagle3", 2, [], []),  # the target's
        ("eagle3", 4, [], ["SD440"]),
        ("eagle3", "4", [], ["SD404", "SD440"]),
        ("eagle3", 2, ["-tp", "1", "-pp", "2"], ["SD440"]),
        ("ngram", 4, [], ["SD408"]),
    ],
)
def test_draft_tensor_parallelism_is_1_or_the_targets(
    method: str, size: Any, args: list[str], found: list[str]
) -> None:
    lookup = {"prompt_lookup_min": 8, "prompt_lookup_max": 8} if method == "ngram" else {}
    one = drafter(method, options={"draft_tensor_parallel_size": size, **lookup})
    assert codes(one, args=args) == found


@pytest.mark.parametrize(
    ("size", "args", "found"),
    [(None, [], ["SD441"]), (2, [], ["SD441"]), (1, [], []), (None, ["-tp", "1", "-pp", "2"], [])],
)
def test_draft_topk_is_for_a_drafter_on_one_gpu(size: int | None, args: list[str], found: list[str]) -> None:
    split = {"draft_tensor_parallel_size": size} if size else {}
    one = drafter("dspark", options={"dspark_draft_topk": 64, **split})
    assert [each for each in codes(one, args=args) if each == "SD441"] == found


@pytest.mark.parametrize(
    ("length", "args", "found"),
    [
        (16384, ["--max-model-len", "16K"], []),
        (16385, ["--max-model-len", "16K"], ["SD442"]),
        (16001, ["--max-model-len=16k"], ["SD442"]),
        (16384, ["--max-model-len", "auto"], []),
        (10**6, [], []),
    ],
)
def test_a_drafter_is_no_longer_than_the_target(length: int, args: list[str], found: list[str]) -> None:
    assert codes(drafter("eagle3", options={"max_model_len": length}), args=args) == found


@pytest.mark.parametrize(
    ("least", "most", "tools", "found"),
    [
        (8, 8, True, []),
        (8, None, True, []),
        (None, 8, True, []),
        (7, 8, True, ["SD444"]),
        (7, 8, False, ["SD445"]),
        (None, None, False, ["SD445"]),  # 5 by default
        (None, None, True, ["SD444"]),
        (9, 8, True, ["SD443"]),
        ("9", 8, True, ["SD404", "SD443"]),
    ],
)
def test_lookups_are_long_enough_for_tool_calls(
    least: Any, most: int | None, tools: bool, found: list[str]
) -> None:
    given = {"prompt_lookup_min": least, "prompt_lookup_max": most}
    options = {key: value for key, value in given.items() if value is not None}
    args = ["--tool-call-parser", "hermes"] if tools else []
    assert codes(drafter("ngram", options=options), args=args) == found


@pytest.mark.parametrize("key", ["disable_eagle_block_drop", "disable_lookahead_block_hashes"])
def test_experiments_with_the_prefix_cache_are_told(key: str) -> None:
    assert codes(drafter("eagle3", options={key: True})) == ["SD448"]
    assert codes(drafter("eagle3", options={key: False})) == []


@pytest.mark.parametrize(
    ("method", "value", "args", "version", "found"),
    [
        ("eagle3", True, [], "0.32.0", ["SD446"]),
        ("eagle3", False, [], "0.32.0", []),
        ("eagle3", True, ["--no-async-scheduling"], "0.32.0", []),
        ("eagle3", True, [], "0.33.0", []),  # the V2 runner does without
    ],
)
def test_unpadded_batches_cost_async_scheduling(
    method: str, value: bool, args: list[str], version: str, found: list[str]
) -> None:
    one = drafter(method, options={"disable_padded_drafter_batch": value})
    assert codes(one, args=args, image=f"team/vllm:v{version}") == found


def test_unpadded_batches_cost_async_scheduling_on_the_v1_runner_still() -> None:
    options = {"disable_padded_drafter_batch": True, "parallel_drafting": True}
    assert codes(drafter("eagle3", options=options)) == ["SD446", "SD532"]


@pytest.mark.parametrize(("version", "found"), [("0.33.0", ["SD427"]), ("0.32.0", [])])
def test_another_vocabulary_needs_gathered_logits(version: str, found: list[str]) -> None:
    one = drafter(
        "draft_model", options={"use_heterogeneous_vocab": True, "use_local_argmax_reduction": True}
    )
    image = f"team/vllm:v{version}"
    assert [code for code in codes(one, image=image) if code != "SD532"] == found
