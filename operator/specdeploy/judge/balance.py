"""Do two arms carry the same load and the same kind of requests? Cumulative over the trial.

Beside the running comparison. Only what a drafter can't cause counts: a faster arm with clients pinned to it
gets more requests, an arm that slows down holds more of them, and neither is an excuse. Both at once, in the
same direction, is a routing fault.
"""

from __future__ import annotations

import math
from math import log
from typing import NamedTuple

from specdeploy.judge.arm import Arm, Extras
from specdeploy.judge.noise import bounded
from specdeploy.judge.window import Reason

TOLERANCE = 0.10
ERRORS = 2.0
MIX_WINDOWS = 10
FINISHED_SHARE = 0.9
UNKNOWN = -1.0


class Load(NamedTuple):
    """Sums over windows of the log ratios (trial to the other arm) of `arrivals` per pod-second and of mean
    `batch`. `poisson` sums the variance that arrivals have anyway; the waiting requests are those of the last
    window, -1 if unknown."""

    n: int = 0
    arrivals: float = 0.0
    arrivals_squares: float = 0.0
    batch: float = 0.0
    batch_squares: float = 0.0
    poisson: float = 0.0
    trial_waiting: float = UNKNOWN
    other_waiting: float = UNKNOWN

    def add(self, trial: Arm, other: Arm) -> Load:
        n, arrivals, arrivals_squares, batch, batch_squares, poisson, trial_waiting, other_waiting = self
        came = _arrivals(trial, trial_waiting)
        came_other = _arrivals(other, other_waiting)
        ratio = bounded(log(came * other.seconds / (came_other * trial.seconds)))
        held = bounded(trial.log_batch - other.log_batch)
        return Load(
            n + 1,
            arrivals + ratio,
            arrivals_squares + ratio * ratio,
            batch + held,
            batch_squares + held * held,
            poisson + 1 / came + 1 / came_other,
            UNKNOWN if trial.waiting is None else trial.waiting * trial.pods,
            UNKNOWN if other.waiting is None else other.waiting * other.pods,
        )

    def mismatched(self, phi: float) -> bool:
        """Both off by more than 10 % in the same direction, beyond 2 standard errors; `phi` is the
        autocorrelation of windows."""
        n, arrivals, arrivals_squares, batch, batch_squares, poisson, _, _ = self
        far = TOLERANCE * n
        if not n or -far <= arrivals <= far or -far <= batch <= far or arrivals * batch < 0:
            return False
        independent = (1 - phi) / (1 + phi)
        poisson /= independent
        return _off(n, arrivals, arrivals_squares, independent, poisson) and _off(
            n, batch, batch_squares, independent, poisson
        )


class Mix(NamedTuple):
    """Sums over `n` windows of the log ratios (trial to the other arm) of prompt tokens a request and of the
    tokens that finished requests had `asked` for at most; first tokens and finished requests of both."""

    n: int = 0
    prompts: float = 0.0
    prompts_squares: float = 0.0
    asking: int = 0
    asked: float = 0.0
    asked_squares: float = 0.0
    trial_first: float = 0.0
    trial_finished: float = 0.0
    other_first: float = 0.0
    other_finished: float = 0.0

    def add(self, trial: Arm, other: Arm) -> Mix:
        """Leaves out what an arm did not tell."""
        if trial.more is None or other.more is None:
            return self
        prompts = _ratio(_prompt_length(trial), _prompt_length(other))
        asked = _ratio(_asked(trial.more), _asked(other.more))
        p, a = prompts or 0.0, asked or 0.0
        return Mix(
            self.n + (prompts is not None),
            self.prompts + p,
            self.prompts_squares + p * p,
            self.asking + (asked is not None),
            self.asked + a,
            self.asked_squares + a * a,
            self.trial_first + trial.first_tokens,
            self.trial_finished + (trial.more.finished_requests or 0.0),
            self.other_first + other.first_tokens,
            self.other_finished + (other.more.finished_requests or 0.0),
        )

    def mismatched(self, phi: float) -> bool:
        """Prompts or requested max_tokens off by more than 10 %, beyond 2 standard errors."""
        independent = (1 - phi) / (1 + phi)
        if self.n >= MIX_WINDOWS and _off(self.n, self.prompts, self.prompts_squares, independent, 0.0):
            return True
        # A slow arm has finished only its short requests yet: then what finished is no picture of the mix.
        all_finished = (
            self.trial_finished >= FINISHED_SHARE * self.trial_first
            and self.other_finished >= FINISHED_SHARE * self.other_first
        )
        return (
            all_finished
            and self.asking >= MIX_WINDOWS
            and _off(self.asking, self.asked, self.asked_squares, independent, 0.0)
        )


class Balance(NamedTuple):
    """The trial beside one other arm."""

    load: Load = Load()
    mix: Mix = Mix()

    def add(self, trial: Arm, other: Arm) -> Balance:
        mix = self.mix if trial.more is None else self.mix.add(trial, other)
        return Balance(self.load.add(trial, other), mix)

    def mismatch(self, phi: float) -> Reason | None:
        """Why windows say nothing about the drafter; `phi` is the autocorrelation of windows."""
        if self.load.mismatched(phi):
            return Reason.LOAD_MISMATCH
        if self.mix.n and self.mix.mismatched(phi):
            return Reason.MIX_MISMATCH
        return None


def _off(n: int, total: float, squares: float, independent: float, least: float) -> bool:
    """Is the mean beyond the tolerance by more than 2 standard errors? `least`: the sum of the variances that
    the single values have at least."""
    mean = total / n
    if abs(mean) <= TOLERANCE:
        return False
    sample = (squares - total * mean) * n / ((n - 1) * independent) if n > 1 else 0.0
    return abs(mean) - ERRORS * math.sqrt(max(sample, least, 0.0)) / n > TOLERANCE


def _arrivals(arm: Arm, waiting_before: float) -> float:
    """Requests that came: those that got a first token, and those by which the queue grew."""
    came = arm.first_tokens
    if arm.waiting is not None and waiting_before >= 0:
        came += arm.waiting * arm.pods - waiting_before
    return came if came > 0.5 else 0.5


def _prompt_length(arm: Arm) -> float:
    known = arm.more.prompt_tokens if arm.more is not None else None
    return known / arm.first_tokens if known and arm.first_tokens > 0 else 0.0


def _asked(more: Extras) -> float:
    known, finished = more.max_tokens, more.finished_requests
    return known / finished if known and finished else 0.0


def _ratio(trial: float, other: float) -> float | None:
    return bounded(log(trial / other)) if trial > 0 and other > 0 else None
