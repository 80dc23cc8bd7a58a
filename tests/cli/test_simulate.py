"""`specdeploy simulate` as a user types it."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import typer
import yaml
from typer.testing import CliRunner

from specdeploy.cli.simulate import simulate

APP = typer.Typer()
APP.command()(simulate)
RUN = CliRunner()


def test_without_a_scenario_the_shipped_ones_are_listed_with_one_line_each() -> None:
    answer = RUN.invoke(APP, ["-o", "json"])
    assert answer.exit_code == 0
    listed = {each["name"]: each["description"] for each in json.loads(answer.output)}
    assert "far-slower" in listed
    assert all(listed.values())
    assert "far-slower" in RUN.invoke(APP, []).output


def test_a_run_is_told_as_a_timeline_with_verdicts_and_speeds() -> None:
    answer = RUN.invoke(APP, ["far-slower", "--windows"])
    assert answer.exit_code == 0
    for words in ("Disaster: eagle3", "FarSlowerThanBaseline", "no speculation", "worst hour", "REQ/S"):
        assert words in answer.output


@pytest.mark.parametrize("words", [[], ["far-slower", "--duration", "30m"]])
def test_no_line_ends_with_blanks(words: list[str]) -> None:
    lines = RUN.invoke(APP, words).output.splitlines()
    assert len(lines) > 5
    assert [line for line in lines if line.endswith(" ")] == []


def test_a_run_is_told_to_machines_and_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "run.svg"
    answer = RUN.invoke(APP, ["far-slower", "-o", "yaml", "--plot", str(picture), "--duration", "90m"])
    assert answer.exit_code == 0
    told = yaml.safe_load(answer.output)
    assert told["windows"] == 90
    assert told["verdicts"][0]["outcome"] == "Disaster"
    shapes = [each.tag.rpartition("}")[2] for each in ET.parse(picture).getroot().iter()]
    assert shapes.count("circle") >= 2
    assert "polyline" in shapes
    assert any("eagle3 Disaster" in (each.text or "") for each in ET.parse(picture).getroot().iter())


def test_a_seed_can_be_given() -> None:
    answers = [
        RUN.invoke(APP, ["far-slower", "-o", "json", "--seed", seed]).output for seed in ("5", "5", "6")
    ]
    assert answers[0] == answers[1]
    assert json.loads(answers[2])["seed"] == 6
    assert json.loads(answers[0])["speed"] != json.loads(answers[2])["speed"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere"], "nowhere is no file and no shipped scenario"),
        (["far-slower", "--duration", "soon"], "'soon' is no duration"),
        (["far-slower", "--duration", "10s"], "10s is not between 10m and 60d"),
        (
            ["far-slower", "--duration", "10m", "--plot", "/no/x.svg"],
            "--plot: /no/x.svg can't be written: no such",
        ),
        (["."], ".: is a directory"),
    ],
)
def test_what_can_not_be_asked_is_one_line_and_exit_code_2(words: list[str], told: str) -> None:
    answer = RUN.invoke(APP, words)
    assert answer.exit_code == 2
    assert told in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_a_file_that_is_no_scenario_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\nspec: 3\n")
    answer = RUN.invoke(APP, [str(file)])
    assert answer.exit_code == 2
    assert f"{file}:2: spec: " in answer.stderr


# a file that is no scenario -> what is said of it
BROKEN: dict[str, tuple[str, str]] = {
    "a tab": ("name: mine\n\tseed: 3\n", "2:1: a tab"),
    "a colon": ("name: a: b\n", "1:8: a ':' that can't stand here"),
    "a control character": ("name: a\x07\n", "1:8: the control character U+0007"),
    "a key that is a list": ("? [a]\n: b\n", "1:3: a key that is a list"),
    "a key twice": ("name: a\nname: b\n", "2:1: 'name' stands in line 1 already"),
    "brackets without an end": ("a: " + "[" * 200 + "]" * 200, "1:103: is more than 100 levels deep"),
    "a tag of nobody's": ("name: !!python/x a\n", "1:7: could not determine a constructor"),
    "two documents": ("name: a\n---\nname: b\n", "3:1: a second document begins; keep one in the file"),
    "nothing": ("", "1: file: is empty or no mapping"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_file_that_is_no_yaml_is_one_line_with_its_place(case: str, tmp_path: Path) -> None:
    text, said = BROKEN[case]
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    answer = RUN.invoke(APP, [str(file)])
    assert answer.exit_code == 2
    assert answer.stderr.startswith(f"specdeploy: {file}:{said}")
    assert answer.stderr.count("\n") == 1
