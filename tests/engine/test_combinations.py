"""A drafter together with its target, the engine's arguments and the model runner."""

from __future__ import annotations

from typing import Any

import pytest

from specdeploy.engine.rules.not_checkable import NOT_CHECKABLE
from specdeploy.engine.serving import batched_tokens, is_on, sequences, size_of
from specdeploy.engine.setting import Setting, setting_of
from tests.engine.findings import a_target, codes, on_drafter
from tests.engine.specs import drafter, smallest

LONG = {"prompt_lookup_min": 8, "prompt_lookup_max": 8}
PEAGLE = drafter("eagle3", options={"parallel_drafting": True})
PARD = drafter("draft_model", options={"parallel_drafting": True})
ADAPTIVE = {"enable_adaptive_verification": True}
V2 = "VLLM_USE_V2_MODEL_RUNNER"


def setting(*args: str, path: str = "replicas", value: Any = 4, image: str = "team/vllm:v0.33.0") -> Setting:
    spec = smallest(path, value)
    engine = spec.engine.model_copy(update={"args": list(args)})
    return setting_of(spec.model_copy(update={"engine": engine}), image=image, targets=())


@pytest.mark.parametrize(
    ("method", "attention", "found"),
    [("ngram", "hybrid", ["SD501"]), ("ngram", "gqa", []), ("ngram", None, []), ("mtp", "hybrid", [])],
)
def test_ngram_is_warned_of_on_a_hybrid_target(method: str, attention: str | None, found: list[str]) -> None:
    one = drafter(method, options=LONG if method == "ngram" else None)
    assert codes(one, target=a_target(attention=attention)) == found


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["--max-num-batched-tokens", "1280", "--max-num-seqs", "256"], []),
        (["--max-num-batched-tokens", "1279", "--max-num-seqs", "256"], ["SD502"]),
        (["--max-num-batched-tokens", "5119"], ["SD502"]),  # 1024 requests by default
        (["--max-num-batched-tokens", "5120"], []),
        (["--max-num-seqs", "8"], []),
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
    ("one", "found"), [(drafter("eagle3"), False), (PEAGLE, True), (drafter("suffix"), True)]
)
def test_logits_processors_are_refused_on_the_v1_runner(one: Any, found: bool) -> None:
    assert ("SD507" in codes(one, args=["--logits-processors", "a:B"])) is found


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
    assert codes(one, args=["--watermark-config", "{}"]).count("SD508") == found
    assert "SD508" not in codes(one)


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["--enable-prompt-embeds"], ["SD509"]),
        (["--enable-sleep-mode"], ["SD509"]),
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
    ("one", "forced", "args", "image", "found"),
    [
        (PEAGLE, "1", [], "v0.33.0", ["SD530"]),
        (PEAGLE, "0", [], "v0.33.0", []),
        (PEAGLE, None, [], "v0.33.0", ["SD532"]),
        (PEAGLE, None, [], "v0.28.0", []),  # V2 was not the default
        (PARD, None, [], "v0.33.0", ["SD532"]),
        (drafter("suffix"), "1", [], "v0.33.0", ["SD530"]),
        (drafter("eagle3"), None, [], "v0.33.0", []),
        (drafter("eagle3"), "1", ["--enable-dbo"], "v0.33.0", ["SD530"]),
        (drafter("eagle3"), None, ["--enable-dbo"], "v0.33.0", []),
        (drafter("dspark"), None, ["--enable-dbo"], "v0.33.0", ["SD531"]),
        (drafter("dspark"), "0", [], "v0.33.0", ["SD531"]),
        (drafter("dspark"), "1", [], "v0.33.0", []),
        (drafter("eagle3", options=ADAPTIVE), "0", [], "v0.33.0", ["SD531"]),
        (PEAGLE, None, ["-pp", "2", "--async-scheduling"], "v0.33.0", ["SD531"]),
        (PEAGLE, None, ["-pp", "2", "--async-scheduling"], "v0.30.0", ["SD532"]),
        (drafter("ngram", options=LONG), None, [], "v0.29.0", ["SD532"]),
        (drafter("ngram", options=LONG), None, [], "v0.30.0", []),
        (drafter("eagle3"), None, ["-pp", "2"], "v0.29.0", ["SD532"]),
        (drafter("eagle3"), None, ["-pp", "2"], "v0.30.0", []),
        (PEAGLE, None, ["-pp", "2"], "v0.33.0", ["SD532"]),
        (drafter("eagle3", options={"draft_lm_head_quantization": "fp8"}), "0", [], "v0.33.0", ["SD531"]),
    ],
)
def test_a_drafter_gets_a_runner_that_can_run_it(
    one: Any, forced: str | None, args: list[str], image: str, found: list[str]
) -> None:
    env = [{"name": V2, "value": forced}] if forced else []
    image = f"team/vllm:{image}"
    assert codes(one, args=args, image=image, path="engine.env", value=env) == found


@pytest.mark.parametrize(
    ("version", "forced", "found"),
    [("0.31.0", None, ["SD531"]), ("0.31.0", "1", []), ("0.32.0", None, []), ("0.28.0", None, [])],
)
def test_deepseek_v4_stayed_on_the_v1_runner_on_rocm_for_a_while(
    version: str, forced: str | None, found: list[str]
) -> None:
    env = [{"name": V2, "value": forced}] if forced else []
    where = {"image": f"team/vllm:v{version}", "path": "engine.env", "value": env}
    assert codes(drafter("dspark"), target=a_target("deepseek-v4"), **where) == found
    assert codes(drafter("mtp"), target=a_target("deepseek-v4"), **where) == []


def test_what_leads_to_the_v1_runner_is_told() -> None:
    one = drafter("draft_model", options={"parallel_drafting": True, **ADAPTIVE})
    (finding,) = on_drafter(one)
    assert (finding.reason, finding.fix) == (
        "the V1 model runner can't run enable_adaptive_verification",
        "remove parallel_drafting",
    )


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
        (setting("--performance-mode", "throughput"), (None, None)),
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


def test_what_can_not_be_checked_is_listed_once_with_its_reason() -> None:
    assert len({row.what for row in NOT_CHECKABLE}) == len(NOT_CHECKABLE)
    assert all(row.what and row.why for row in NOT_CHECKABLE)
