"""Tokens that were counted and that nobody got.

Beside the running comparison. vLLM counts tokens before it finds a stop string in them and trims the text; an
arm that speculates has several such tokens a request and would look faster by them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from specdeploy.judge.arm import Arm

TOLERANCE = 0.005
LIVE_LENGTH = 2.0
LARGEST_SHARE = 0.5


class Tokens(NamedTuple):
    """One arm over the trial: tokens `generated` and decoded, tokens and number of the requests that
    finished, and the requests alive at the end of the last window."""

    generated: float = 0.0
    decoded: float = 0.0
    finished_tokens: float = 0.0
    finished: float = 0.0
    alive: float = 0.0

    def add(self, arm: Arm) -> Tokens:
        """Leaves out a window in which the arm did not tell what finished."""
        more = arm.more
        if more is None or more.finished_tokens is None or more.finished_requests is None:
            return self
        return Tokens(
            self.generated + more.generation_tokens,
            self.decoded + arm.decode_tokens,
            self.finished_tokens + more.finished_tokens,
            self.finished + more.finished_requests,
            more.alive,
        )

    @property
    def lost_share(self) -> float:
        """The share of the generated tokens that no finished request got and none alive can hold.

        Requests alive may hold up to twice a mean request's tokens each; those alive at the start only hide a
        loss.
        """
        if self.generated <= 0 or self.finished <= 0:
            return 0.0
        held = LIVE_LENGTH * self.alive * self.finished_tokens / self.finished
        return max(0.0, self.generated - self.finished_tokens - held) / self.generated


class Surplus(NamedTuple):
    trial: Tokens = Tokens()
    baseline: Tokens = Tokens()

    def add(self, trial: Arm, baseline: Arm) -> Surplus:
        if trial.more is None or baseline.more is None:
            return self
        return Surplus(self.trial.add(trial), self.baseline.add(baseline))

    @property
    def log_share(self) -> float:
        """The log of the share of the trial's decode tokens that users got; 0 if it is all but 0.5 %.

        The baseline trims no more than a token a request: what it loses are requests that clients gave up,
        which the engine leaves out of the finished ones on every arm alike.
        """
        if not self.trial.generated:
            return 0.0
        lost = self.trial.lost_share - self.baseline.lost_share
        if lost <= TOLERANCE or self.trial.decoded <= 0:
            return 0.0
        return math.log1p(-min(LARGEST_SHARE, lost * self.trial.generated / self.trial.decoded))
