"""A whole recorded file, judged line by line: the entry point of replay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from specdeploy.judge import Settings
from specdeploy.replay.lines import BrokenLine, parse, read_lines, unknown_keys
from specdeploy.replay.trials import Ended, Trials


class Refused(NamedTuple):
    """A broken line: its number from 1, and why."""

    line: int
    reason: str


class UnknownKey(NamedTuple):
    """A key of a pod that nobody knows, at the first line that has it. The line is judged without it."""

    line: int
    key: str


MOST_KEYS = 100
"""Unknown keys that are named; a file with more of them has other troubles."""
_LONGEST_KEY = 100


def judge_stream(stream: BinaryIO, settings: Settings) -> Iterator[Ended | Refused | UnknownKey]:
    """Judges JSON Lines: each trial's end as soon as it is decided, each broken line where it stands, and
    each unknown key of a pod once.

    Trials without a verdict after the last line follow in the order of their first lines. Nothing is
    remembered between trials.
    """
    trials, named = Trials(settings), set[str]()
    for number, raw in read_lines(stream):
        try:
            line = parse(raw)
            ended = trials.take(line)
        except BrokenLine as error:
            yield Refused(number, str(error))
            continue
        if not line.all_known and len(named) < MOST_KEYS:
            yield from _named(number, raw, named)
        if ended is not None:
            yield ended
    yield from trials.end()


def _named(number: int, raw: bytes, named: set[str]) -> Iterator[UnknownKey]:
    """The unknown keys of a line that are not among `named`, which they join."""
    for key in sorted({key[:_LONGEST_KEY] for key in unknown_keys(raw)} - named):
        if len(named) < MOST_KEYS:
            named.add(key)
            yield UnknownKey(number, key)
