"""Reading the words of engine.args."""

from __future__ import annotations

import pytest

from specdeploy.engine.flags import read_flags


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
