"""Numbers in engine.args: their bounds, the releases that have them, and what is no number of theirs."""

from __future__ import annotations

import pytest

from specdeploy.api.spec import Spec
from specdeploy.engine.checks import on_spec
from specdeploy.engine.setting import setting_of
from specdeploy.engine.tables.bounds import BOUNDS, OF_MEDIA, Bound
from specdeploy.engine.tables.flags import SPANS

CODES = ("SD226", "SD227", "SD232", "SD233")


def codes(words: list[str], version: str = "v0.33.0") -> list[str]:
    engine = {"image": f"vllm/vllm-openai-rocm:{version}", "args": words}
    spec = Spec.model_validate({"model": "org/model", "engine": engine})
    return [finding.code for finding in on_spec(setting_of(spec)) if finding.code in CODES]


@pytest.mark.parametrize(
    ("bound", "inside", "outside"),
    [
        (Bound(1), (1, 7), (0, -1)),
        (Bound(0, open="least"), (0.1,), (0, -1)),
        (Bound(0, 1, open="most"), (0, 0.99), (1, -0.1)),
        (Bound(0, 3), (0, 3), (4,)),
        (Bound(1, besides=-1), (-1, 1), (0, -2)),
    ],
)
def test_a_bound_holds_its_ends_unless_they_are_open(
    bound: Bound, inside: tuple[float, ...], outside: tuple[float, ...]
) -> None:
    assert [bound.holds(number) for number in (*inside, *outside)] == [True] * len(inside) + [False] * len(
        outside
    )


@pytest.mark.parametrize(
    ("words", "version", "found"),
    [
        (["--max-num-seqs", "-1"], "v0.18.0", ["SD232"]),
        (["--max-num-seqs", "0"], "v0.33.0", ["SD232"]),
        (["--max-num-seqs", "0"], "v0.40.0", ["SD227"]),
        (["--max-num-seqs", "many"], "v0.33.0", ["SD226"]),
        (["--block-size", "0"], "v0.18.0", []),  # no bound yet
        (["--block-size", "0"], "v0.25.0", ["SD227"]),  # perhaps
        (["--block-size", "0"], "v0.32.0", ["SD232"]),
        (["-O4"], "v0.33.0", ["SD232"]),
        (["-O3"], "v0.33.0", []),
        (["--max-model-len", "-1"], "v0.33.0", []),
        (["--max-model-len", "0"], "v0.33.0", ["SD232"]),
        (["--max-num-active-seqs", "None"], "v0.33.0", []),
        (["--max-loras", "0"], "v0.33.0", []),  # not looked at
        (["--enable-lora", "--max-loras", "0"], "v0.33.0", ["SD232"]),
        (["--mm-processor-cache-gb", "-1"], "v0.33.0", ["SD233"]),
        (["--max-num-batched-tokens", "auto"], "v0.33.0", ["SD226"]),
        (["--max-model-len", "Auto"], "v0.33.0", []),
        (["--max-num-batched-tokens", "1.5K"], "v0.33.0", ["SD226"]),  # no decimals with a binary suffix
        (["--max-num-batched-tokens", "1.5k"], "v0.33.0", []),
        (["--max-lora-rank", "48"], "v0.33.0", ["SD226"]),
        (["--max-lora-rank", "064"], "v0.33.0", []),
    ],
)
def test_a_number_out_of_bounds_is_an_error_where_the_release_is_known_to_have_the_bound(
    words: list[str], version: str, found: list[str]
) -> None:
    assert codes(words, version) == found


def test_the_tables_name_flags() -> None:
    assert {*BOUNDS, *OF_MEDIA} <= SPANS.keys()
