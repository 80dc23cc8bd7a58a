"""Reads `arguments.txt`: arms of specs, one a line, for `cases`."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("arguments.txt")


@dataclass(frozen=True)
class Line:
    """One arm. `text`: the line itself; `drafter`: keys of a drafter, without its name."""

    text: str
    model: str
    gpus: int
    variables: tuple[tuple[str, str], ...]
    gpu: str | None
    drafter: dict[str, Any] | None
    arguments: tuple[str, ...]


def lines() -> tuple[Line, ...]:
    """All of them, in order."""
    written = FILE.read_text(encoding="utf-8").splitlines()
    return tuple(_line(text) for text in written if text and not text.startswith("#"))


def _line(text: str) -> Line:
    model, gpus, *words = shlex.split(text)
    variables: list[tuple[str, str]] = []
    gpu, drafter = None, None
    while words and not words[0].startswith("-"):
        word = words.pop(0)
        if word.startswith("@"):
            gpu = word[1:]
        elif word.startswith("!"):
            drafter = json.loads(word[1:])
        else:
            name, _, value = word.partition("=")
            variables.append((name, value))
    return Line(text, model, int(gpus), tuple(variables), gpu, drafter, tuple(words))
