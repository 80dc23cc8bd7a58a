"""One recorded trial: its lines in time order, given to the judge as the operator would.

Between lines and trials. A trial begins with the first line that has both a baseline and a trial arm. Lines
before it that have only a baseline are the history which the judge learns from; the others are windows
without data.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from specdeploy.judge import (
    BASELINE,
    SERVING,
    TRIAL,
    Settings,
    TrialState,
    Verdict,
    Window,
    expire,
    missing,
    observe,
    start,
)
from specdeploy.judge.history import History, learn, remember
from specdeploy.replay.ending import Unpaired, cut_short, never_began


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings of a trial on its own, and of one beside a drafter that serves."""

    alone: Settings
    beside: Settings


@dataclass(slots=True)
class Recording:
    """A trial under way. `last` is the newest window's number, -1 before the first; `unpaired` counts the
    lines before the trial began; `state` is None until it begins.

    A trial is compared with what serves from the first line on that has a serving arm; from then on, that arm
    absent is a window without data.
    """

    rules: Rules
    last: int = -1
    serving: bool = False
    unpaired: Unpaired = field(default_factory=Unpaired)
    history: History = field(default_factory=History)
    state: TrialState | None = None

    @property
    def settings(self) -> Settings:
        return self.rules.beside if self.serving else self.rules.alone

    def take(self, window: Window) -> Verdict | None:
        """Takes in one window; gives the verdict, if the trial ends with it.

        One that does not come after the last one is counted by the judge, and changes nothing else.
        """
        self.serving = self.serving or SERVING in window.arms
        if self.state is None:
            if window.index <= self.last:
                return None
            if TRIAL not in window.arms or BASELINE not in window.arms:
                self._wait(window)
                return None
            self.state = self._begun(window.index)
        if window.index <= self.last:  # in a file no clock goes back: the judge is not to count on from there
            window = replace(window, index=self.last)
        self.last = window.index
        self.state, verdict = observe(self.state, window, self.settings)
        return verdict

    def end(self) -> Verdict:
        """The verdict when there are no more lines, and the deadline has not come."""
        if self.state is None:
            return never_began(expire(self._begun(self.last + 1), self.settings), self.unpaired)
        return cut_short(expire(self.state, self.settings), self.settings, missing(self.state, self.settings))

    def _wait(self, window: Window) -> None:
        self.last = window.index
        self.unpaired.count(window)
        if BASELINE in window.arms:
            self.history = remember(self.history, window, self.settings)

    def _begun(self, index: int) -> TrialState:
        """The trial at its start, before window `index`, with what was learned and with the gaps so far.

        The judge only counts a window without data, so the gaps may stand directly before the trial.
        """
        settings = self.settings
        state = start(settings, learn(self.history, settings))
        for gap in range(index - self.unpaired.gaps, index):
            state, _ = observe(state, Window(gap, settings.window_seconds, {}), settings)
        return state
