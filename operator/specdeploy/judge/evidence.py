"""What one window says about the trial and another arm: their log ratio, moved to equal load.

arm -> evidence -> comparison.
"""

from __future__ import annotations

from specdeploy.judge.arm import Arm
from specdeploy.judge.comparison import Evidence
from specdeploy.judge.guards import QUEUE_PER_POD
from specdeploy.judge.interval import Frozen

BEYOND_HISTORY = 1.1


def compare(trial: Arm, other: Arm, weight: float) -> Evidence:
    """Speed at equal load: (1 - weight) ln(R/R') + weight ln(tokens per pod-second / the other's).

    For an engine whose speed falls with batch the effect at equal batch lies between the two; `weight`, in
    [0, 0.9], says where, and 0 that it is not known. Where both arms queue, the batch is the number of slots
    and only tokens per pod-second tell.
    """
    ratio = trial.log_speed - other.log_speed
    load = trial.log_rate - other.log_rate
    pods = 2.0 if trial.pods == other.pods == 1 else 1 / trial.pods + 1 / other.pods
    if trial.waiting is not None and _queues(trial) and _queues(other):
        return Evidence(load, load, 0.0, 0.0, pods)
    if weight:
        return Evidence((1 - weight) * ratio + weight * load, ratio, 0.0, load - ratio, pods)
    return Evidence(ratio, ratio, load, 0.0, pods)


def compare_at(batch: float, trial: Arm, other: Arm, frozen: Frozen) -> Evidence:
    """compare() at this mean batch of the baseline: with the trial's weight, but raw where the baseline's
    history never was. Speed falls faster at a larger batch: a weight from the night is wrong at the peak.

    Raw speed shows what pods differ by enlarged, by the fall of speed with batch.
    """
    weight, learned = frozen.weight, frozen.learned
    if not weight:
        return compare(trial, other, 0.0)
    if learned.batch_low / BEYOND_HISTORY <= batch <= learned.batch_high * BEYOND_HISTORY:
        return compare(trial, other, weight)
    raw = compare(trial, other, 0.0)
    return raw._replace(inverse_pods=raw.inverse_pods / (1 - weight) ** 2)


def _queues(arm: Arm) -> bool:
    return arm.waiting is not None and arm.waiting > QUEUE_PER_POD
