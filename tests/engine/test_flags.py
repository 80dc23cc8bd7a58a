"""Reading the words of engine.args."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from specdeploy import engine
from specdeploy.engine import parser
from specdeploy.engine.flags import read_flags
from specdeploy.engine.tables import flags as tables_flags

ENGINE = Path(engine.__file__).parent


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        (
            ["--a_b=1=2", "--c", "3", "--d", "--e", "word", "-x"],
            [
                (0, "--a-b", "1=2", ""),
                (1, "--c", "3", ""),
                (3, "--d", None, ""),
                (4, "--e", "word", ""),
                (6, "-x", None, ""),
            ],
        ),
        (["-tp=2"], [(0, "--tensor-parallel-size", "2", "")]),
        (["--max-model-len", "-1"], [(0, "--max-model-len", "-1", "")]),
        (["--a", "-.5"], [(0, "--a", "-.5", "")]),
        (["--a_b.c_d", "x"], [(0, "--a-b", "x", "c_d")]),
        (["--a_b.c.d_e=x.y"], [(0, "--a-b", "x.y", "c.d_e")]),
        (["--a=x.y"], [(0, "--a", "x.y", "")]),
        (["-sc.method", "ngram"], [(0, "--speculative-config", "ngram", "method")]),
        (["-O3"], [(0, "--optimization-level", "3", "")]),
        (["-O=2", "-O", "1"], [(0, "--optimization-level", "2", ""), (1, "--optimization-level", "1", "")]),
        (["-", "x"], []),
    ],
)
def test_a_flag_has_its_place_its_name_its_value_and_its_key(
    words: list[str], flags: list[tuple[int, str, str | None, str]]
) -> None:
    assert [(f.index, f.name, f.value, f.key) for f in read_flags(words)] == flags


@pytest.mark.parametrize(
    ("word", "option", "meant"),
    [
        ("--max-num-seqs", "--max-num-seqs", True),
        ("--max_num_se", "--max-num-seqs", True),
        ("--max-num-seqs", "--max-num-seq", False),
        ("--data-parallel-size", "--data-parallel-size-local", False),
        ("--data-parallel-size-l", "--data-parallel-size-local", True),
        ("--watermark", "--watermark-config", False),
        ("--watermark-c", "--watermark-config", True),
        ("--quantization", "--quantization-config", False),
        ("--kv-cache-dtype", "--kv-cache-dtype-skip-layers", False),
        ("--swap-space", "--swap-space", True),
        ("--", "--max-num-seqs", False),
    ],
)
def test_a_flag_means_what_it_begins_unless_it_is_a_flag_itself(word: str, option: str, meant: bool) -> None:
    assert read_flags([word])[0].means(option) is meant


def quoted() -> set[str]:
    """Every long flag that stands alone in a string of the engine's modules, the tables' aside."""
    files = [file for file in ENGINE.rglob("*.py") if not file.name.startswith("tables_")]
    nodes = (node for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    strings = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return {text for text in strings if re.fullmatch(r"--[a-z0-9]+(-[a-z0-9]+)*", text)}


def test_every_flag_that_the_rules_speak_of_is_one_of_the_tables() -> None:
    found = quoted()
    assert len(found) > 50
    assert found - {*tables_flags.SPANS, *tables_flags.GONE_BEFORE, *parser.options(None)} == {"--help"}
