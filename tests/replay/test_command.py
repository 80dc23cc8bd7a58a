"""`specdeploy replay` as a user types it."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from specdeploy.cli.replay import replay
from tests.replay.recordings import HISTORY, line, noisy

RUN = CliRunner()
APP = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
APP.command()(replay)
KEYS = ["trial", "outcome", "window", "ratio", "lower", "upper", "windows_used", "windows_skipped", "message"]


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    file = tmp_path / "windows.jsonl"
    lines = [*noisy(random.Random(1), "wins", 1.3, 60), *noisy(random.Random(2), "sinks", 0.44, 60)]
    file.write_bytes(b"".join([*lines, line("new", 5), line("new", 6, None)]))
    return file


def test_a_file_gives_one_object_a_trial(recorded: Path) -> None:
    answer = RUN.invoke(APP, [str(recorded)])
    found = [json.loads(text) for text in answer.stdout.splitlines()]
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert [list(each) for each in found] == [KEYS] * 3
    assert [(each["trial"], each["outcome"]) for each in found] == [
        ("wins", "Promoted"),
        ("sinks", "Disaster"),
        ("new", "Inconclusive"),
    ]
    wins, sinks, new = found
    assert wins["lower"] < 1.3 < wins["upper"]
    assert sinks["window"] <= HISTORY + 2
    assert (new["window"], new["ratio"], new["lower"], new["windows_skipped"]) == (
        6,
        1.0,
        None,
        {"NoData": 1},
    )


def test_standard_input_is_read_for_a_dash(recorded: Path) -> None:
    by_name = RUN.invoke(APP, [str(recorded)])
    by_dash = RUN.invoke(APP, ["-"], input=recorded.read_bytes())
    assert (by_dash.exit_code, by_dash.stdout) == (0, by_name.stdout)


def test_broken_lines_are_named_and_the_rest_is_judged(recorded: Path) -> None:
    good = RUN.invoke(APP, [str(recorded)]).stdout
    lines = recorded.read_bytes().splitlines(keepends=True)
    broken = [lines[0], b"not json\n", b"\n", lines[0], *lines[1:], b'{"trial": "new", "window": 9}']
    answer = RUN.invoke(APP, ["-"], input=b"".join(broken))
    said = answer.stderr.splitlines()
    assert answer.exit_code == 1
    assert [json.loads(text)["outcome"] for text in answer.stdout.splitlines()] == [
        json.loads(text)["outcome"] for text in good.splitlines()
    ]
    assert [text.split(": ")[1] for text in said] == ["line 2", "line 4", f"line {len(broken)}"]
    assert "window 0 of trial 'wins' is not after its window 0" in said[1]


def test_a_key_of_a_pod_that_nobody_knows_is_named_once_and_the_rest_is_judged(recorded: Path) -> None:
    plain = RUN.invoke(APP, [str(recorded)]).stdout
    misspelt = recorded.read_bytes().replace(b'"seconds": 60.0', b'"seconds": 60.0, "itl_second": 1.0')
    answer = RUN.invoke(APP, ["-"], input=misspelt)
    assert (answer.exit_code, answer.stdout) == (0, plain)
    assert answer.stderr == "specdeploy: line 1: pods have no key 'itl_second', ignored\n"


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_a_file_without_a_line_is_no_answer(content: bytes, tmp_path: Path) -> None:
    """What should have written it may have failed."""
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(content)
    answer = RUN.invoke(APP, [str(empty)])
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert answer.stderr == f"specdeploy: {empty}: there is no line in it\n"


Answer = dict[str, Any]


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--window-seconds", "120", lambda found, plain: found["window"] < plain["window"]),
        ("--minimum-effect-percent", "50", lambda found, _: found["outcome"] == "NotWorthIt"),
        ("--deadline-windows", "12", lambda found, _: found["windows_used"] == 12),
        ("--confidence-percent", "99.9", lambda found, plain: found["lower"] < 0.95 * plain["lower"]),
        ("--pod-sd-percent", "2", lambda found, plain: found["lower"] < 0.98 * plain["lower"]),
    ],
)
def test_the_options_reach_the_judge(
    recorded: Path, option: str, value: str, expected: Callable[[Answer, Answer], bool]
) -> None:
    plain = json.loads(RUN.invoke(APP, [str(recorded)]).stdout.splitlines()[0])
    found = json.loads(RUN.invoke(APP, [str(recorded), option, value]).stdout.splitlines()[0])
    assert (plain["trial"], plain["outcome"]) == ("wins", "Promoted")
    assert expected(found, plain)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such-file.jsonl"], "no-such-file.jsonl: no such file or directory"),
        (["."], ".: is a directory"),
        (["a\0b"], "a\0b: embedded null byte"),
        (["-", "--confidence-percent", "100"], "--confidence-percent: 100 is not between 50 and 99.9999"),
        (["-", "--confidence-percent", "49"], "--confidence-percent: 49 is not between 50 and 99.9999"),
        (
            ["-", "--minimum-effect-percent", "-1"],
            "--minimum-effect-percent: -1 is not between 0 and 1000",
        ),
        (["-", "--window-seconds", "nan"], "--window-seconds: nan is not between 1 and 86400"),
        (["-", "--window-seconds", "inf"], "--window-seconds: inf is not between 1 and 86400"),
        (["-", "--deadline-windows", "0"], "--deadline-windows: 0 is not between 1 and 1000000"),
        (["-", "--pod-sd-percent", "101"], "--pod-sd-percent: 101 is not between 0 and 100"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_two(words: list[str], said: str) -> None:
    answer = RUN.invoke(APP, words)
    assert (answer.exit_code, answer.stdout, answer.stderr) == (2, "", f"specdeploy: {said}\n")


@pytest.mark.parametrize(
    "words",
    [
        ["--confidence-percent", "99.9999", "--pod-sd-percent", "100", "--minimum-effect-percent", "1000"],
        ["--confidence-percent", "50", "--pod-sd-percent", "0", "--minimum-effect-percent", "0"],
        ["--window-seconds", "1", "--deadline-windows", "1"],
        ["--window-seconds", "86400", "--deadline-windows", "1000000"],
    ],
)
def test_the_bounds_of_every_option_are_taken(recorded: Path, words: list[str]) -> None:
    assert RUN.invoke(APP, [str(recorded), *words]).exit_code == 0
