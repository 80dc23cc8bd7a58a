"""Memory: sums by hand, what is published, and that what was measured fits the GPUs it was measured on."""

from __future__ import annotations

from typing import Any

import pytest

from specdeploy.api.spec import Spec
from specdeploy.engine.catalogue import Checkpoint, Target, Tokens
from specdeploy.engine.catalogue.load import targets
from specdeploy.engine.checks import on_drafters, on_spec
from specdeploy.engine.memory import (
    baseline_memory,
    cache_lost,
    drafter_memory,
    requests_at_once,
)
from specdeploy.engine.options import VALUES
from specdeploy.engine.serving import longest_request, sequences
from specdeploy.engine.setting import Candidate, Setting, candidates_of, setting_of
from specdeploy.engine.sizes import (
    CACHE_BYTES,
    GIB,
    drafter_token_bytes,
    drafter_weights_gib,
    target_token_bytes,
    weights_gib,
)

DENSE = Target(
    "a/dense", "f", "s", attention="gqa", precision="bf16", parameters=8, layers=32, kv_heads=8, head_dim=128,
    vocabulary=128_000, context=32_768,
)  # fmt: skip
HYBRID = Target(
    "a/hybrid", "f", "s", attention="hybrid", precision="bf16", parameters=27, layers=16, kv_heads=4,
    head_dim=256,
    state_layers=48, state_mib=144, context=32_768,
)  # fmt: skip
LATENT_HYBRID = Target("a/both", "f", "s", attention="hybrid", layers=24, head_dim=576, latent=True)
LATENT = Target(
    "a/latent",
    "f",
    "s",
    attention="mla",
    precision="int4",
    parameters=1000,
    layers=61,
    kv_heads=1,
    head_dim=576,
)
HEAD = Checkpoint(
    "eagle3", Tokens(1, 5, 3), "s", model="a/head", parameters=1, layers=1, kv_heads=8, head_dim=128
)


def setting(target: Target, *, gpus: int = 1, gpu: str | None = "MI300X", **more: Any) -> Setting:
    """A spec that serves `target`, with the engine's arguments and drafters given."""
    body: dict[str, Any] = {"model": target.model, "accelerator": {"count": gpus}, **more}
    if gpu:
        body["accelerator"]["type"] = gpu
    return setting_of(Spec.model_validate(body), targets=(target,))


def drafted(target: Target, checkpoint: Checkpoint, tokens: int = 3, **more: Any) -> Candidate:
    """The candidate of a spec with this one drafter."""
    one = {
        "name": "d",
        "method": checkpoint.method,
        "numSpeculativeTokens": tokens,
        "model": checkpoint.model,
    }
    options = more.pop("options", None)
    drafter = {key: value for key, value in {**one, "options": options}.items() if value is not None}
    known = Target(**{**{f: getattr(target, f) for f in target.__struct_fields__}, "drafters": (checkpoint,)})
    (candidate,) = candidates_of(setting(known, drafters=[drafter], **more))
    return candidate


def codes(found: Setting) -> set[str]:
    return {each.code for each in on_spec(found)} | {
        each.code for findings in on_drafters(found).values() for each in findings
    }


def args(*words: str) -> dict[str, Any]:
    return {"args": list(words)}


def test_what_is_left_for_the_cache_is_the_budget_less_every_part() -> None:
    memory = baseline_memory(setting(DENSE))
    assert memory is not None
    weights = 8e9 * 2 / GIB
    assert memory.cache_gib == pytest.approx(192 * 0.92 - weights - 6)
    assert memory.token_bytes == 2 * 32 * 8 * 128 * 2
    assert memory.cache_tokens == int((192 * 0.92 - weights - 6) * GIB / 131_072)
    assert memory.unknown == ()


def test_the_sum_is_in_words_with_what_it_assumes() -> None:
    memory = baseline_memory(setting(DENSE, gpus=2, engine=args("--kv-cache-dtype", "fp8")))
    assert memory is not None
    assert memory.reckoning == (
        "177 of 192 GiB, less 7 for 8B parameters in bf16 over 2 GPUs, 6 for work space; cache in fp8"
    )


