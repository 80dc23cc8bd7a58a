"""A whole recorded file, judged line by line: the entry point of replay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from specdeploy.judge import Settings
from specdeploy.replay.lines import BrokenLine, parse, read_lines
from specdeploy.replay.trials import Ended, Trials


class Refused(NamedTuple):
    """A broken line: its number from 1, and why."""

    line: int
    reason: str


def judge_stream(stream: BinaryIO, settings: Settings) -> Iterator[Ended | Refused]:
    """Judges JSON Lines: each trial's end as soon as it is decided, each broken line where it stands.

    Trials without a verdict after the last line follow in the order of their first lines. Nothing is
    remembered between trials.
    """
    trials = Trials(settings)
    for number, raw in read_lines(stream):
        try:
            ended = trials.take(parse(raw))
        except BrokenLine as error:
            yield Refused(number, str(error))
            continue
        if ended is not None:
            yield ended
    yield from trials.end()
