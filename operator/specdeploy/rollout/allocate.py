"""How many pods each template gets. One pure function: serving first, then the baseline, then the trial."""

from collections.abc import Mapping
from dataclasses import dataclass

from specdeploy.engine.replicas import replicas_for_trial
from specdeploy.rollout.steps import WHOLE, stepped


@dataclass(frozen=True)
class Roles:
    """Which template has which role, and how many pods baseline and trial ask for.

    `fallback`: what served before, while a promotion is under way; `percent`: of the serving pods, those that
    the promoted drafter has by now, its trial's own at least. The others are the fallback's.
    """

    serving: str
    baseline: str
    trial: str | None = None
    baseline_replicas: int = 1
    trial_replicas: int = 1
    fallback: str | None = None
    percent: int = WHOLE


def needed(roles: Roles) -> int:
    """The fewest replicas with which a trial can borrow."""
    beside = 0 if roles.serving == roles.baseline else roles.baseline_replicas
    return replicas_for_trial(beside, roles.trial_replicas)


def allocate(replicas: int, roles: Roles) -> Mapping[str, int]:
    """Pods per template; they sum to `replicas`.

    Serving keeps at least one pod, then the baseline gets its pods, then the trial; what is left over
    serves. Where the baseline serves it is one arm. In a promotion old and new share what serves.
    """
    left = max(0, replicas)
    counts = {roles.serving: min(1, left)}
    left -= counts[roles.serving]
    if roles.baseline != roles.serving:
        counts[roles.baseline] = min(roles.baseline_replicas, left)
        left -= counts[roles.baseline]
    if roles.trial is not None:
        counts[roles.trial] = min(roles.trial_replicas, left)
        left -= counts[roles.trial]
    counts[roles.serving] += left
    return counts if roles.fallback is None else _shared(counts, roles, roles.fallback)


def _shared(counts: Mapping[str, int], roles: Roles, fallback: str) -> Mapping[str, int]:
    """The counts with what serves split between the promoted drafter and what served before."""
    served = counts[roles.serving]
    promoted = stepped(served, roles.percent, roles.trial_replicas)
    return {**counts, roles.serving: promoted, fallback: counts.get(fallback, 0) + served - promoted}
