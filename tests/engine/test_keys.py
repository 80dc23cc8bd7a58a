"""Keys in the objects of engine.args: which release has them, and how sure the rules are."""

from __future__ import annotations

import pytest

from specdeploy.api.rule import Finding, Severity
from specdeploy.api.spec import Spec
from specdeploy.engine.checks import on_spec
from specdeploy.engine.flags import read_flags
from specdeploy.engine.json_words import object_in, read_json
from specdeploy.engine.setting import setting_of
from specdeploy.engine.tables import keys as table
from specdeploy.engine.tables.values import OBJECT, OBJECT_OR_NONE

CODES = ("SD227", "SD230", "SD231")


def found(version: str, *words: str) -> list[Finding]:
    engine = {"image": f"vllm/vllm-openai-rocm:{version}", "args": list(words)}
    spec = Spec.model_validate({"model": "org/model", "engine": engine})
    return [finding for finding in on_spec(setting_of(spec)) if finding.code in CODES]


CC = "--compilation-config"


@pytest.mark.parametrize(
    ("version", "words", "code"),
    [
        ("v0.33.0", [CC, '{"mode": 3}'], None),
        ("v0.33.0", [CC, '{"level": 3}'], "SD230"),
        ("v0.25.0", [CC, '{"level": 3}'], "SD230"),  # gone in the oldest already
        ("v0.40.0", [CC, '{"level": 3}'], "SD227"),
        ("v0.32.0", ["-cc.level", "3"], "SD230"),
        ("v0.32.0", ["-cc.pass_config.enable_noop", "true"], "SD230"),
        ("v0.32.0", [CC, '{"pass_config": {"enable_noop": true, "fuse_norm_quant": true}}'], "SD230"),
        ("v0.32.0", [CC, '{"pass_config": {"fuse_norm_quant": true}}'], None),
        ("v0.32.0", ["-cc.splitting_ops+", "x"], None),
        ("v0.32.0", ["-cc.inductor_compile_config.anything", "1"], None),
        ("v0.32.0", [CC, '{"no_such": 1}'], "SD230"),
        ("v0.25.0", [CC, '{"no_such": 1}'], "SD227"),  # its source was not read for this
        ("v0.18.0", [CC, '{"cudagraph_mm_encoder": true}'], "SD231"),
        ("v0.25.0", [CC, '{"cudagraph_mm_encoder": true}'], None),
        ("v0.18.0", ["--kv-transfer-config.kv_rank", "0"], None),
        ("v0.33.0", ["--kv-transfer-config.kv_rank", "0"], "SD231"),
        ("v0.32.0", ["--kernel-config", '{"monokernel": true}'], "SD231"),
        ("v0.33.0", ["--kernel-config", '{"monokernel": true}'], None),
        ("v0.33.0", [CC, "{"], None),  # the parser's, by another rule
    ],
)
def test_each_release_has_its_keys(version: str, words: list[str], code: str | None) -> None:
    assert [each.code for each in found(version, *words) if each.code != "SD226"] == ([code] if code else [])


def test_a_key_of_old_recipes_says_what_to_write_and_another_what_is_near() -> None:
    [gone] = found("v0.33.0", CC, '{"full_cuda_graph": true}')
    assert gone.fix == "write cudagraph_mode FULL where it was true, or remove it"
    [near] = found("v0.33.0", CC, '{"cudagraph-mode": "FULL"}')
    assert (near.fix, near.severity) == ("write cudagraph_mode or remove it", Severity.ERROR)


def test_every_occurrence_is_read_by_itself() -> None:
    assert len(found("v0.33.0", CC, '{"level": 3}', CC, "{}", "-cc.level", "3")) == 2


def test_the_table_is_of_flags_that_take_an_object_and_of_their_keys() -> None:
    for option in table.KEYS:
        flag, _, key = option.partition(".")
        assert flag in OBJECT | OBJECT_OR_NONE
        assert not key or key in table.KEYS[flag]
    for option, keys in table.GONE_BEFORE.items():
        assert not set(keys) & set(table.KEYS[option])


def test_json_is_read_as_vllm_reads_it() -> None:
    assert read_json('{"a": 16k, "b": "16k", "c": [1.5m]}') == {"a": 16000, "b": "16k", "c": [1500000]}
    for wrong in ("{", "16q", "1.5M", "[" * 100_000):
        with pytest.raises(ValueError, match=r"Expecting|Extra|nested"):
            read_json(wrong)
    assert [object_in(flag) for flag in read_flags(["-cc.a.b+", "1", "-cc.c", "x", "-cc", "[]"])] == [
        {"a": {"b": 1}},
        {"c": "x"},
        None,
    ]
