"""What the reading commands show, from stored objects alone."""

import io
import re
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from specdeploy.cli.drawing import put
from specdeploy.cli.show import axis_labels, console_for, explanation, figure, interval_bar, listing
from specdeploy.judge.guard import pack_guard
from tests.judge.guarded import after, promoted, watched

VERDICT = {
    "drafter": "dflash",
    "revision": "r1",
    "attempt": 1,
    "outcome": "Promoted",
    "time": "2026-01-01T00:00:00Z",
    "ratio": "1.810",
    "lower": "1.708",
    "upper": "1.917",
    "windows": 30,
    "message": "dflash: 1.810x, promoted",
}
STATUS = {
    "message": "dflash serves at 1.81x of the baseline.",
    "capacity": {"desired": 4, "ready": 3, "borrowed": 0, "lost": 0, "summary": "3/4"},
    "serving": {
        "name": "dflash",
        "revision": "r1",
        "template": "t1",
        "since": "2026-01-01T00:00:00Z",
        "summary": "1.81x [1.71,1.92]",
    },
    "conditions": [
        {
            "type": "Ready",
            "status": "True",
            "reason": "Serving",
            "message": "3 of 4",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ],
    "verdicts": [VERDICT],
}


def stored(status: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "metadata": {"name": "gemma", "namespace": "team"},
        "spec": {"model": "org/target"},
        "status": STATUS if status is None else status,
    }


def drawn(renderable: Any, columns: int = 160) -> str:
    console = Console(width=columns, file=io.StringIO(), color_system=None)
    console.print(renderable)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return str(text)


def test_the_list_has_the_columns_of_kubectl_get() -> None:
    header, row = drawn(listing([stored()])).splitlines()
    assert header.split() == ["NAMESPACE", "NAME", "READY", "SERVING", "TRIAL", "SPEEDUP", "REASON"]
    assert row.split() == ["team", "gemma", "3/4", "dflash", "1.81x", "[1.71,1.92]", "Serving"]


def test_an_object_without_status_is_listed_and_explained_all_the_same() -> None:
    assert "gemma" in drawn(listing([stored({})]))
    assert "nothing is known yet" in drawn(explanation(stored({}), 160))


def test_an_explanation_has_the_sentence_every_verdict_and_its_interval() -> None:
    text = drawn(explanation(stored(), 160))
    assert "dflash serves at 1.81x of the baseline." in text
    assert "1.81x [1.71, 1.92]" in text
    assert "dflash: 1.810x, promoted" in text


def test_an_explanation_says_how_what_serves_stands_with_its_guard() -> None:
    state, alarm, _ = watched(promoted(), after(1.3, 20))
    assert alarm is None
    serving = {**STATUS["serving"], "guard": pack_guard(state)}  # type: ignore[dict-item]
    protected = {
        "type": "Protected",
        "status": "True",
        "reason": "Holdback",
        "message": "compared beside",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    conditions = [*STATUS["conditions"], protected]  # type: ignore[misc]
    text = drawn(explanation(stored({**STATUS, "serving": serving, "conditions": conditions}), 160))
    assert "dflash is at 1.3" in text
    assert "the baseline over the last hour compared; evidence that it is slower: 0." in text
    assert "Protected True: compared beside" in text


def test_a_malformed_status_is_shown_as_far_as_it_can_be_read() -> None:
    text = drawn(explanation(stored({"message": "still here", "verdicts": 7}), 160))
    assert "still here" in text


@pytest.mark.parametrize(
    ("ratio", "lower", "upper", "shown"),
    [
        (None, None, None, "not measured"),
        ("0.360", None, None, "0.36x"),
        ("1.810", "1.708", "1.917", "1.81x [1.71, 1.92]"),
    ],
)
def test_a_figure_says_no_more_than_is_known(
    ratio: str | None, lower: str | None, upper: str | None, shown: str
) -> None:
    assert figure(ratio, lower, upper) == shown


@pytest.mark.parametrize("width", [16, 31, 48])
@pytest.mark.parametrize("ratio", [0.01, 0.25, 0.5, 1.0, 2.0, 4.0, 100.0])
def test_a_bar_keeps_its_width_and_shows_estimate_and_baseline(ratio: float, width: int) -> None:
    bar = interval_bar(width, ratio, ratio * 0.9, ratio * 1.1)
    assert len(bar) == len(axis_labels(width)) == width
    assert bar.count("●") == 1
    assert ("│" in bar) == (ratio != 1.0)


@pytest.mark.parametrize(
    ("width", "marks"), [(16, ["0.25x", "1x", "4x"]), (30, ["0.25x", "0.5x", "1x", "2x", "4x"])]
)
def test_the_marks_of_an_axis_stand_apart(width: int, marks: list[str]) -> None:
    assert axis_labels(width).split() == marks


def test_slower_stands_left_of_the_baseline_and_faster_right_of_it() -> None:
    slow, fast = interval_bar(48, 0.5, None, None), interval_bar(48, 2.0, None, None)
    assert slow.index("●") < slow.index("│")
    assert fast.index("●") > fast.index("│")


LONG = "qwen3-coder-dflash-block-16-n-15"


@pytest.mark.parametrize(
    ("name", "columns", "pictured"),
    [("dflash", 60, True), ("dflash", 50, False), (LONG, 79, False), (LONG, 80, True), (LONG, 240, True)],
)
def test_no_name_and_no_figure_is_cut_off_and_the_picture_takes_what_is_left(
    name: str, columns: int, pictured: bool
) -> None:
    text = drawn(
        explanation(stored({**STATUS, "verdicts": [{**VERDICT, "drafter": name}]}), columns), columns
    )
    row = next(line for line in text.splitlines() if line.startswith(f"{name} ") and "1.81x [" in line)
    assert row.split()[:2] == [name, "Promoted"]
    assert row.endswith("1.81x [1.71, 1.92]")
    assert ("●" in row) == pictured


def test_a_list_wider_than_the_terminal_goes_over_its_edge() -> None:
    raw = stored({**STATUS, "serving": {**STATUS["serving"], "name": LONG}})  # type: ignore[dict-item]
    shown = listing([raw])
    console = console_for(shown, 40)
    assert console.width > 40
    assert LONG in drawn(shown, console.width)


def test_lines_are_drawn_without_the_blanks_at_their_ends(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(box=None)
    table.add_column("A")
    table.add_column("B", style="bold")
    for row in (("a", "long"), ("b", "c")):
        table.add_row(*row)
    put(Console(width=40), table)
    assert capsys.readouterr().out == " A  B\n a  long\n b  c\n"
    put(Console(width=40, force_terminal=True, color_system="standard", no_color=False), table)
    coloured = capsys.readouterr().out
    assert "\x1b[1m" in coloured
    assert re.search(r" (\x1b\[[\d;]*m)*$", coloured, re.MULTILINE) is None
