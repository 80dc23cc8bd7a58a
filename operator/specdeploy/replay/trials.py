"""All trials of a file, told apart by name, within bounds.

Between recording and report. Lines of different trials may be mixed in any way. Memory is needed for each
trial without a verdict (its state, some KB) and for the name of each trial that has one, no more; both are
bounded, and a line that would break a bound is refused like a broken one: to drop an open trial instead would
give it a wrong verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from specdeploy.judge import Settings, Verdict
from specdeploy.replay.lines import BrokenLine, Line
from specdeploy.replay.recording import Recording, Rules

MOST_OPEN = 50_000
MOST_TRIALS = 1_000_000


class Ended(NamedTuple):
    """A trial's name, the `window` value of the line at which it was decided, and the verdict."""

    trial: str
    window: int
    verdict: Verdict


class Trials:
    """The trials under way. Lines that come after their trial's verdict change nothing."""

    def __init__(
        self, settings: Settings, *, most_open: int = MOST_OPEN, most_trials: int = MOST_TRIALS
    ) -> None:
        self._rules = Rules(replace(settings, compare_serving=False), replace(settings, compare_serving=True))
        self._most_open = most_open
        self._most_trials = most_trials
        self._open: dict[str, Recording] = {}
        self._decided: set[str] = set()

    def take(self, line: Line) -> Ended | None:
        """Judges one line; gives the end of its trial, if it ends with it. Raises BrokenLine."""
        if line.trial in self._decided:
            return None
        window = line.window(self._rules.alone.window_seconds)
        recording = self._open.get(line.trial) or self._add(line.trial)
        before = recording.last
        verdict = recording.take(window)
        if window.index <= before:
            raise BrokenLine(
                f"window {window.index} of trial {line.trial!r} is not after its window {before}"
            )
        if verdict is None:
            return None
        del self._open[line.trial]
        self._decided.add(line.trial)
        return Ended(line.trial, window.index, verdict)

    def end(self) -> Iterator[Ended]:
        """After the last line: the trials without a verdict, in the order of their first lines."""
        for name, recording in self._open.items():
            yield Ended(name, recording.last, recording.end())
        self._open.clear()

    def _add(self, name: str) -> Recording:
        if len(self._open) >= self._most_open:
            raise BrokenLine(f"trial {name!r} would be one more than {self._most_open} without a verdict")
        if len(self._open) + len(self._decided) >= self._most_trials:
            raise BrokenLine(f"trial {name!r} would be one more than {self._most_trials}")
        recording = self._open[name] = Recording(self._rules)
        return recording
