"""What one window says about the trial and another arm: their log ratio, moved to equal load.

arm -> evidence -> comparison.
"""

from __future__ import annotations

from specdeploy.judge.arm import Arm
from specdeploy.judge.comparison import Evidence
from specdeploy.judge.guards import QUEUE_PER_POD


def compare(trial: Arm, other: Arm, weight: float) -> Evidence:
    """Speed at equal load: (1 - weight) ln(R/R') + weight ln(tokens per pod-second / the other's).

    For an engine whose speed falls with batch the effect at equal batch lies between the two; `weight`, in
    [0, 0.9], says where. Where both arms queue, the batch is the number of slots and only tokens per
    pod-second tell.
    """
    ratio = trial.log_speed - other.log_speed
    load = trial.log_rate - other.log_rate
    pods = 2.0 if trial.pods == other.pods == 1 else 1 / trial.pods + 1 / other.pods
    if trial.waiting is not None and _queues(trial) and _queues(other):
        return Evidence(load, load, 0.0, 0.0, pods)
    return Evidence((1 - weight) * ratio + weight * load, ratio, load, load - ratio, pods)


def _queues(arm: Arm) -> bool:
    return arm.waiting is not None and arm.waiting > QUEUE_PER_POD
