"""The command line, and what may not stand in engine.args."""

from __future__ import annotations

import json
from typing import Any

import pytest

from specdeploy.api.rule import Finding
from specdeploy.api.spec import Spec
from specdeploy.engine.arguments import OWNED, PARALLEL, parallel_size, serve_arguments
from specdeploy.engine.checks import on_spec
from specdeploy.engine.rules import arguments, serving
from specdeploy.engine.setting import setting_of
from tests.engine.specs import everything, smallest


def with_args(*words: str, count: int = 2) -> Any:
    spec = smallest("engine.args", list(words))
    return spec.model_copy(update={"accelerator": spec.accelerator.model_copy(update={"count": count})})


def check_arguments(spec: Spec) -> tuple[Finding, ...]:
    """Findings by the rules on words and sizes alone; those by version are tested with the flags."""
    codes = {rule.code for rule in (*arguments.RULES, serving.SIZE, serving.PRODUCT)}
    return tuple(finding for finding in on_spec(setting_of(spec)) if finding.code in codes)


SHARDED = "--enable-batch-sharded-sampling"
KV = "--kv-transfer-config"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([SHARDED], []),
        ([SHARDED, "-tp", "1", "-pp", "2"], ["it has one tensor parallel rank"]),
        ([SHARDED, "--max-num-seqs", "2"], []),
        ([SHARDED, "--max-num-seqs", "1"], ["1 requests are fewer than 2 ranks"]),
        ([SHARDED, "--max-logprobs", "-1"], ["--max-logprobs is below 0"]),
        ([SHARDED, "--max-logprobs", "20"], []),
        ([SHARDED, "--return-sampling-mask"], ["--return-sampling-mask is on"]),
        ([SHARDED, "--no-enable-batch-sharded-sampling", "--max-num-seqs", "1"], []),
        (["--max-num-seqs", "1"], []),
        ([KV, "{}"], [f"{KV} has no kv_connector", f"{KV} has no kv_role"]),
        ([KV, '{"kv_connector": "OffloadingConnector"}'], [f"{KV} has no kv_role"]),
        ([KV, '{"kv_connector": "OffloadingConnector", "kv_role": "kv_both"}'], []),
        ([f"{KV}.kv_connector", "OffloadingConnector", f"{KV}.kv_role=kv_both"], []),
        ([KV, "{}", "--kv-offloading-size", "8"], []),
        (["--watermark-config", "{}"], ["--watermark-config has no key"]),
        (["--watermark-config.key", "7"], []),
        (["--watermark-config", "{"], []),
    ],
)
def test_arguments_have_what_they_need(words: list[str], found: list[str]) -> None:
    assert [finding.reason for finding in check_arguments(with_args(*words))] == found


def test_the_smallest_baseline_has_model_address_parallelism_and_drain() -> None:
    assert serve_arguments(smallest(), None) == [
        "google/gemma-4-26B-A4B-it",
        "--served-model-name",
        "google/gemma-4-26B-A4B-it",
        "--host",
        "0.0.0.0",
        "--port",
        "8000",
        "--tensor-parallel-size",
        "2",
        "--shutdown-timeout",
        "300",
    ]


def test_the_arms_differ_in_the_speculative_config_alone_and_it_comes_last() -> None:
    spec = everything()
    assert spec.drafters
    baseline, drafter = serve_arguments(spec, None), serve_arguments(spec, spec.drafters[0])
    assert drafter[:-2] == baseline
    assert drafter[-2] == "--speculative-config"
    assert json.loads(drafter[-1])["method"] == "eagle3"


def test_the_users_words_stand_as_written_and_replace_tensor_parallelism_over_all_gpus() -> None:
    spec = everything()
    words = serve_arguments(spec, None)
    assert "--tensor-parallel-size" not in words
    assert spec.engine.args == words[-5:]
    assert words[words.index("--attention-backend") + 1] == "ROCM_AITER_FA"
    assert words[words.index("--revision") + 1] == "b968826d"


@pytest.mark.parametrize("option", sorted(OWNED))
def test_an_owned_flag_is_refused_with_a_fix(option: str) -> None:
    (finding,) = check_arguments(with_args("--max-num-seqs", "64", option, "x"))
    assert finding.field == "spec.engine.args[2]"
    assert option in finding.reason
    assert finding.fix


