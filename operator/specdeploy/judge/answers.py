"""What an engine answered to fixed questions: read from its log, kept as a short text in the status.

The startup probe writes one line for each question; an engine's own lines stand before, between and after.
read() -> Answers -> guards.agreement; pack() and unpack() for the status.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from specdeploy.api.answer_line import LONGEST_LINE, LONGEST_PIECE, MARKER

MOST_TOKENS = 64
LARGEST_GAP = 9.0

_LONGEST_PACKED = 2048
_LONGEST_UNPACKED = 64 * 1024
_FIRST = ord("!")
_SEPARATOR = "\x1f"


class Answer(NamedTuple):
    """One greedy answer: its tokens as text, cut short, and for each how much more likely it was than the
    second choice, as a difference of log probabilities in steps of 0.1 from 0 to 9 (0: unknown, too)."""

    tokens: tuple[str, ...]
    gaps: tuple[float, ...]


Answers = Mapping[str, Answer]
"""By the short name of the question."""


def read(log: str, question_set: str) -> Answers:
    """The answers to the questions of this set in a log; the last one where a question was asked again. What
    can't be read is left out. Never raises."""
    found: dict[str, Answer] = {}
    for line in log.splitlines():
        _, marker, text = line.partition(MARKER)
        if marker and len(text) <= LONGEST_LINE:
            found.update(_parsed(text, question_set))
    return found


def _parsed(text: str, question_set: str) -> Answers:
    try:
        record: Any = json.loads(text)
        if record["set"] != question_set:
            return {}
        return {_text(record["question"]): _answer(record["tokens"], record["gaps"])}
    except (ValueError, TypeError, LookupError, RecursionError):
        return {}


def _answer(tokens: Any, gaps: Any) -> Answer:
    """Raises ValueError or TypeError for what is no answer."""
    if not isinstance(tokens, list) or not isinstance(gaps, list) or not 0 < len(tokens) <= MOST_TOKENS:
        raise ValueError("no list of tokens")
    if len(tokens) != len(gaps):
        raise ValueError("as many gaps as tokens are needed")
    return Answer(tuple(_text(token) for token in tokens), tuple(_gap(gap) for gap in gaps))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    whole = value.encode(errors="replace").decode()  # half a pair of surrogates can't be stored
    return whole.replace(_SEPARATOR, " ")[:LONGEST_PIECE]


def _gap(value: Any) -> float:
    """A number that is none (NaN) says nothing, as 0 does."""
    number = float(value)
    return round(min(number, LARGEST_GAP), 1) if number > 0 else 0.0


def pack(answers: Answers, question_set: str) -> str:
    """ASCII text of at most 2048 characters: as many questions, in their order, as have room."""
    kept = dict(answers)
    while len(text := _packed(kept, question_set)) > _LONGEST_PACKED:
        kept.popitem()
    return text


def _packed(answers: Answers, question_set: str) -> str:
    body = {
        name: [_SEPARATOR.join(a.tokens), "".join(chr(_FIRST + round(10 * gap)) for gap in a.gaps)]
        for name, a in answers.items()
    }
    raw = json.dumps([question_set, body], separators=(",", ":"), ensure_ascii=False).encode()
    return base64.b64encode(zlib.compress(raw, 9)).decode("ascii")


@lru_cache(maxsize=64)  # a pass asks several times for the same text
def unpack(text: str | None, question_set: str) -> Answers:
    """What pack() gave; empty for another set of questions, and for anything that is no packed text."""
    try:
        squeezed = base64.b64decode(text or "", validate=True)
        raw = zlib.decompressobj().decompress(squeezed, _LONGEST_UNPACKED)
        found, body = json.loads(raw)
        if found != question_set:
            return {}
        return {
            _text(name): _answer(tokens.split(_SEPARATOR), [(ord(c) - _FIRST) / 10 for c in gaps])
            for name, (tokens, gaps) in body.items()
        }
    except (binascii.Error, zlib.error, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return {}
