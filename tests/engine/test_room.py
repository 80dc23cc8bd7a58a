"""Room for drafts in a step's budget of tokens and in its graphs, and how sizes and switches are read."""

from __future__ import annotations

from typing import Any

import pytest

from specdeploy.engine.serving import batched_tokens, is_on, object_of, sequences, size_of
from specdeploy.engine.setting import Setting, setting_of
from tests.engine.findings import codes, on_drafter
from tests.engine.specs import drafter, smallest

LONG = {"prompt_lookup_min": 8, "prompt_lookup_max": 8}


def setting(*args: str, path: str = "replicas", value: Any = 4, image: str = "team/vllm:v0.33.0") -> Setting:
    spec = smallest(path, value)
    engine = spec.engine.model_copy(update={"args": list(args)})
    return setting_of(spec.model_copy(update={"engine": engine}), image=image, targets=())


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["--max-num-batched-tokens", "1280", "--max-num-seqs", "256"], []),
        (["--max-num-batched-tokens", "1279", "--max-num-seqs", "256"], ["SD502"]),
        (["--max-num-batched-tokens", "5119"], ["SD502"]),  # 1024 requests by default
        (["--max-num-batched-tokens", "5120"], []),
        (["--max-num-seqs", "8"], []),
        ([], []),  # 16384 tokens
    ],
)
def test_with_lora_a_step_holds_a_full_batch_of_drafts(args: list[str], found: list[str]) -> None:
    assert codes(drafter("eagle3"), args=["--enable-lora", *args]) == found
    assert codes(drafter("eagle3"), args=args) == []
    assert codes(drafter("eagle3"), args=["--enable-lora", "--no-enable-lora", *args]) == []


@pytest.mark.parametrize(
    ("method", "options", "version", "requests", "most"),
    [
        ("dflash", {}, "0.33.0", 2, 5),
        ("dspark", {}, "0.33.0", 2, 4),
        ("eagle3", {}, "0.33.0", 2, 4),
        ("draft_model", {}, "0.33.0", 2, 4),
        ("ngram", LONG, "0.33.0", 2, 0),
        ("dflash", {}, "0.32.0", 2, 4),
        ("dspark", {}, "0.32.0", 2, 3),
        ("eagle3", {}, "0.32.0", 2, 0),
        ("eagle3", {"parallel_drafting": True}, "0.32.0", 2, 3),
        ("draft_model", {}, "0.32.0", 2, 1),
        ("draft_model", {"parallel_drafting": True}, "0.32.0", 2, 4),
        ("dflash", {}, "0.28.0", 2, 4),
        ("dflash", {}, "0.27.0", 2, 6),  # of all requests
        ("dspark", {}, "0.27.0", 2, 6),
        ("eagle3", {}, "0.27.0", 2, 0),
        ("draft_model", {}, "0.27.0", 2, 2),
        ("draft_model", {"parallel_drafting": True}, "0.27.0", 2, 8),
    ],
)
def test_a_step_has_room_beside_the_drafts(
    method: str, options: dict[str, Any], version: str, requests: int, most: int
) -> None:
    one = drafter(method, options=options)

    def found(budget: int) -> bool:
        args = ["--max-num-batched-tokens", str(budget), "--max-num-seqs", str(requests)]
        return "SD503" in codes(one, args=args, image=f"team/vllm:v{version}")

    assert most == 0 or found(most)
    assert not found(most + 1)


@pytest.mark.parametrize(
    ("method", "options", "version", "reason", "lower"),
    [
        (
            "draft_model",
            {},
            "0.27.0",
            "beside 2 that the drafter adds, 1 for each of 2 requests",
            "--max-num-seqs",
        ),
        (
            "draft_model",
            {"parallel_drafting": True},
            "0.27.0",
            "beside 8 that the drafter adds, 4 for each of 2 requests",
            "numSpeculativeTokens or --max-num-seqs",
        ),
        ("draft_model", {}, "0.32.0", "beside 1 that the drafter adds", None),
        ("dflash", {}, "0.33.0", "beside 5 that the drafter adds", "numSpeculativeTokens"),
    ],
)
def test_what_would_make_room_is_named_and_nothing_else(
    method: str, options: dict[str, Any], version: str, reason: str, lower: str | None
) -> None:
    args = ["--max-num-batched-tokens", "1", "--max-num-seqs", "2"]
    found = on_drafter(drafter(method, options=options), args=args, image=f"team/vllm:v{version}")
    (told,) = [each for each in found if each.code == "SD503"]
    assert told.reason == f"max_num_batched_tokens 1 has no room {reason}"
    assert told.fix == "raise --max-num-batched-tokens" + (f", or lower {lower}" if lower else "")


@pytest.mark.parametrize(
    ("tokens", "version", "found"),
    [(8, "0.27.1", []), (9, "0.27.1", ["SD510"]), (9, "0.28.0", [])],
)
def test_the_default_budget_has_room_for_the_drafts_of_all_requests(
    tokens: int, version: str, found: list[str]
) -> None:
    one = drafter("dflash", numSpeculativeTokens=tokens)
    assert codes(one, image=f"team/vllm:v{version}") == found


