"""Properties of the engines that a drafter may shrink: the room of the KV cache and the longest context."""

from __future__ import annotations

from typing import NamedTuple

WINDOWS_TO_BELIEVE = 2


class Standing(NamedTuple):
    """The newest values of both arms, and the windows in a row that told just these. 0: never told."""

    trial: float = 0.0
    baseline: float = 0.0
    windows: int = 0

    def add(self, trial: float | None, baseline: float | None) -> Standing:
        """One window's values; unchanged where an arm did not tell its own, or told 0."""
        if not trial or not baseline:
            return self
        same = trial == self.trial and baseline == self.baseline
        return Standing(trial, baseline, self.windows + 1 if same else 1)

    @property
    def sound(self) -> bool:
        """Can these numbers have come from windows?"""
        return min(self) >= 0 and (self.windows == 0 or self.baseline > 0)

    def below(self, fraction: float) -> bool:
        """Has the trial less than this fraction of the baseline's? One window alone is not believed."""
        return self.windows >= WINDOWS_TO_BELIEVE and self.trial < fraction * self.baseline
