"""Which engines stand still although somebody waits for them. Pure; kept between the readings of one object.

pods.PodReader reads -> Pulse.feel -> a sign of each pod, and those to ask for a token until the next reading.

An engine that hangs goes on answering `/health`, and its gauges are those of its last step: one that was
idle then seems idle for ever, whoever waits for it; one whose last client has left may seem busy. So a pod in
which nothing moves is asked itself: after it was first seen, and after each time its object had traffic. One
that nobody uses is left alone: whoever scales it down by its traffic would see ours.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from specdeploy.metrics.counters import Counters
from specdeploy.metrics.sample import Sample, ScrapeFailure
from specdeploy.rollout.observation import Sign, Silence

QUIET_SECONDS = 30.0
"""A pod is asked once nothing has moved for so long."""
FIRST_SECONDS = 60.0


class Reply(StrEnum):
    """What came of asking an engine for one token."""

    TOKEN = "Token"  # noqa: S105 - of a language model
    OPEN = "Open"
    """No answer yet."""
    NOTHING = "Nothing"
    """No answer in the longest time that a question is left open."""
    REFUSED = "Refused"
    """It answered that it does not take it, as behind an API key."""
    FAILED = "Failed"
    """It answered with an error, so it does not stand still, whatever else is wrong."""
    UNREACHED = "Unreached"
    """The connection failed, so nothing is known."""


class Moment(NamedTuple):
    """An instant by the reader's clock, and in seconds since the epoch."""

    clock: float
    epoch: float


Key = tuple[str, int]
"""The uid of a pod, and the restarts of its engine: another process is another pulse."""


class Felt(NamedTuple):
    """How each pod is, and who must be asked."""

    signs: Mapping[Key, Sign]
    ask: frozenset[Key]


@dataclass(frozen=True, slots=True)
class _Beat:
    """A process at its last reading (`read`). `moved`: when its counters were last seen to differ. `owes`: it
    must be asked once it is quiet; `asked`: when it was, without an answer yet; `refuses`: it takes no
    questions. `first`: since when it is silent; `confirmed`: at an earlier reading, too. `fresh`: it was read
    for the first time."""

    counters: Counters
    read: Moment
    moved: Moment
    owes: bool = True
    asked: Moment | None = None
    refuses: bool = False
    first: Moment | None = None
    confirmed: bool = False
    fresh: bool = False

    @property
    def due(self) -> bool:
        """Whether it must be asked now."""
        quiet = self.read.clock - self.moved.clock >= QUIET_SECONDS
        return quiet and self.owes and self.asked is None and not self.refuses

    @property
    def sign(self) -> Sign:
        """What is seen for the first time is believed for a minute, however long ago the last reading is."""
        quiet = self.read.clock - self.moved.clock
        moves = quiet == 0 and not self.fresh
        if self.first is None:
            return Sign(quiet, moves)
        seconds = self.read.clock - self.first.clock
        if not self.confirmed:
            seconds = min(seconds, FIRST_SECONDS)
        return Sign(quiet, moves, Silence(self.first.epoch, seconds, asked=not self.refuses))


class Pulse:
    """Of the pods of one object. Bounded by the pods of the last reading."""

    def __init__(self) -> None:
        self._beats: dict[Key, _Beat] = {}

    def feel(
        self, samples: Mapping[Key, Sample | ScrapeFailure], replies: Mapping[Key, Reply], now: float
    ) -> Felt:
        """Take in a reading, and what has come of the questions since the one before. `now`: seconds since
        the epoch. A pod that could not be read stays as it was."""
        read = {key: answer for key, answer in samples.items() if isinstance(answer, Sample)}
        known = {key: beat for key, beat in self._beats.items() if key in samples}
        busy = any(_gained(known.get(key), sample, replies.get(key)) > 0 for key, sample in read.items())
        beats = known | {
            key: _beat(known.get(key), sample, replies.get(key), Moment(sample.time, now), busy=busy)
            for key, sample in read.items()
        }
        ask = frozenset(key for key in read if beats[key].due)
        self._beats = {
            key: replace(beat, asked=beat.read) if key in ask else beat for key, beat in beats.items()
        }
        return Felt({key: beat.sign for key, beat in beats.items()}, ask)


def _beat(before: _Beat | None, sample: Sample, reply: Reply | None, read: Moment, *, busy: bool) -> _Beat:
    if before is None or before.counters.process_start != sample.counters.process_start:
        return _Beat(sample.counters, read, moved=read, fresh=True)
    refuses = before.refuses or reply is Reply.REFUSED
    owes = busy or (before.owes and reply is not Reply.TOKEN)
    if before.counters.engines != sample.counters.engines or reply is Reply.TOKEN:
        return _Beat(sample.counters, read, moved=read, owes=owes, refuses=refuses)
    beat = replace(before, counters=sample.counters, read=read, owes=owes, refuses=refuses, fresh=False)
    asked = before.asked if reply is Reply.OPEN else None
    first = _silent_since(before, beat, reply)
    confirmed = first is not None and before.first is not None
    return replace(beat, asked=asked, first=first, confirmed=confirmed)


def _silent_since(before: _Beat, beat: _Beat, reply: Reply | None) -> Moment | None:
    """Since a question that it has not answered; where it takes none, since the first of two readings with
    requests in it. Nothing has moved in between."""
    if beat.refuses:
        return (before.first or before.read) if _held(before) and _held(beat) else None
    if reply in (Reply.OPEN, Reply.NOTHING):
        return before.first or before.asked
    return None if reply is Reply.FAILED else before.first


def _gained(before: _Beat | None, sample: Sample, reply: Reply | None) -> float:
    """Tokens for others since the reading before; 0 where that was of no or of another process."""
    if before is None or before.counters.process_start != sample.counters.process_start:
        return 0.0
    ours = 1.0 if reply is Reply.TOKEN else 0.0
    return _tokens(sample.counters) - _tokens(before.counters) - ours


def _tokens(counters: Counters) -> float:
    return math.fsum(engine.generation_tokens for engine in counters.engines.values())


def _held(beat: _Beat) -> float:
    """Requests that the pod shows."""
    engines = beat.counters.engines.values()
    return math.fsum(
        (engine.requests_running or 0.0) + (engine.requests_waiting or 0.0) for engine in engines
    )