@pytest.mark.parametrize(
    ("target", "tensor", "pipeline", "element", "size"),
    [
        (DENSE, 1, 1, 2, 131_072),
        (DENSE, 2, 1, 2, 65_536),
        (DENSE, 1, 2, 2, 65_536),
        (DENSE, 16, 1, 2, 2 * 32 * 128 * 2),  # more GPUs than heads: each keeps one
        (DENSE, 1, 1, 1, 65_536),
        (HYBRID, 2, 1, 2, 2 * 16 * 2 * 256 * 2),
        (LATENT, 8, 1, 2, 61 * 576 * 2),  # whole on every GPU
        (LATENT_HYBRID, 8, 1, 2, 24 * 576 * 2),
    ],
)
def test_the_size_of_a_token_depends_on_how_heads_and_layers_are_shared(
    target: Target, tensor: int, pipeline: int, element: int, size: int
) -> None:
    assert target_token_bytes(target, tensor=tensor, pipeline=pipeline, element=element) == size


@pytest.mark.parametrize(
    ("changed", "size"),
    [
        ({}, 2 * 1 * 8 * 128 * 2),
        ({"layers": 0}, 0),
        ({"head_dim": None}, 2 * 1 * 8 * 128 * 2),  # as the target's
        ({"kv_heads": None}, None),
        ({"layers": None}, None),
        ({"method": "mtp", "model": None, "kv_heads": None}, 131_072 / 32),  # one layer like the target's
    ],
)
def test_a_drafter_has_a_cache_of_its_own_unless_it_reads_the_targets(
    changed: dict[str, Any], size: float | None
) -> None:
    fields = {field: getattr(HEAD, field) for field in HEAD.__struct_fields__}
    assert drafter_token_bytes(Checkpoint(**{**fields, **changed}), DENSE) == size


def test_a_drafter_on_one_gpu_weighs_whole_on_each() -> None:
    shared = drafter_memory(drafted(DENSE, HEAD, gpus=2))
    alone = drafter_memory(drafted(DENSE, HEAD, gpus=2, options={"draft_tensor_parallel_size": 1}))
    written = drafter_memory(drafted(DENSE, HEAD, gpus=2, options={"draft_tensor_parallel_size": "1"}))
    arms = [each for each in (shared, alone, written) if each is not None]
    sizes = [next(p.gib for p in each.parts if p.name == "drafter's weights") for each in arms]
    assert sizes == pytest.approx([1e9 / GIB, 2e9 / GIB, 2e9 / GIB])


def test_the_cache_lost_to_a_drafter_is_its_weights_and_its_part_of_each_token() -> None:
    lost = cache_lost(drafted(DENSE, HEAD))
    cache = 192 * 0.92 - 16e9 / GIB - 6
    assert lost == pytest.approx(1 - (cache - 2e9 / GIB) / cache * 32 / 33, abs=1e-4)


def test_a_published_share_of_the_cache_goes_before_an_estimate() -> None:
    fields = {field: getattr(HEAD, field) for field in HEAD.__struct_fields__}
    assert cache_lost(drafted(DENSE, Checkpoint(**{**fields, "kv_share": 0.25}))) == 0.25


def test_probabilistic_drafts_keep_their_logits_for_every_request() -> None:
    options = {"draft_sample_method": "probabilistic"}
    memory = drafter_memory(drafted(DENSE, HEAD, 4, options=options))
    assert memory is not None
    (part,) = [each for each in memory.parts if each.name == "draft logits"]
    assert part.gib == pytest.approx(1024 * 4 * 128_000 * 2 / GIB)
    fewer = drafter_memory(drafted(DENSE, HEAD, 4, options=options, engine=args("--max-num-seqs", "64")))
    assert fewer is not None
    assert fewer.parts[-1].gib == pytest.approx(64 * 4 * 128_000 * 2 / GIB)


@pytest.mark.parametrize(
    ("words", "requests"),
    [
        (["--max-num-seqs", "2k"], 2000),
        (["--max-num-seqs", "0.128k"], 128),
        (["--max-num-batched-tokens", "512"], 512),
        ([], 1024),
        (["--performance-mode", "throughput"], 2048),  # doubles the default
    ],
)
def test_requests_at_once_are_the_same_wherever_they_are_reckoned(
    words: list[str], requests: int | None
) -> None:
    options = {"draft_sample_method": "probabilistic"}
    found = drafted(DENSE, HEAD, 4, options=options, engine=args(*words))
    memory = drafter_memory(found)
    assert memory is not None
    (part,) = [each for each in memory.parts if each.name == "draft logits"]
    assert part.gib == (None if requests is None else pytest.approx(requests * 4 * 128_000 * 2 / GIB))
    assert sequences(found.setting) == requests