@pytest.mark.parametrize(
    "words",
    [
        ("--speculative-config", '{"method": "ngram"}'),
        ('--speculative-config={"method": "ngram"}',),
        ("--speculative_config", "{}"),
        ("--speculative-config.method", "ngram"),
        ("--speculative_config.num_speculative_tokens=3",),
        ("-sc", "{}"),
        ("-sc.method", "ngram"),
        ("-sc={}",),
        ("--spec-method", "ngram"),
        ("--spec_model", "org/x"),
        ("--spec-tokens=3",),
        ("--speculative-c", "{}"),
        ("--port=9000",),
        ("--por", "9000"),
        ("--served_model_name", "x"),
        ("--shutdown_timeout=0",),
    ],
)
def test_every_spelling_of_an_owned_flag_is_refused(words: tuple[str, ...]) -> None:
    assert [f.field for f in check_arguments(with_args(*words))] == ["spec.engine.args[0]"]


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--max-model-len", "8192"),
        ("--model-impl", "transformers"),
        ("--config-format", "hf"),
        ("--kv-cache-memory-bytes", "1"),
        ("--ssl-ca-certs", "/x"),
        ("--hf-overrides", '{"a": "--port"}'),
        ("--attention-backend", "TRITON_ATTN"),
        ("--compilation-config.level", "3"),
    ],
)
def test_other_flags_pass(words: tuple[str, ...]) -> None:
    assert check_arguments(with_args(*words)) == ()


def test_the_attention_backend_is_given_once() -> None:
    spec = everything("engine.args", ["-tp=8", "--attention-backend", "TRITON_ATTN"])
    (finding,) = check_arguments(spec)
    assert finding.field == "spec.engine.args[1]"


def test_a_word_that_holds_several_is_told_to_be_split() -> None:
    (finding,) = check_arguments(with_args("--max-model-len 8192"))
    assert finding.field == "spec.engine.args[0]"
    assert finding.reason == "'--max-model-len 8192' holds several words"


def test_the_end_of_flags_mark_is_refused_because_ours_come_after_it() -> None:
    assert [f.field for f in check_arguments(with_args("--", "x"))] == ["spec.engine.args[0]"]


@pytest.mark.parametrize(
    ("words", "count", "accepted"),
    [
        (("--tensor-parallel-size", "2"), 2, True),
        (("--tensor-parallel-size=4", "--pipeline_parallel_size", "2"), 8, True),
        (("-tp", "2", "-dp=2"), 4, True),
        (("--tensor-parallel", "2"), 2, True),
        (("-tp", "1", "-tp", "2"), 2, True),
        (("-pcp", "2", "-tp", "2"), 4, True),
        (("--data-parallel-size", "8"), 8, True),
        (("--data-parallel-size-local", "8"), 2, True),
        (("-tp", "4"), 2, False),
        (("--pipeline-parallel-size", "2"), 8, False),
        (("-tp", "two"), 2, False),
        (("-tp", "0"), 2, False),
        (("-tp",), 2, False),
        (("-tp", "--enforce-eager"), 2, False),
        (("-tp=",), 2, False),
    ],
)
def test_parallel_sizes_have_to_multiply_to_the_gpus_of_a_pod(
    words: tuple[str, ...], count: int, accepted: bool
) -> None:
    assert (check_arguments(with_args(*words, count=count)) == ()) is accepted


def test_the_finding_on_parallelism_has_both_numbers() -> None:
    (finding,) = check_arguments(with_args("-tp", "4", "-dp", "2", count=2))
    assert finding.reason == "the parallel sizes multiply to 8, but a pod has 2 GPUs"


@pytest.mark.parametrize(
    ("words", "sizes"),
    [
        ((), [2, 1, 1, 1]),
        (("-dp", "2"), [1, 1, 2, 1]),
        (("-tp", "1", "-pp", "2"), [1, 2, 1, 1]),
    ],
)
def test_tensor_parallelism_takes_all_gpus_unless_another_kind_is_named(
    words: tuple[str, ...], sizes: list[int]
) -> None:
    assert [parallel_size(with_args(*words), option) for option in PARALLEL] == sizes


@pytest.mark.parametrize("option", sorted(OWNED))
def test_each_owned_flag_is_refused_by_one_rule(option: str) -> None:
    (finding,) = check_arguments(with_args(option, "x"))
    assert finding.code in {rule.code for rule in arguments.RULES}
