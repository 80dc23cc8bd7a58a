"""How many pods each template gets. One pure function: serving first, then the baseline, then the trial."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Roles:
    """Which template has which role, and how many pods baseline and trial ask for."""

    serving: str
    baseline: str
    trial: str | None = None
    baseline_replicas: int = 1
    trial_replicas: int = 1


def needed(roles: Roles) -> int:
    """The fewest replicas with which a trial can borrow: one serves beside the baseline's and the trial's
    pods; where the baseline serves it is one arm."""
    beside = 0 if roles.serving == roles.baseline else roles.baseline_replicas
    return 1 + beside + roles.trial_replicas


def allocate(replicas: int, roles: Roles) -> Mapping[str, int]:
    """Pods per template; they sum to `replicas`.

    Serving keeps at least one pod, then the baseline gets its pods, then the trial; what is left over
    serves. Where the baseline serves it is one arm.
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
    return counts
