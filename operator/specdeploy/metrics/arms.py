"""Which pods are measured, as what, and whether their arms can be compared. Pure; `windows` asks.

A drafter is compared with the baseline only if nothing but the drafter differs: the same image, the same kind
of GPU, pods made from the recorded template.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from specdeploy.judge import Obstacle, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPod:
    """A pod to be measured, as Kubernetes shows it now. An unknown image or GPU ("") is not compared."""

    uid: str
    name: str
    arm: str
    """baseline, trial or serving."""
    ready_seconds: float | None = None
    """How long the pod has been Ready."""
    restart_count: int = 0
    """restartCount of the engine's container."""
    image_id: str = ""
    """imageID of the engine's container."""
    gpu: str = ""
    """The kind of GPU of the pod's node."""
    template_edited: bool = False
    """Made from a template that is not the recorded one; such a pod is not measured."""


def obstacle(pods: Sequence[MeasuredPod], compared: Collection[str]) -> Obstacle | None:
    """What forbids to compare the arms named in `compared`; None if nothing does."""
    pods = [pod for pod in pods if pod.arm in compared]
    return (
        _edited(pods)
        or _different(pods, lambda pod: pod.image_id, Reason.DIFFERENT_IMAGE, "run different images")
        or _different(pods, lambda pod: pod.gpu, Reason.DIFFERENT_GPU, "run on different kinds of GPU")
    )


def _edited(pods: Sequence[MeasuredPod]) -> Obstacle | None:
    for arm in sorted({pod.arm for pod in pods}):
        if all(pod.template_edited for pod in pods if pod.arm == arm):
            return Obstacle(
                Reason.TEMPLATE_EDITED, f"every pod of the {arm} arm is from an edited Deployment"
            )
    return None


def _different(
    pods: Sequence[MeasuredPod], kind_of: Callable[[MeasuredPod], str], reason: Reason, what: str
) -> Obstacle | None:
    known = [pod for pod in pods if kind_of(pod) and not pod.template_edited]
    for other in known:
        first = known[0]
        if kind_of(other) != kind_of(first):
            return Obstacle(
                reason, f"{first.name} and {other.name} {what}: {kind_of(first)} and {kind_of(other)}"
            )
    return None
