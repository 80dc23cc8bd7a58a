"""Which flags and variables a release of vLLM has: the tables' boundaries on both sides, and the rules."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdeploy.engine import parser
from specdeploy.engine.checks import on_spec
from specdeploy.engine.rules import flags, variables
from specdeploy.engine.setting import setting_of
from specdeploy.engine.tables import flags as tables_flags
from specdeploy.engine.tables import values as tables_values
from specdeploy.engine.tables import variables as tables_variables
from specdeploy.engine.versions import NEWEST, OLDEST, Span, Version
from tests.engine.specs import smallest

BOUNDARIES = [
    (name, span)
    for table in (tables_flags.SPANS, tables_variables.SPANS)
    for name, span in table.items()
    if span.since or span.until
]


def before(version: Version) -> Version:
    return (
        version._replace(minor=version.minor - 1, patch=99)
        if version.patch == 0
        else version._replace(patch=0)
    )


@pytest.mark.parametrize(("name", "span"), BOUNDARIES, ids=[name for name, _ in BOUNDARIES])
def test_each_boundary_lies_among_the_known_releases_and_holds_on_its_right_side(
    name: str, span: Span
) -> None:
    for bound in (span.since, span.until):
        assert bound is None or OLDEST < bound <= NEWEST
    if span.since:
        assert span.holds(span.since)
        assert not span.holds(before(span.since))
    if span.until:
        assert not span.holds(span.until)
        assert span.holds(before(span.until))


def test_the_tables_of_what_flags_take_name_flags() -> None:
    kinds = [value for name, value in vars(tables_values).items() if name.isupper() and name != "ALWAYS"]
    for names in (
        tables_flags.SWITCHES,
        tables_flags.LISTS,
        tables_flags.OPTIONAL,
        tables_flags.PLAIN,
        *kinds,
    ):
        assert set(names) <= set(tables_flags.SPANS)
    assert tables_flags.PLAIN <= tables_flags.SWITCHES
    assert not tables_flags.SWITCHES & tables_flags.LISTS
    assert set(tables_flags.DEPRECATED) <= set(tables_flags.SPANS) & set(tables_flags.INSTEAD)
    assert not set(tables_flags.GONE_BEFORE) & set(tables_flags.SPANS)
    assert set(tables_variables.SPANS) >= tables_variables.WHOLE


@pytest.mark.parametrize(
    ("word", "version", "meant"),
    [
        ("--max-model-len", "0.33", ["--max-model-len"]),
        ("--max-model-l", "0.33", ["--max-model-len"]),
        ("--speculative", "0.33", ["--speculative-config"]),
        ("--no-enforce-eager", "0.33", ["--no-enforce-eager"]),
        ("--no-disable-log-stats", "0.33", []),
        ("--disable-prefix-caching", "0.33", ["--disable-prefix-caching"]),
        ("--disable-prefix-caching", "0.32", []),
        ("--enable-cascade-attn", "0.33", ["--enable-cascade-attn"]),
        ("--max-num-q", "0.29", ["--max-num-queued-reqs", "--max-num-queued-tokens"]),
        ("--max-num-q", "0.28", []),
        ("--foo", "0.33", []),
    ],
)
def test_a_word_means_the_flags_of_the_release_that_it_begins(
    word: str, version: str, meant: list[str]
) -> None:
    major, minor = version.split(".")
    assert list(parser.matches(word, Version(int(major), int(minor)))) == meant


@pytest.mark.parametrize(
    ("words", "stray"),
    [
        (["--max-num-seqs", "64"], []),
        (["--max-num-seqs=64"], []),
        (["--max-num-seqs=64", "65"], [1]),
        (["--max-num-seqs", "64", "65"], [2]),
        (["--max-model-len", "-1"], []),
        (["--enforce-eager", "true"], [1]),
        (["--enforce-eager=true"], [0]),
        (["--no-enforce-eager", "--dtype", "auto"], []),
        (["--lora-modules", "a=/a", "b=/b", "--enable-lora"], []),
        (["--kv-transfer-config.kv_role", "kv_both", "x"], [2]),
        (["--not-known", "a", "b"], []),
        (["org/model"], [0]),
        (["-tp", "2", "-ep"], []),
        (["-O3"], []),
        (["-O", "3"], []),
    ],
)
def test_words_that_no_flag_takes_are_stray(words: list[str], stray: list[int]) -> None:
    assert list(parser.stray_words(words, NEWEST)) == stray


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--enforce-eager", "true"], True),
        (["--enforce-eager=true"], True),
        (["foo"], False),
        (["--max-num-seqs", "64", "foo"], False),
        (["--enforce-eager", "--max-num-seqs", "64", "foo"], False),
    ],
)
def test_how_a_switch_is_written_is_told_where_one_stands_before_the_word(
    words: list[str], told: bool
) -> None:
    (stray,) = [each for each in on_spec(setting_of(smallest("engine.args", words))) if each.code == "SD224"]
    assert ("a switch is on by its name" in stray.fix) is told


def found(engine: dict[str, Any]) -> list[tuple[str, str]]:
    names = {rule.code: rule.name for rule in (*flags.RULES, *variables.RULES)}
    findings = on_spec(setting_of(smallest("engine", engine)))
    return [
        (names[each.code], each.field.removeprefix("spec.engine.")) for each in findings if each.code in names
    ]


def image(version: str) -> str:
    return f"vllm/vllm-openai-rocm:v{version}"


@pytest.mark.parametrize(
    ("version", "args", "expected"),
    [
        ("0.33.0", [], []),
        ("0.33.0", ["--use-replayssm"], []),
        ("0.27.0", ["--use-replayssm"], []),
        ("0.26.0", ["--use-replayssm"], [("flag-too-new", "args[0]")]),
        ("0.29.0", ["--max-num-queued-reqs", "8"], []),
        ("0.28.0", ["--max-num-queued-reqs", "8"], [("flag-too-new", "args[0]")]),
        ("0.32.0", ["--custom_histogram_buckets={}"], []),
        ("0.31.0", ["--custom_histogram_buckets={}"], [("flag-too-new", "args[0]")]),
        ("0.27.1", ["--calculate-kv-scales"], []),
        ("0.28.0", ["--calculate-kv-scales"], [("flag-gone", "args[0]")]),
        ("0.33.0", ["--swap-space", "4"], [("flag-gone", "args[0]")]),
        ("0.18.0", ["--speculative-model", "x"], [("flag-gone", "args[0]")]),
        ("0.33.0", ["--disable-by-batch-size", "8"], [("flag-gone", "args[0]")]),
        ("0.33.0", ["--max-model-length", "8"], [("flag-unknown", "args[0]")]),
        ("0.33.0", ["--max-num", "8"], [("flag-ambiguous", "args[0]")]),
        ("0.33.0", ["--max-model-len", "16k"], []),
        ("0.33.0", ["--max-model-len", "auto"], []),
        ("0.33.0", ["--max-model-len", "-1"], []),
        ("0.33.0", ["--max-model-len", "16 k"], [("flag-with-a-wrong-value", "args[0]")]),
        ("0.33.0", ["--max-num-seqs", "1_000"], []),
        ("0.33.0", ["--max-num-seqs", "1e3"], [("flag-with-a-wrong-value", "args[0]")]),
        ("0.33.0", ["--dtype", "nonsense"], [("flag-with-a-wrong-value", "args[0]")]),
        ("0.33.0", ["--dty", "half"], []),
        ("0.32.0", ["--kv-cache-dtype", "nonsense"], [("flag-with-a-wrong-value", "args[0]")]),
        ("0.32.0", ["--kv-cache-dtype", "fp8"], []),
        ("0.33.0", ["--moe-backend", "Flashinfer-CutLASS"], []),
        ("0.33.0", ["--moe-backend", "nonsense"], [("flag-with-a-wrong-value", "args[0]")]),
        ("0.33.0", ["--kv-cache-dtype", "of_a_plugin"], []),
        ("0.33.0", ["--compilation-config", "{"], [("flag-with-a-wrong-value", "args[0]")]),
        ("0.33.0", ["--compilation-config", '{"max_cudagraph_capture_size": 1k}'], []),
        ("0.33.0", ["--compilation-config.level", "none"], []),
        ("0.33.0", ["--hf-overrides", "yarn"], [("flag-without-its-object", "args[0]")]),
        ("0.33.0", ["--hf-overrides", "[]"], [("flag-without-its-object", "args[0]")]),
        ("0.33.0", ["--hf-overrides", "{}"], []),
        ("0.33.0", ["--compilation-config", "None"], [("flag-with-a-wrong-value", "args[0]")]),
        ("0.33.0", ["--kv-transfer-config", "None"], []),
        ("0.33.0", ["--kv-transfer-config", "[]"], [("flag-with-a-wrong-value", "args[0]")]),
        ("0.33.0", ["--limit-mm-per-prompt", "image=2"], [("flag-without-its-object", "args[0]")]),
        ("0.33.0", ["--limit-mm-per-prompt", '{"image": 2}'], []),
        ("0.33.0", ["--gpu-memory-utilization", "0.9"], []),
        ("0.33.0", ["--gpu-memory-utilization", "90%"], [("flag-with-a-wrong-value", "args[0]")]),
        ("0.33.0", ["--max-cpu-loras", "None"], []),
        ("0.33.0", ["--max-cpu-loras", "few"], [("flag-with-a-wrong-value", "args[0]")]),
        ("0.33.0", ["--kv-offloading-size", "8.5"], []),
        ("0.33.0", ["--kv-offloading-size", "8G"], [("flag-with-a-wrong-value", "args[0]")]),
        ("0.33.0", ["--max-num-seqs", "--dtype", "auto"], [("flag-without-a-value", "args[0]")]),
        ("0.33.0", ["--disable-cascade-attn"], [("flag-deprecated", "args[0]")]),
        ("0.31.0", ["--disable-cascade-attn"], []),
        ("0.33.0", ["--speculative-config", "{}"], []),
        ("0.33.0", ["--max-model-len 8192"], []),
    ],
)
def test_a_flag_is_looked_up_in_the_images_release(
    version: str, args: list[str], expected: list[tuple[str, str]]
) -> None:
    assert [
        each for each in found({"image": image(version), "args": args}) if each[0] != "stray-word"
    ] == expected


@pytest.mark.parametrize(
    "engine",
    [
        {"image": "a/b:1"},
        {"image": "vllm/vllm-openai-rocm:nightly"},
        {"image": "vllm/vllm-openai-rocm:v0.34.0"},
        {"image": "a/b:1", "vllmVersion": "0.33.0"},
    ],
)
def test_where_another_vllm_may_have_the_flag_it_is_doubted_and_not_refused(engine: dict[str, Any]) -> None:
    assert found({**engine, "args": ["--brand-new", "8"]}) == [("flag-doubtful", "args[0]")]


def test_a_declared_release_decides_for_any_makers_image_about_the_flags_that_the_tables_have() -> None:
    engine = {"image": "a/b:1", "vllmVersion": "0.31.0", "args": ["--watchdog-config", "{}"]}
    assert found(engine) == [("flag-too-new", "args[0]")]


def test_the_nearest_flag_is_suggested() -> None:
    spec = smallest("engine.args", ["--max-model-length", "8"])
    (finding,) = [each for each in on_spec(setting_of(spec)) if each.code == flags.UNKNOWN.code]
    assert finding.fix == "write --max-model-len or remove it"


@pytest.mark.parametrize(
    ("version", "name", "args", "expected"),
    [
        ("0.33.0", "VLLM_ROCM_USE_AITER", [], []),
        ("0.33.0", "OTHER", [], []),
        ("0.33.0", "VLLM_ROCM_USE_AITTER", [], ["variable-unknown"]),
        ("0.25.0", "VLLM_ROCM_USE_AITER_CUSTOM_AR", [], []),
        ("0.24.0", "VLLM_ROCM_USE_AITER_CUSTOM_AR", [], ["variable-too-new"]),
        ("0.25.1", "VLLM_ROCM_USE_AITER_PAGED_ATTN", [], []),
        ("0.26.0", "VLLM_ROCM_USE_AITER_PAGED_ATTN", [], ["variable-gone"]),
        ("0.33.0", "VLLM_USE_V1", [], ["variable-gone"]),
        ("0.33.0", "VLLM_PORT", [], []),
        ("0.33.0", "VLLM_USE_V1", ["--fail-on-environ-validation"], ["variable-refused"]),
        ("0.33.0", "VLLM_USE_V1", ["--no-fail-on-environ-validation"], ["variable-gone"]),
        ("0.34.0", "VLLM_USE_V9", ["--fail-on-environ-validation"], ["variable-unknown"]),
    ],
)
def test_a_variable_is_looked_up_in_the_images_release(
    version: str, name: str, args: list[str], expected: list[str]
) -> None:
    engine = {"image": image(version), "args": args, "env": [{"name": name, "value": "1"}]}
    assert [rule for rule, _ in found(engine)] == expected


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("VLLM_MOE_USE_DEEP_GEMM", "1", []),
        ("VLLM_MOE_USE_DEEP_GEMM", " 0 ", []),
        ("VLLM_MOE_USE_DEEP_GEMM", "true", ["variable-not-a-number"]),
        ("VLLM_MOE_USE_DEEP_GEMM", "", ["variable-not-a-number"]),
        ("VLLM_MOE_USE_DEEP_GEMM", "$(OTHER)", []),
        ("VLLM_MOE_USE_DEEP_GEMM", None, ["variable-not-a-number"]),
        ("VLLM_ROCM_USE_AITER", "true", []),
        ("VLLM_ENGINE_READY_TIMEOUT_S", "long", []),
        ("VLLM_USE_FBGEMM", "false", ["variable-gone"]),
    ],
)
def test_a_variable_that_vllm_reads_as_a_number_is_one(
    name: str, value: str | None, expected: list[str]
) -> None:
    assert [rule for rule, _ in found({"env": [{"name": name, "value": value}]})] == expected


WORDS = st.one_of(
    st.sampled_from(
        [*tables_flags.SPANS, "--", "-", "-O", "-1", "--max", "-tp", "--kv-transfer-config.kv_role"]
    ),
    st.text(max_size=8).map(lambda text: f"--{text}"),
    st.text(max_size=8),
)


@given(st.lists(WORDS, max_size=8), st.sampled_from(["v0.18.0", "v0.33.0", "v0.99.0", "nightly"]))
def test_whatever_stands_among_the_arguments_each_finding_names_a_word_that_is_there(
    words: list[str], tag: str
) -> None:
    engine = {"image": f"vllm/vllm-openai-rocm:{tag}", "args": words}
    for _, field in found(engine):
        assert int(field.removeprefix("args[").removesuffix("]")) < len(words)