@pytest.mark.parametrize(
    ("method", "image", "args", "found"),
    [
        ("dflash", "v0.33.0", ["--max-num-batched-tokens", "5120"], []),  # 1024 requests x 5
        ("dflash", "v0.33.0", ["--max-num-batched-tokens", "5119"], ["SD504"]),
        ("dflash", "v0.32.0", ["--max-num-batched-tokens", "5119"], []),
        ("dspark", "v0.33.0", ["--max-num-batched-tokens", "4096"], []),
        ("dspark", "v0.33.0", ["--max-num-batched-tokens", "4095"], ["SD504"]),
        ("eagle3", "v0.33.0", ["--max-num-batched-tokens", "4095"], []),
        ("dflash", "v0.33.0", [], []),
    ],
)
def test_block_drafters_lower_the_number_of_requests(
    method: str, image: str, args: list[str], found: list[str]
) -> None:
    assert codes(drafter(method), args=args, image=f"team/vllm:{image}") == found


@pytest.mark.parametrize(
    ("tokens", "args", "found"),
    [
        (15, [], []),  # 1024 requests x 16 tokens
        (16, [], ["SD512"]),
        (16, ["--max-num-seqs", "512"], []),
        (16, ["--max-num-batched-tokens", "16384"], ["SD502"]),
    ],
)
def test_with_lora_the_default_budget_counts_too(tokens: int, args: list[str], found: list[str]) -> None:
    one = drafter("eagle3", numSpeculativeTokens=tokens)
    assert codes(one, args=["--enable-lora", *args]) == found


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["--max-cudagraph-capture-size", "640", "--max-num-seqs", "128"], []),  # 128 x 5
        (["--max-cudagraph-capture-size", "639", "--max-num-seqs", "128"], ["SD526"]),
        (["-cc.max_cudagraph_capture_size=639", "--max-num-seqs", "128"], ["SD526"]),
        (["--compilation-config", '{"max_cudagraph_capture_size": 640}', "--max-num-seqs", "128"], []),
        (["--max-num-seqs", "128"], []),
    ],
)
def test_graphs_that_end_below_the_requests_are_told(args: list[str], found: list[str]) -> None:
    assert codes(drafter("eagle3"), args=args) == found


@pytest.mark.parametrize(
    ("args", "size"),
    [
        (["--max-num-seqs", "64"], 64),
        (["--max-num-seqs=2k"], 2000),
        (["--max-num-seqs", "2K"], 2048),
        (["--max-num-seqs", "1.5k"], 1500),
        (["--max-num-seqs", "1.5K"], None),
        (["--max-num-seqs", "1M"], 2**20),
        (["--max-num-seqs", "many"], None),
        (["--max-num-seqs"], None),
        (["--max-num-seqs", "8", "--max_num_seqs", "9"], 9),
        ([], None),
    ],
)
def test_sizes_are_read_as_vllm_reads_them(args: list[str], size: int | None) -> None:
    assert size_of(setting(*args), "--max-num-seqs") == size


@pytest.mark.parametrize(
    ("where", "defaults"),
    [
        (setting(), (16384, 1024)),
        (setting("--max-num-batched-tokens", "512"), (512, 512)),
        (setting("--max-num-seqs", "7"), (16384, 7)),
        (setting("-dp", "2"), (None, None)),
        (setting("--performance-mode", "throughput"), (32768, 2048)),
        (setting("--performance-mode", "interactivity"), (16384, 1024)),
        (setting(path="accelerator.type", value="MI210"), (2048, 256)),
        (setting(path="accelerator.type", value="MI250X"), (2048, 256)),
        (setting(path="accelerator.type", value="MI300A"), (8192, 1024)),
        (setting(image="team/vllm:v0.28.0"), (16384, 1024)),
        (setting(image="team/vllm:v0.27.0"), (8192, 1024)),
    ],
)
def test_defaults_are_those_of_the_gpu_where_nothing_moves_them(
    where: Setting, defaults: tuple[int | None, int | None]
) -> None:
    assert (batched_tokens(where), sequences(where)) == defaults


def test_the_last_of_a_switch_and_its_opposite_decides() -> None:
    assert is_on(setting("--no-enforce-eager", "--enforce-eager"), "--enforce-eager")
    assert not is_on(setting("--enforce-eager", "--no-enforce-eager"), "--enforce-eager")
    assert not is_on(setting(), "--enforce-eager")


@pytest.mark.parametrize(
    ("args", "keys"),
    [
        ([], {}),
        (["--watermark-config", '{"key": 7}'], {"key": 7}),
        (
            ["--watermark-config.key", "7", "--watermark-config.algorithm", "gumbel"],
            {"key": 7, "algorithm": "gumbel"},
        ),
        (["--watermark-config", '{"key": 7}', "--watermark_config.key=8"], {"key": 8}),
        (["--watermark-config", "{"], None),
        (["--watermark-config", "[]"], None),
        (["--watermark-config"], None),
    ],
)
def test_an_object_is_read_whole_or_by_its_keys(args: list[str], keys: dict[str, Any] | None) -> None:
    assert object_of(setting(*args), "--watermark-config") == keys
