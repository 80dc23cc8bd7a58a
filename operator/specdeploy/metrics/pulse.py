"""Which engines give no token although somebody waits for one. Pure; kept between the readings of one object.

pods.PodReader reads -> Pulse.feel says which pods to ask for one token -> Pulse.note -> silences.

An engine that hangs goes on answering `/health`, and its gauges are those of its last step: one that was
idle then seems idle for ever, whoever waits for it. So a pod that gave nothing is asked itself while its
object has traffic, or has had it until then. An object that nobody uses is left alone: whoever scales it down
by its traffic would see ours.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from specdeploy.metrics.sample import Sample, ScrapeFailure
from specdeploy.rollout.observation import Silence

Samples = Mapping[str, Sample | ScrapeFailure]


class Reply(StrEnum):
    """What came of asking an engine for one token."""

    TOKEN = "Token"  # noqa: S105 - of a language model
    NOTHING = "Nothing"
    """It took the question and did not answer in time."""
    REFUSED = "Refused"
    """It answered that it does not take it, as behind an API key."""
    UNREACHED = "Unreached"
    """The connection failed, so nothing is known."""


@dataclass(frozen=True, slots=True)
class _Beat:
    """What a process had generated at its last reading; where it was silent then, since which reading: by the
    reader's clock, and in seconds since the epoch."""

    process_start: float | None
    tokens: float
    first: tuple[float, float] | None = None


class Pulse:
    """Of the pods of one object, by uid. Bounded by the pods of the last reading."""

    def __init__(self) -> None:
        self._beats: dict[str, _Beat] = {}
        self._quiet: frozenset[str] = frozenset()
        self._busy = False
        self._refusing: set[str] = set()

    def feel(self, samples: Samples) -> frozenset[str]:
        """Take in a reading; the pods that must be asked before `note` can tell who is silent."""
        was_busy = self._busy
        self._quiet = frozenset(uid for uid, sample in _read(samples) if self._gained(uid, sample) == 0)
        self._busy = any((self._gained(uid, sample) or 0) > 0 for uid, sample in _read(samples))
        self._refusing &= samples.keys()
        doubted = {uid for uid in self._quiet if was_busy or self._busy or self._beats[uid].first}
        seen_idle = {uid for uid, sample in _read(samples) if _held(sample) == 0}
        return frozenset(doubted & seen_idle - self._refusing)

    def note(self, samples: Samples, replies: Mapping[str, Reply], now: float) -> dict[str, Silence]:
        """Who is silent, by uid, after what the pods said that `feel` named. `now`: seconds since the
        epoch."""
        self._refusing |= {uid for uid, reply in replies.items() if reply is Reply.REFUSED}
        beats: dict[str, _Beat] = {}
        silences: dict[str, Silence] = {}
        for uid, answer in samples.items():
            if isinstance(answer, ScrapeFailure):
                beats |= {uid: self._beats[uid]} if uid in self._beats else {}
                continue
            first = self._silent_since(uid, answer, replies.get(uid), now)
            # Our own token is no sign of traffic at the next reading.
            ours = 1.0 if replies.get(uid) is Reply.TOKEN else 0.0
            beats[uid] = _Beat(answer.counters.process_start, _tokens(answer) + ours, first)
            if first is not None:
                held = _held(answer)
                silences[uid] = Silence(held or 1.0, first[1], answer.time - first[0], asked=held == 0)
        self._beats = beats
        return silences

    def _gained(self, uid: str, sample: Sample) -> float | None:
        """Tokens since the reading before; None where that was of no or of another process."""
        before = self._beats.get(uid)
        if before is None or before.process_start != sample.counters.process_start:
            return None
        return _tokens(sample) - before.tokens

    def _silent_since(
        self, uid: str, sample: Sample, reply: Reply | None, now: float
    ) -> tuple[float, float] | None:
        if uid not in self._quiet or not (_held(sample) or reply is Reply.NOTHING):
            return None
        return self._beats[uid].first or (sample.time, now)


def _read(samples: Samples) -> Iterator[tuple[str, Sample]]:
    return ((uid, answer) for uid, answer in samples.items() if isinstance(answer, Sample))


def _tokens(sample: Sample) -> float:
    return math.fsum(engine.generation_tokens for engine in sample.counters.engines.values())


def _held(sample: Sample) -> float:
    """Requests that the pod has taken and not answered, as far as it shows them."""
    engines = sample.counters.engines.values()
    return math.fsum(
        (engine.requests_running or 0.0) + (engine.requests_waiting or 0.0) for engine in engines
    )
