"""Which engines stand still although somebody waits for them. Pure; kept between the readings of one object.

pods.PodReader reads -> Pulse.feel -> silences, and the pods to ask for one token until the next reading.

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
from specdeploy.rollout.observation import Silence

QUIET_SECONDS = 30.0
"""A pod is asked once nothing has moved for so long."""


class Reply(StrEnum):
    """What came of asking an engine for one token."""

    TOKEN = "Token"  # noqa: S105 - of a language model
    OPEN = "Open"
    """No answer yet."""
    NOTHING = "Nothing"
    """No answer in the longest time that a question is left open."""
    REFUSED = "Refused"
    """It answered that it does not take it, as behind an API key."""
    UNREACHED = "Unreached"
    """The connection failed, or something before the engine did, so nothing is known."""


class Moment(NamedTuple):
    """An instant by the reader's clock, and in seconds since the epoch."""

    clock: float
    epoch: float


class Felt(NamedTuple):
    """Who is silent, by uid, and who must be asked."""

    silences: Mapping[str, Silence]
    ask: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Beat:
    """A process at its last reading (`read`). `moved`: when its counters were last seen to differ. `owes`: it
    must be asked once it is quiet; `asked`: when it was, without an answer yet; `refuses`: it takes no
    questions. `first`: since when it is silent."""

    counters: Counters
    read: Moment
    moved: Moment
    owes: bool = True
    asked: Moment | None = None
    refuses: bool = False
    first: Moment | None = None

    @property
    def due(self) -> bool:
        """Whether it must be asked now."""
        quiet = self.read.clock - self.moved.clock >= QUIET_SECONDS
        return quiet and self.owes and self.asked is None and not self.refuses

    @property
    def silence(self) -> Silence | None:
        if self.first is None:
            return None
        return Silence(self.first.epoch, self.read.clock - self.first.clock, asked=not self.refuses)


class Pulse:
    """Of the pods of one object, by uid. Bounded by the pods of the last reading."""

    def __init__(self) -> None:
        self._beats: dict[str, _Beat] = {}

    def feel(
        self, samples: Mapping[str, Sample | ScrapeFailure], replies: Mapping[str, Reply], now: float
    ) -> Felt:
        """Take in a reading, and what has come of the questions since the one before. `now`: seconds since
        the epoch. A pod that could not be read stays as it was."""
        read = {uid: answer for uid, answer in samples.items() if isinstance(answer, Sample)}
        known = {uid: beat for uid, beat in self._beats.items() if uid in samples}
        busy = any(_gained(known.get(uid), sample, replies.get(uid)) > 0 for uid, sample in read.items())
        beats = known | {
            uid: _beat(known.get(uid), sample, replies.get(uid), Moment(sample.time, now), busy=busy)
            for uid, sample in read.items()
        }
        ask = frozenset(uid for uid in read if beats[uid].due)
        self._beats = {
            uid: replace(beat, asked=beat.read) if uid in ask else beat for uid, beat in beats.items()
        }
        return Felt({uid: found for uid, beat in beats.items() if (found := beat.silence) is not None}, ask)


def _beat(before: _Beat | None, sample: Sample, reply: Reply | None, read: Moment, *, busy: bool) -> _Beat:
    fresh = _Beat(sample.counters, read, moved=read)
    if before is None or before.counters.process_start != sample.counters.process_start:
        return fresh
    refuses = before.refuses or reply is Reply.REFUSED
    owes = busy or (before.owes and reply is not Reply.TOKEN)
    if before.counters.engines != sample.counters.engines or reply is Reply.TOKEN:
        return replace(fresh, owes=owes, refuses=refuses)
    beat = replace(before, counters=sample.counters, read=read, owes=owes, refuses=refuses)
    asked = before.asked if reply is Reply.OPEN else None
    return replace(beat, asked=asked, first=_silent_since(before, beat, reply))


def _silent_since(before: _Beat, beat: _Beat, reply: Reply | None) -> Moment | None:
    """Since a question that it has not answered; where it takes none, since the first of two readings with
    requests in it. Nothing has moved in between."""
    if beat.refuses:
        return (before.first or before.read) if _held(before) and _held(beat) else None
    if reply in (Reply.OPEN, Reply.NOTHING):
        return before.first or before.asked
    return before.first


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
