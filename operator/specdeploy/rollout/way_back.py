"""The way back: how many pods leave at a time what the guard, a failure or a person has taken off.

ending -> way_back (status.rollback) -> plan. One pod at a time costs least while engines load, but leaves
the others slow for longer; so many go at a time as the loss is worth, a quarter of the fleet at most.
"""

import math
from collections.abc import Mapping

from specdeploy.api.names import BASELINE
from specdeploy.api.status import Rollback, Serving, Status, instant, seconds
from specdeploy.rollout.scene import Scene
from specdeploy.rollout.stuck import homeless, leaving

LARGEST_SHARE = 0.25
# The loss for which the time is shown beforehand: the one that a promotion's soak is long enough to see.
_USUAL_LOSS = 0.10
# How long pods may find no node, none of ours leaving, before they are not waited for. In seconds.
HOMELESS_SECONDS = 120.0
# Pods that may be away for want of nodes, beside those that move: so many, or half of the fleet.
_FEW = 2


def at_a_time(replicas: int, loss: float) -> int:
    """Pods that go at a time, at least 1. `loss`: the share of speed that is lost on each that stays."""
    return max(1, math.floor(round(replicas * min(LARGEST_SHARE, loss), 6)))


def rolled_back(scene: Scene, status: Status, off: Serving, loss: float) -> Status:
    """The status in which what served, `off`, is on its way back. Pods that are not up go at once; where
    there are no others it is no way. One that is dead is up to a process that has not watched it."""
    here = scene.pods(off.template)
    ready, dead = sum(p.ready or p.dead for p in here), sum(p.dead for p in here)
    pods = max(dead, at_a_time(scene.replicas, loss))
    if not ready:
        return status
    rollback = Rollback(
        drafter=off.name,
        template=off.template,
        pods=pods,
        start_time=instant(scene.now),
        seconds=_duration(ready, pods, off.pod_seconds),
    )
    return status.model_copy(update={"rollback": rollback})


def leaving_at_a_time(scene: Scene, status: Status, template: str) -> int:
    """Pods of a template that may leave a whole fleet together: one, or those of its way back."""
    back = status.rollback
    if back is None or back.template != template:
        return 1
    return min(back.pods, at_a_time(scene.replicas, LARGEST_SHARE))


def may_leave(scene: Scene, status: Status, counts: Mapping[str, int]) -> int:
    """Pods of the way back that may be taken now, if so many remain. `counts`: as the Deployments ask.

    No more are away together than its group; pods of its own that are not ready go first (a ReplicaSet picks
    them) and cost nothing. Pods that no node takes are not waited for, up to half of the fleet: every pod
    that leaves frees a place. The last ready one stays, unless it is the only one.
    """
    back = status.rollback
    if back is None:
        return 0
    up = {t: min(n, sum(p.ready for p in scene.pods(t))) for t, n in counts.items()}
    down = counts.get(back.template, 0) - up.get(back.template, 0)
    away = max(0, scene.replicas - sum(up.values()) - down)
    lost = min(away, len(_homeless(scene)) if _lacks_nodes(back, scene.now) else 0)
    group = leaving_at_a_time(scene, status, back.template) - (away - lost)
    free = group if not lost else min(group, max(_FEW, scene.replicas // 2) - away)
    spared = 1 if scene.replicas > 1 else 0
    return max(0, min(free, down + max(0, sum(up.values()) - spared)))


def _lacks_nodes(back: Rollback, now: float) -> bool:
    since = back.unschedulable_time
    return since is not None and now - seconds(since) >= HOMELESS_SECONDS


def _homeless(scene: Scene) -> list[str]:
    """Pods that no node takes although one takes their like: a place is missing, they are right."""
    pods = [p for p in scene.seen.pods if homeless(p, scene.now) is not None]
    return [p.name for p in pods if any(q.ready for q in scene.pods(p.template))]


def way_back_moments(status: Status) -> list[float]:
    """When time alone changes how many pods may leave."""
    since = status.rollback.unschedulable_time if status.rollback is not None else None
    return [] if since is None else [seconds(since) + HOMELESS_SECONDS]


def arrived(scene: Scene, status: Status) -> Status:
    """The status without a way back that is over: its pods have left, or it serves again; else with the time
    since when pods find no node, although none of ours leaves."""
    back, serving = status.rollback, status.serving
    if back is None:
        return status
    existing = scene.deployment(back.template)
    remain = scene.pods(back.template) or (existing is not None and existing.replicas > 0)
    serves = serving is not None and serving.template == back.template
    if serves or not remain:
        return status.model_copy(update={"rollback": None})
    since = back.unschedulable_time or instant(scene.now)
    update = {"unschedulable_time": since if _homeless(scene) and not leaving(scene) else None}
    return status.model_copy(update={"rollback": back.model_copy(update=update)})


def with_time_shown(scene: Scene, serving: Serving) -> Serving:
    """What serves, with the time that its way back would take after a loss of 10 %."""
    if serving.name == BASELINE:
        return serving
    pods = len(scene.pods(serving.template))
    seconds = _duration(pods, at_a_time(scene.replicas, _USUAL_LOSS), serving.pod_seconds)
    return serving.model_copy(update={"rollback_seconds": seconds})


def pace(status: Status) -> str:
    """`its pods leave 2 at a time, about 33 min in all`; "" without a way back."""
    back = status.rollback
    if back is None:
        return ""
    count = "one" if back.pods == 1 else str(back.pods)
    return f"its pods leave {count} at a time" + (f", {about(back.seconds)} in all" if back.seconds else "")


def with_pace(why: str, status: Status) -> str:
    """Why something else serves now, and how fast the way back is."""
    return f"{why}; {pace(status)}" if status.rollback is not None else why


def about(seconds: int) -> str:
    """A duration for people: `about 50 s`, `about 33 min`."""
    return f"about {lasting(seconds)}"


def lasting(seconds: int) -> str:
    """A duration for people: `50 s`, `33 min`."""
    return f"{seconds} s" if seconds < 120 else f"{math.ceil(seconds / 60)} min"


def _duration(pods: int, together: int, pod_seconds: int | None) -> int | None:
    return None if pod_seconds is None else math.ceil(pods / together) * pod_seconds
