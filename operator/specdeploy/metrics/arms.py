"""Which pods are measured, as what, and whether their arms can be compared. Pure; `windows` asks.

A drafter is compared with another arm only if nothing but the drafter differs: the same image, the same kind
of GPU, pods made from the recorded template. What is known of some pods and not of others may differ, and no
missing evidence is good evidence; what is known of none (a cluster without labels of GPUs) is taken as equal.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from specdeploy.engine.accelerators import LABEL
from specdeploy.judge import Obstacle, Reason

_UNKNOWN_GPU = f"not told by the labels of its node (set {LABEL} on it, as AMD's node labeller does)"
_UNKNOWN_IMAGE = "not told by its status"
_WHAT = {Reason.DIFFERENT_IMAGE: "image", Reason.DIFFERENT_GPU: "kind of GPU"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPod:
    """A pod to be measured, as Kubernetes shows it now. An image or GPU that can't be told is ""."""

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
    sound = [pod for pod in pods if not pod.template_edited]
    return (
        _edited(pods)
        or _different(Reason.DIFFERENT_IMAGE, {p.name: p.image_id or _UNKNOWN_IMAGE for p in sound})
        or _different(Reason.DIFFERENT_GPU, {p.name: p.gpu or _UNKNOWN_GPU for p in sound})
    )


def _edited(pods: Sequence[MeasuredPod]) -> Obstacle | None:
    for arm in sorted({pod.arm for pod in pods}):
        if all(pod.template_edited for pod in pods if pod.arm == arm):
            return Obstacle(
                Reason.TEMPLATE_EDITED, f"every pod of the {arm} arm is from an edited Deployment"
            )
    return None


def _different(reason: Reason, kinds: Mapping[str, str]) -> Obstacle | None:
    """`kinds`: the name of each pod and what its image or GPU is, in words."""
    pairs = list(kinds.items())
    for pod, kind in pairs[1:]:
        if kind != pairs[0][1]:
            return Obstacle(reason, f"the {_WHAT[reason]} of {pairs[0][0]} is {pairs[0][1]}, of {pod} {kind}")
    return None
