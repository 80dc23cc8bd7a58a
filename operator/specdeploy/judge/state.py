"""The judge's memory of one trial: fixed in size, immutable, and all that a verdict is made of."""

from __future__ import annotations

import math
from typing import NamedTuple

from specdeploy.judge.comparison import POD_FREEDOM, Comparison, Frozen
from specdeploy.judge.disaster import Lane
from specdeploy.judge.guards import Queue
from specdeploy.judge.settings import Settings
from specdeploy.judge.window import Reason

REASONS = tuple(Reason)
PRIOR_PHI = 0.3
DISASTER_SD = 0.20


class Unreached(NamedTuple):
    """For each arm, the windows in a row in which it got no request while another arm did."""

    baseline: int = 0
    trial: int = 0
    serving: int = 0


class TrialState(NamedTuple):
    """One trial so far. `measured_seconds` is the length of the windows that were evidence.

    `skipped` counts by `Reason`, in its order; `last_reason` is the newest window's position there, -1 if it
    was evidence. `batch_low` and `batch_high` are the range of the baseline's mean batch per pod over the
    evidence.
    """

    frozen: Frozen
    measured_seconds: float = 0.0
    last_index: int = -1
    seen: int = 0
    skipped: tuple[int, ...] = (0,) * len(REASONS)
    last_reason: int = -1
    unreached: Unreached = Unreached()
    batch_low: float = 0.0
    batch_high: float = 0.0
    lane: Lane = Lane()
    queue: Queue = Queue()
    baseline: Comparison = Comparison()
    serving: Comparison = Comparison()

    @property
    def used(self) -> int:
        """Windows of evidence so far."""
        return self.baseline.whole.n


def forget_serving(state: TrialState) -> TrialState:
    """The state when another drafter has come to serve: what was compared with the last one says nothing of
    it. The comparison with the baseline stays."""
    return state._replace(serving=Comparison(), unreached=state.unreached._replace(serving=0))


def start(settings: Settings) -> TrialState:
    """A trial without evidence. What must not change under way is taken from `settings` here, once.

    The k-th trial's promotion has alpha 6 / (pi k)^2: over any number of candidates the errors add up to
    alpha.
    """
    alpha = 1 - settings.confidence
    return TrialState(
        Frozen(
            alpha=alpha,
            promotion_alpha=alpha * 6 / (math.pi * settings.attempt) ** 2,
            pod_sd=settings.pod_sd,
            pod_freedom=POD_FREEDOM,
            phi=PRIOR_PHI,
            disaster_sd=DISASTER_SD,
        )
    )
