"""An engine's answers: read from its log, whatever else stands there, and kept as a short text."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdeploy.api.answer_line import LONGEST_PIECE, MARKER
from specdeploy.judge.answers import MOST_TOKENS, Answer, pack, read, unpack

SET = "set-1"
ONE = Answer((" eight", ","), (5.0, 9.0))


def line(question: str = "count", **changes: Any) -> str:
    record = {"set": SET, "question": question, "tokens": [" eight", ","], "gaps": [5.0, 12.3], **changes}
    return MARKER + json.dumps(record)


@pytest.mark.parametrize(
    ("log", "found"),
    [
        ("", {}),
        ("INFO the engine is ready\n", {}),
        (line(), {"count": ONE}),
        (f"INFO started\n{line()}\nINFO 127.0.0.1 POST\n", {"count": ONE}),
        (f"Loading: 100%|####| {line()}\n", {"count": ONE}),
        (f"{line()}\n{line('json')}", {"count": ONE, "json": ONE}),
        (f"{line(tokens=['a', 'b'])}\n{line()}", {"count": ONE}),
        (line(gaps=[float("nan"), -1]), {"count": ONE._replace(gaps=(0.0, 0.0))}),
        (line(gaps=[0.04, 2.26]), {"count": ONE._replace(gaps=(0.0, 2.3))}),
        (line(tokens=["x" * 99, "a\x1fb"]), {"count": ONE._replace(tokens=("x" * LONGEST_PIECE, "a b"))}),
        (line(tokens=["\ud83d", "b"]), {"count": ONE._replace(tokens=("?", "b"))}),
    ],
)
def test_answers_are_found_among_an_engines_own_lines(log: str, found: dict[str, Answer]) -> None:
    assert read(log, SET) == found


@pytest.mark.parametrize(
    "bad",
    [
        line(set="set-2"),
        line()[:-5],
        MARKER,
        f"{MARKER}[]",
        f"{MARKER}null",
        f"{MARKER}{'[' * 4000}",
        f"{MARKER}{{}}",
        line(question=1),
        line(tokens=[], gaps=[]),
        line(tokens="ab"),
        line(tokens=["a"]),
        line(tokens=[1, 2]),
        line(gaps=["x", "y"]),
        line(gaps=[None, None]),
        line(tokens=["a"] * (MOST_TOKENS + 1), gaps=[1] * (MOST_TOKENS + 1)),
        line(tokens=["a" * 5000, "b"]),
    ],
)
def test_what_is_no_answer_is_left_out_and_the_others_are_kept(bad: str) -> None:
    assert read(f"{bad}\n{line('json')}\n", SET) == {"json": ONE}


@given(st.text())
def test_no_log_is_too_strange_to_be_read(log: str) -> None:
    assert read(log, SET) == {}
    assert read(MARKER + log, SET) == {}


def answers(questions: int, tokens: int, piece: int) -> dict[str, Answer]:
    rng = random.Random(7)

    def text() -> str:
        return "".join(chr(rng.randrange(0x4E00, 0x9FFF)) for _ in range(piece))

    def gap() -> float:
        return round(9 * rng.random(), 1)

    return {
        f"q{n}": Answer(tuple(text() for _ in range(tokens)), tuple(gap() for _ in range(tokens)))
        for n in range(questions)
    }


def test_answers_come_back_as_they_were() -> None:
    found = {"count": ONE, **answers(6, 32, 1)}
    text = pack(found, SET)
    assert text.isascii()
    assert unpack(text, SET) == found
    assert list(unpack(text, SET)) == list(found)


def test_the_text_is_short_and_holds_whole_questions_only() -> None:
    found = answers(7, MOST_TOKENS, LONGEST_PIECE)
    text = pack(found, SET)
    assert len(text) <= 2048
    assert unpack(text, SET).items() <= found.items()
    assert pack({}, SET)


@pytest.mark.parametrize(
    "text", [None, "", "not base64!", "YWJj", pack({"count": ONE}, "set-2"), pack({"count": ONE}, SET)[:-24]]
)
def test_answers_to_other_questions_and_broken_texts_are_none(text: str | None) -> None:
    assert unpack(text, SET) == {}


@given(st.text() | st.binary().map(lambda raw: raw.hex()))
def test_no_stored_text_is_too_strange(text: str) -> None:
    assert unpack(text, SET) == {}
