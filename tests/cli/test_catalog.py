"""`specdeploy catalog`: what people see, what programs read, and one clear line where there is nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
import yaml
from typer.testing import CliRunner, Result

from specdeploy.cli.catalog import catalog, load_file
from specdeploy.engine.catalogue.load import CatalogueError, read_entries, targets

COMMAND = typer.Typer()
COMMAND.command()(catalog)


def asked(*words: str) -> Result:
    return CliRunner().invoke(COMMAND, list(words), env={"COLUMNS": "100", "NO_COLOR": "1"})


def test_without_a_model_every_target_has_a_line_of_at_most_a_hundred_columns() -> None:
    lines = asked().stdout.splitlines()
    assert lines[0].split() == ["TARGET", "DRAFTERS", "BEST", "WITH", "ON"]
    first = [line.split()[0] for line in lines if "/" in line.split(" ")[0]]
    assert first == [target.model for target in targets()]
    assert max(len(line) for line in lines) <= 100
    (gemma,) = [line for line in lines if line.startswith("google/gemma-4-26B")]
    assert gemma.split() == ["google/gemma-4-26B-A4B-it", "3", "2.87x", "DFlash", "N=7", "MATH500,", "MI300X"]


def drawn(columns: int, *words: str) -> list[str]:
    result = CliRunner().invoke(COMMAND, list(words), env={"COLUMNS": str(columns), "NO_COLOR": "1"})
    return result.stdout.splitlines()


def test_a_terminal_of_eighty_columns_cuts_no_head() -> None:
    assert drawn(80)[0].split() == ["TARGET", "DRAFTERS", "BEST", "WITH", "ON"]


def test_where_there_is_no_room_for_a_table_a_target_has_two_lines() -> None:
    lines = drawn(60)
    at = lines.index("google/gemma-4-26B-A4B-it")
    assert lines[at + 1] == "  3 drafters, 2.87x with DFlash N=7 on MATH500, MI300X"
    assert [line for line in lines if "/" in line.split(" ")[0]] == [target.model for target in targets()]


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 140])
@pytest.mark.parametrize("words", [[], ["google/gemma-4-26B-A4B-it"], ["deepseek-ai/DeepSeek-V4-Pro-0813"]])
def test_no_line_is_wider_than_the_terminal_or_ends_with_blanks(columns: int, words: list[str]) -> None:
    lines = drawn(columns, *words)
    assert max(len(line) for line in lines) <= columns
    assert [line for line in lines if line.endswith(" ")] == []


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", "qwen3-8b", "dspark_qwen3_8b_block7"])
def test_a_model_is_found_by_its_name_by_a_part_of_it_or_by_a_drafter_of_it(name: str) -> None:
    out = asked(name).stdout
    assert out.startswith("Qwen/Qwen3-8B  8.2B parameters, bf16, 40960 tokens of context, 144 KiB of cache")
    assert "DSpark  deepseek-ai/dspark_qwen3_8b_block7" in out
    assert "begin with 7; 3 to 7 make sense, block 7" in out
    assert "GSM8K 1.63x (N=7, accepts 6.49)" in out
    assert "weights 3.7 GiB; cache unknown" in out
    assert max(len(line) for line in out.splitlines()) <= 100


def test_another_build_of_a_target_is_shown_as_what_it_is_a_build_of() -> None:
    out = " ".join(asked("some-org/Qwen3-8B-quantized.w4a16").stdout.split())
    assert out.startswith("some-org/Qwen3-8B-quantized.w4a16 8.2B parameters, int4, ")
    assert "Known with Qwen/Qwen3-8B; acceptance on this build of it may differ." in out


def test_drafters_stand_in_the_order_of_what_was_measured_on_amd_hardware() -> None:
    out = asked("google/gemma-4-31B-it").stdout
    titles = [line.split("  ")[0] for line in out.splitlines() if line[:1].isalpha() and "  " in line][1:]
    assert titles == ["DFlash", "MTP", "DSpark", "EAGLE-3", "DFlash"]


def test_what_is_needed_and_where_it_does_not_run_is_shown() -> None:
    out = asked("deepseek-ai/DeepSeek-V4-Pro-0813").stdout
    assert "vLLM 0.25.0, options.draft_sample_method: probabilistic" in out
    assert "not on  MI300X, MI325X" in out
    assert "options.parallel_drafting: true" in asked("openai/gpt-oss-20b").stdout


def test_where_the_target_itself_runs_is_shown_apart_from_its_drafters() -> None:
    of_target, _, of_drafter = asked("deepseek-ai/DeepSeek-V4-Pro").stdout.partition("\nMTP  ")
    assert "runs on  MI355X (recipe; the model, not its drafters)" in of_target
    assert "not on  MI300X, MI325X (recipe)" in of_target
    assert "not on  MI300X, MI325X\n" in of_drafter
    assert "runs on" not in of_drafter
    assert "runs on" not in asked("Qwen/Qwen3-8B").stdout
    (entry,) = json.loads(asked("deepseek-ai/DeepSeek-V4-Pro", "-o", "json").stdout)
    assert (entry["verified"], entry["unsupported"]) == (["MI355X"], ["MI300X", "MI325X"])


def test_a_part_of_several_names_lists_those() -> None:
    out = asked("qwen3.6").stdout
    assert "Qwen/Qwen3.6-27B" in out
    assert "Qwen/Qwen3.6-35B-A3B" in out
    assert "Qwen3.5" not in out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "google/gemma-4-27b-it",
            "the catalogue has no google/gemma-4-27b-it; near: google/gemma-4-E2B-it, google/gemma-4-12B-it",
        ),
        (
            "nothing/at-all-like-it-xyz",
            "the catalogue has no nothing/at-all-like-it-xyz; specdeploy catalog lists all\n",
        ),
    ],
)
def test_an_unknown_model_is_one_line_with_those_near_it(name: str, said: str) -> None:
    result = asked(name)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"specdeploy: {said}")
    assert result.stderr.count("\n") == 1


def test_json_and_yaml_are_entries_that_the_catalogue_takes_back() -> None:
    as_json = json.loads(asked("Qwen/Qwen3-8B", "-o", "json").stdout)
    as_yaml = asked("Qwen/Qwen3-8B", "-o", "yaml").stdout
    assert as_json == yaml.safe_load(as_yaml)
    assert read_entries(as_yaml, "again") == tuple(
        each for each in targets() if each.model == "Qwen/Qwen3-8B"
    )
    assert read_entries(asked("-o", "yaml").stdout, "all") == targets()


def test_entries_of_ones_own_are_shown_beside_the_catalogues(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        "- model: our/model\n  family: ours\n  source: us\n  drafters:\n"
        "    - {method: eagle3, model: our/head, tokens: {least: 1, most: 5, suggested: 3}, source: us}\n"
    )
    assert "EAGLE-3  our/head" in asked("our/model", "--catalog", str(own)).stdout
    assert asked("--catalog", str(own)).stdout.splitlines()[1].startswith("our/model")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"- {family: f, source: s}\n", "entry 1: Object missing required field `model`"),
        (b"- model: a\n\tfamily: b\n", "own.yaml:2:1: a tab; YAML is indented with spaces; use spaces"),
        (b"- model: a: b\n", "own.yaml:1:11: a ':' that can't stand here; "),
        (b"- {model: a, model: b}\n", "own.yaml:1:14: 'model' stands in line 1 already; "),
        (b"- model: !!python/x a\n", "own.yaml:1:10: could not determine a constructor for the tag "),
        (b"[" * 500, "own.yaml:1:101: is more than 100 levels deep; "),
        (b"\xff\xfe", "it is no UTF-8 text"),
        (None, "own.yaml: no such file or directory"),
    ],
)
def test_a_file_of_ones_own_that_can_not_be_used_is_one_line(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    own = tmp_path / "own.yaml"
    if content is not None:
        own.write_bytes(content)
    result = asked("--catalog", str(own))
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.startswith("specdeploy: --catalog: ")
    assert result.stderr.count("\n") == 1


def test_a_file_is_loaded_for_the_other_commands(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("- {model: our/model, family: ours, source: us}\n")
    assert [each.model for each in load_file(own)] == ["our/model"]
    own.write_text("no list")
    with pytest.raises(CatalogueError, match="begin each with"):
        load_file(own)
