"""The PodDisruptionBudget over all arms."""

from typing import Any

from .labels import all_arms, common_labels
from .names import budget_name
from .owner import Owner


def build_budget(owner: Owner, min_available: int) -> dict[str, Any]:
    """A policy/v1 PodDisruptionBudget, as the body of a server-side apply.

    `min_available` is a number of pods: with maxUnavailable a trial pod that loads would block node drains.
    Pods that are not ready may always be evicted.
    """
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": owner.child(budget_name(owner.name), common_labels(owner.name)),
        "spec": {
            "minAvailable": min_available,
            "selector": {"matchLabels": all_arms(owner.name)},
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }
