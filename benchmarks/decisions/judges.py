"""This judge in the place of a rule: by its functions, and out of recorded files through replay."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from inspect import signature
from typing import BinaryIO

from benchmarks.decisions.rules import Decision
from benchmarks.decisions.streams import SECONDS
from specdeploy.judge import Outcome, PodWindow, Settings, Verdict, Window, expire, observe, start
from specdeploy.judge.history import History, learn
from specdeploy.replay import Ended, judge_stream

WINDOWS = 240
SETTINGS = Settings(window_seconds=SECONDS, pod_sd=0.0, deadline_seconds=WINDOWS * SECONDS)
SHIPPED = Settings(window_seconds=SECONDS, deadline_seconds=WINDOWS * SECONDS)

_DECISIONS = {
    Outcome.PROMOTED: Decision.PROMOTED,
    Outcome.SLOWER: Decision.ROLLED_BACK,
    Outcome.DISASTER: Decision.ROLLED_BACK,
    Outcome.GUARDED: Decision.ROLLED_BACK,
    Outcome.NOT_WORTH_IT: Decision.NOT_WORTH_IT,
}
_POD_FIELDS = tuple(signature(PodWindow).parameters)


class ThisJudge:
    """A trial of the judge as a rule, after what the baseline's history taught."""

    def __init__(self, settings: Settings, history: History) -> None:
        self._settings = settings
        self._state = start(settings, learn(history, settings))

    def look(self, window: Window) -> Decision | None:
        self._state, verdict = observe(self._state, window, self._settings)
        return None if verdict is None else decision_of(verdict)

    def end(self) -> Decision:
        return decision_of(expire(self._state, self._settings))


def decision_of(verdict: Verdict) -> Decision:
    """The judge's outcome in the words of the table; what is not decided goes back to the baseline."""
    return _DECISIONS.get(verdict.outcome, Decision.UNDECIDED)


def as_line(trial: str, window: Window) -> bytes:
    """A window as a line of a recorded file."""
    arms = {
        name: [
            {key: value for key in _POD_FIELDS if (value := getattr(pod, key)) is not None} for pod in pods
        ]
        for name, pods in window.arms.items()
    }
    return json.dumps({"trial": trial, "window": window.index, "arms": arms}).encode() + b"\n"


def record(file: BinaryIO, trials: Iterable[tuple[str, Iterable[Window]]]) -> None:
    """Writes all windows of all trials, one trial after the other."""
    for name, windows in trials:
        for window in windows:
            file.write(as_line(name, window))


def replayed(file: BinaryIO, settings: Settings) -> Iterator[Ended]:
    """Judges a recorded file as `specdeploy replay` does. Raises ValueError for a line that was not
    recorded by `record`."""
    for found in judge_stream(file, settings):
        if not isinstance(found, Ended):
            raise ValueError(f"not a line as it was recorded: {found}")
        yield found