@pytest.mark.parametrize(
    ("gpu", "resource", "requests"),
    [
        ("MI300X", "amd.com/gpu", 1024),
        ("MI300X", "amd.com/cpx_nps4", 256),  # 24 GiB
        ("MI300X", "amd.com/dpx_nps1", 1024),  # 96 GiB
        ("MI250", "amd.com/gpu", 256),
        ("MI300A", "amd.com/cpx_nps1", None),  # its modes are not known
    ],
)
def test_the_default_of_requests_at_once_goes_by_the_memory_of_the_device(
    gpu: str, resource: str, requests: int | None
) -> None:
    assert sequences(setting(DENSE, gpu=gpu, accelerator={"resourceName": resource})) == requests


@pytest.mark.parametrize(
    ("dtype", "size", "words"),
    [
        ("auto", 131_072, "16 bits"),
        ("bfloat16", 131_072, "16 bits"),
        ("fp8_e5m2", 65_536, "fp8_e5m2"),
        ("int8_per_token_head", 65_536 * 1.03, "int8_per_token_head"),
        ("int4_per_token_head", 65_536 * 0.53, "int4_per_token_head"),
        ("turboquant_k8v4", None, "turboquant_k8v4"),
        ("fp8_ds_mla", None, "fp8_ds_mla"),
    ],
)
def test_a_token_in_the_cache_has_the_size_of_its_numbers(dtype: str, size: float | None, words: str) -> None:
    memory = baseline_memory(setting(DENSE, engine=args("--kv-cache-dtype", dtype)))
    assert memory is not None
    assert memory.token_bytes == (None if size is None else pytest.approx(size))
    assert memory.reckoning.endswith(f"cache in {words}")


def test_the_cache_of_a_drafter_has_its_own_numbers_where_it_names_them() -> None:
    memory = drafter_memory(drafted(DENSE, HEAD, options={"kv_cache_dtype": "fp8"}))
    assert memory is not None
    assert memory.token_bytes == 131_072 + 2 * 1 * 8 * 128 * 1


def test_every_known_size_is_of_a_word_that_vllm_takes() -> None:
    assert set(CACHE_BYTES) <= set(VALUES["kv_cache_dtype"])


@pytest.mark.parametrize(
    ("words", "longest"),
    [
        ([], 32_768),
        (["--max-model-len", "16k"], 16_000),
        (["--max-model-len", "auto"], None),
        (["--hf-overrides", '{"max_position_embeddings": 131072}'], None),
        (["--hf-config-path", "/models/other"], None),
        (["--hf-overrides", "{}", "--max-model-len", "65536"], 65_536),
    ],
)
def test_the_longest_request_is_the_arguments_or_that_of_the_config_that_is_read(
    words: list[str], longest: int | None
) -> None:
    assert longest_request(setting(DENSE, engine=args(*words))) == longest


def test_a_hybrid_target_has_blocks_the_size_of_one_layers_state_times_the_layers_with_a_cache() -> None:
    memory = baseline_memory(setting(HYBRID, gpus=2))
    assert memory is not None
    assert memory.state_block_bytes == 3 * 2**20 * 16 / 2
    assert memory.cache_gib is not None
    assert memory.state_blocks == int(memory.cache_gib * GIB / memory.state_block_bytes)


def test_each_drafted_token_keeps_one_more_state_for_every_request() -> None:
    mtp = Checkpoint("mtp", Tokens(1, 5, 3), "s", layers=1)
    fit = requests_at_once(drafted(HYBRID, mtp, 4, gpus=2).setting, 4)
    assert fit is not None
    assert fit[0] == pytest.approx(fit[1] / 5, abs=1)


