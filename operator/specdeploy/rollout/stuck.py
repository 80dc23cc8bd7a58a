"""Pods that stand still: on their way out for longer than they may be, or without a node. Read only.

A pod of a dead node stays Terminating until somebody removes it, maybe for ever: who waits for pods to leave
(plan, trial, protection) asks here, and waits for those only that may still be on their way.
"""

from specdeploy.api.status import instant
from specdeploy.rollout.observation import Pod
from specdeploy.rollout.scene import Scene

# How long a pod may stay beyond the time by which it should be gone: its kubelet kills it then, and says so.
OVERSTAY_SECONDS = 60.0
# How long a pod may go without any word of a scheduler.
UNSEEN_SECONDS = 120.0


def leaving(scene: Scene) -> bool:
    """Whether a pod is on its way out, and may be waited for."""
    return any(p.terminating and not _overstays(p, scene.now) for p in scene.seen.pods)


def overstayed(scene: Scene) -> tuple[Pod, ...]:
    """Pods that should be gone and are not: nobody waits for them."""
    return tuple(p for p in scene.seen.pods if _overstays(p, scene.now))


def overstay(scene: Scene) -> str | None:
    """The first of them, in words."""
    found = next(iter(overstayed(scene)), None)
    if found is None or found.gone_by is None:
        return None
    where = f" of node {found.node}" if found.node else ""
    return (
        f"pod {found.name} should be gone since {instant(found.gone_by)} and is not: look at the "
        f"kubelet{where}; it is not waited for"
    )


def homeless(pod: Pod, now: float) -> str | None:
    """Why a pod has no node, in the words of whoever keeps it from one; None while it has or may soon have
    one."""
    if pod.terminating or pod.node is not None:
        return None
    if pod.unschedulable is not None:
        return pod.unschedulable
    if now - pod.created < UNSEEN_SECONDS:
        return None
    return "no scheduler has looked at it: is there one of its schedulerName?"


def stuck_moments(scene: Scene) -> list[float]:
    """When time alone makes a pod one of these."""
    gone = [p.gone_by + OVERSTAY_SECONDS for p in scene.seen.pods if p.terminating and p.gone_by is not None]
    unseen = [p.created + UNSEEN_SECONDS for p in scene.seen.pods if p.node is None and not p.terminating]
    return [*gone, *unseen]


def _overstays(pod: Pod, now: float) -> bool:
    return pod.terminating and pod.gone_by is not None and now >= pod.gone_by + OVERSTAY_SECONDS
