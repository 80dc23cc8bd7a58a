"""The judge's memory of one trial: fixed in size, immutable, and all that a verdict is made of."""

from __future__ import annotations

import math
from typing import NamedTuple

from specdeploy.judge.balance import Balance
from specdeploy.judge.comparison import Comparison
from specdeploy.judge.disaster import Lane
from specdeploy.judge.guards import Guards
from specdeploy.judge.interval import Corrections, Frozen
from specdeploy.judge.learned import Learned
from specdeploy.judge.noise import LARGEST_PHI
from specdeploy.judge.pods import LARGEST_POD_SD, Spread, with_pods_of
from specdeploy.judge.settings import Settings
from specdeploy.judge.surplus import Surplus
from specdeploy.judge.window import Reason

REASONS = tuple(Reason)
PRIOR_PHI = 0.3
LARGEST_WEIGHT = 0.9
DISASTER_SD = 0.20
POD_FREEDOM = 8
NO_GUARDS = Guards()


class Unreached(NamedTuple):
    """For each arm, the windows in a row in which it got no request while another arm did."""

    baseline: int = 0
    trial: int = 0
    serving: int = 0


class Watch(NamedTuple):
    """What looks at every window that has data, evidence or not: the disaster lane, the guards, whom requests
    reach, and how alike the arms' load is. `trial_pods` and `baseline_pods` tell pods of one arm apart."""

    lane: Lane = Lane()
    guards: Guards = NO_GUARDS
    unreached: Unreached = Unreached()
    baseline: Balance = Balance()
    serving: Balance = Balance()
    surplus: Surplus = Surplus()
    trial_pods: Spread = Spread()
    baseline_pods: Spread = Spread()


class TrialState(NamedTuple):
    """One trial so far. `measured_seconds` is the length of the windows that were evidence.

    `skipped` counts by `Reason`, in its order; `last_reason` is the newest window's position there, -1 if it
    was evidence. `batch_low` and `batch_high` are the range of the baseline's mean batch per engine over the
    evidence. `baseline` and `serving` compare the trial with these arms.
    """

    frozen: Frozen
    measured_seconds: float = 0.0
    last_index: int = -1
    seen: int = 0
    skipped: tuple[int, ...] = (0,) * len(REASONS)
    last_reason: int = -1
    batch_low: float = 0.0
    batch_high: float = 0.0
    watch: Watch = Watch()
    baseline: Comparison = Comparison()
    serving: Comparison = Comparison()

    @property
    def used(self) -> int:
        """Windows of evidence so far."""
        return self.baseline.whole.n

    @property
    def corrections(self) -> Corrections:
        """What the trial has found out about itself."""
        watch, frozen = self.watch, self.frozen
        pod_sd, freedom = frozen.pod_sd, frozen.pod_freedom
        if watch.trial_pods.n or watch.baseline_pods.n:
            independent = self.baseline.whole.independent(frozen.phi)
            # History has learned from the very pods of the baseline: nobody counts twice.
            learned = freedom > POD_FREEDOM
            arms = (watch.trial_pods,) if learned else (watch.trial_pods, watch.baseline_pods)
            pod_sd, freedom = with_pods_of(arms, pod_sd, freedom, independent)
        return Corrections(watch.surplus.log_share, pod_sd, freedom)


def forget_serving(state: TrialState) -> TrialState:
    """The state when another drafter has come to serve: what was compared with the last one says nothing of
    it. The comparison with the baseline stays."""
    watch = state.watch
    fresh = watch._replace(serving=Balance(), unreached=watch.unreached._replace(serving=0))
    return state._replace(serving=Comparison(), watch=fresh)


def start(settings: Settings, learned: Learned = Learned()) -> TrialState:  # noqa: B008 - immutable
    """A trial without evidence. What must not change under way is taken from `settings` and from what the
    baseline's history taught, here, once.

    The k-th trial's promotion has alpha 6 / (pi k)^2: over any number of candidates the errors add up to
    alpha. Long requests make neighbouring windows alike: the prior autocorrelation is exp(-window/residence).
    """
    alpha = 1 - settings.confidence
    learned = _within_reason(learned)
    residence = learned.residence
    phi = math.exp(-settings.window_seconds / residence) if residence > 0 else PRIOR_PHI
    pod_sd, freedom = _known_pods(settings, learned)
    return TrialState(
        Frozen(
            alpha=alpha,
            promotion_alpha=alpha * 6 / (math.pi * settings.attempt) ** 2,
            pod_sd=pod_sd,
            pod_freedom=freedom,
            phi=min(LARGEST_PHI, max(PRIOR_PHI, phi)),
            disaster_sd=max(DISASTER_SD, _window_sd(learned)),
            weight=min(LARGEST_WEIGHT, max(0.0, learned.weight)) if learned.weighed else 0.0,
            learned=learned,
        )
    )


def _within_reason(learned: Learned) -> Learned:
    """A weight in [0, 0.9] is off by no more than that, whatever the noise of history makes of its error."""
    weight_se, pod_sd = min(LARGEST_WEIGHT, learned.weight_se), min(LARGEST_POD_SD, learned.pod_sd)
    return learned._replace(weight_se=weight_se, pod_sd=pod_sd)


def _known_pods(settings: Settings, learned: Learned) -> tuple[float, int]:
    """The pod sd asked for, as if from 8 pods, or what history made of it. 0 switches the term off."""
    if settings.pod_sd > 0 and learned.pod_freedom > POD_FREEDOM:
        return learned.pod_sd, learned.pod_freedom
    return settings.pod_sd, POD_FREEDOM


def _window_sd(learned: Learned) -> float:
    """The sd of one window's log ratio of two arms, raised by how alike neighbouring windows are."""
    phi = min(LARGEST_PHI, max(0.0, learned.phi))
    return math.sqrt(2 * (1 + phi) / (1 - phi)) * learned.sd