def test_states_of_drafted_tokens_are_told_once_at_the_drafter_with_the_most() -> None:
    drafters = [{"name": f"d{n}", "method": "mtp", "numSpeculativeTokens": n} for n in (2, 5, 5, 4)]
    found = [each for each in on_spec(setting(HYBRID, drafters=drafters)) if each.code == "SD707"]
    assert [each.field for each in found] == ["spec.drafters[1].numSpeculativeTokens"]
    assert "SD707" not in codes(setting(HYBRID, drafters=drafters, engine=args("--max-num-seqs", "8")))
    assert "SD707" not in codes(setting(HYBRID))


@pytest.mark.parametrize(
    "found",
    [
        setting(DENSE, gpu=None),
        setting(DENSE, accelerator={"type": "MI300X", "resourceName": "example.com/gpu"}),
        setting_of(
            Spec.model_validate({"model": "a/other", "accelerator": {"type": "MI300X"}}), targets=(DENSE,)
        ),
    ],
)
def test_without_a_known_gpu_and_target_nothing_is_reckoned(found: Setting) -> None:
    assert baseline_memory(found) is None
    assert not {code for code in codes(found) if code.startswith("SD7")}


@pytest.mark.parametrize(
    ("target", "engine", "unknown"),
    [
        (Target("a/b", "f", "s"), {}, ("weights", "the size of a token in the cache")),
        (DENSE, args("--quantization", "fp8"), ("weights",)),
        (DENSE, args("--cpu-offload-gb", "32"), ("weights",)),
        (DENSE, args("--cpu-offload-g", "32"), ("weights",)),
        (DENSE, args("--hf-config-path", "/models/other"), ("weights",)),
        (DENSE, args("--quantization-config", "{}"), ()),
        (DENSE, args("--decode-context-parallel-size", "1"), ("the size of a token in the cache",)),
        (DENSE, args("--data-parallel-size", "1"), ()),
    ],
)
def test_what_is_not_known_is_named(target: Target, engine: dict[str, Any], unknown: tuple[str, ...]) -> None:
    memory = baseline_memory(setting(target, engine=engine))
    assert memory is not None
    assert memory.unknown == unknown
    assert (memory.cache_gib is None) is ("weights" in unknown)


@pytest.mark.parametrize(
    ("model", "gib"),
    [
        # As published: vllm-project/recipes gives each checkpoint's size, or 1.2 times it as memory to have.
        ("MiniMaxAI/MiniMax-M3-MXFP8", 513e9 / 1.2 / GIB),
        ("moonshotai/Kimi-K2.5", 714e9 / 1.2 / GIB),
        ("Qwen/Qwen3-8B", 20e9 / 1.2 / GIB),
        ("deepseek-ai/DeepSeek-V3.2", 805e9 / 1.2 / GIB),
        ("deepseek-ai/DeepSeek-V4-Pro", 960e9 / 1.2 / GIB),
        ("Qwen/Qwen3.8-27B", 51.7),
    ],
)
def test_weights_are_within_a_tenth_of_what_is_published(model: str, gib: float) -> None:
    target = next(each for each in targets() if each.model == model)
    assert weights_gib(target).gib == pytest.approx(gib, rel=0.1)


MEASURED = [
    (target, drafter, row)
    for target in targets()
    for drafter in target.drafters
    for row in drafter.measured
    if row.hardware in ("MI300X", "MI355X") and row.gpus
]


@pytest.mark.parametrize(
    ("target", "drafter", "row"), MEASURED, ids=[f"{t.model}-{d.method}-{r.workload}" for t, d, r in MEASURED]
)
def test_what_was_measured_fits_the_gpus_on_which_it_was_measured(
    target: Target, drafter: Checkpoint, row: Any
) -> None:
    named = {"model": drafter.model} if drafter.model else {}
    one = {"name": "d", "method": drafter.method, "numSpeculativeTokens": row.tokens, **named}
    found = setting(target, gpus=row.gpus, gpu=row.hardware, drafters=[one])
    assert not codes(found) & {"SD701", "SD702", "SD703"}


@pytest.mark.parametrize(
    ("gpus", "engine", "told"),
    [(1, {}, True), (2, {}, False), (1, args("--quantization", "fp8"), False), (1, args("-q", "fp8"), False)],
)
def test_weights_that_can_not_fit_are_an_error_with_the_sum(
    gpus: int, engine: dict[str, Any], told: bool
) -> None:
    large = Target("a/large", "f", "s", precision="bf16", parameters=110)
    found = [each for each in on_spec(setting(large, gpus=gpus, engine=engine)) if each.code[:3] == "SD7"]
    assert [each.code for each in found] == (["SD701"] if told else [])
    if found:
        sums = "of the 1 x 192 GiB of a pod's MI300X the engine may take 177"
        assert found[0].reason == f"110B parameters in bf16 are 205 GiB; {sums}"


@pytest.mark.parametrize(
    ("gpus", "engine", "fix"),
    [
        (2, {}, "use 8 GPUs"),  # 4 have too little beside the weights, and 5 to 7 can't share the heads
        (4, {}, "use 8 GPUs"),
        (4, args("--gpu-memory-utilization", "0.99"), None),
        (4, args("-tp", "2", "-pp", "2"), "use more or larger GPUs"),
        (8, {}, None),
    ],
)
def test_weights_fit_into_what_the_engine_may_take_and_the_number_that_does_is_named(
    gpus: int, engine: dict[str, Any], fix: str | None
) -> None:
    large = next(each for each in targets() if each.model == "Qwen/Qwen3.5-397B-A17B")
    found = [each for each in on_spec(setting(large, gpus=gpus, engine=engine)) if each.code == "SD701"]
    assert [each.fix for each in found] == ([f"{fix}, or serve a smaller or quantised model"] if fix else [])
    assert not found or "SD703" not in codes(setting(large, gpus=gpus, engine=engine))


@pytest.mark.parametrize(
    ("length", "told"),
    [("1000000", False), ("2M", True), ("2000000", True), ("auto", False), ("-1", False), ("1k", False)],
)
def test_a_request_longer_than_the_cache_is_told_in_every_spelling(length: str, told: bool) -> None:
    assert ("SD702" in codes(setting(DENSE, engine=args("--max-model-len", length)))) is told


@pytest.mark.parametrize(("share", "told"), [(0.89, True), (0.91, False), (1.1, False)])
def test_a_cache_that_is_short_by_less_than_the_estimate_is_worth_is_not_told(
    share: float, told: bool
) -> None:
    memory = baseline_memory(setting(DENSE))
    assert memory is not None
    assert memory.cache_tokens
    length = str(int(memory.cache_tokens / share))
    assert ("SD702" in codes(setting(DENSE, engine=args("--max-model-len", length)))) is told


def test_a_drafter_that_takes_the_last_room_is_told_and_not_the_baseline() -> None:
    engine = args("--max-model-len", "1400000")
    found = drafted(DENSE, HEAD, engine=engine)
    assert "SD702" not in {each.code for each in on_spec(found.setting)}
    assert "SD702" in {each.code for each in on_drafters(found.setting)["d"]}


@pytest.mark.parametrize(
    ("value", "cache"),
    [
        (["--gpu-memory-utilization", "0.5"], 96.0),
        (["--gpu-memory-utilization=1.0"], 192.0),
        (["--device-memory-utilization", "0.5"], 96.0),
        (["--gpu-memory-utilization", "much"], 192 * 0.92),
        (["--gpu-memory-utilization", "7"], 192 * 0.92),
    ],
)
def test_the_share_of_memory_is_the_arguments_or_vllms_default(value: list[str], cache: float) -> None:
    memory = baseline_memory(setting(DENSE, engine=args(*value)))
    assert memory is not None
    assert memory.budget_gib == pytest.approx(cache)


def test_an_old_release_takes_less_of_the_memory() -> None:
    memory = baseline_memory(setting(DENSE, engine={"vllmVersion": "0.19.1"}))
    assert memory is not None
    assert memory.budget_gib == pytest.approx(192 * 0.9)


def test_a_cache_of_a_given_size_is_not_reckoned() -> None:
    assert baseline_memory(setting(DENSE, engine=args("--kv-cache-memory-bytes", "1000000000"))) is None


def test_weights_of_a_drafter_of_unknown_size_are_unknown() -> None:
    fields = {field: getattr(HEAD, field) for field in HEAD.__struct_fields__}
    unknown = Checkpoint(**{**fields, "parameters": None})
    assert drafter_weights_gib(unknown) is None
    assert cache_lost(drafted(DENSE, unknown)) is None
