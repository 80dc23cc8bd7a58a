"""Which of the wanted pods can be had: no pod is taken for a Deployment that can't be made.

wanted_counts -> reach -> plan. A quota or a policy may keep a Deployment out for days; what runs in its
place goes on, and follows `replicas`.
"""

from collections.abc import Mapping

from specdeploy.api.status import Status
from specdeploy.rollout.scene import Scene


def within_reach(scene: Scene, status: Status, wanted: Mapping[str, int]) -> dict[str, int]:
    """The wanted counts with the share of each barred template given to what runs: first to whom it would be
    taken from, what remains to the largest; one that is on its way back comes last."""
    barred = {t for t in wanted if scene.deployment(t) is None and scene.seen.barred(t) is not None}
    reach = {t: n for t, n in wanted.items() if t not in barred}
    share = sum(wanted[t] for t in barred)
    back = status.rollback.template if status.rollback is not None else None
    running = {d.template: d.replicas for d in scene.ours if d.replicas}
    heirs = sorted(running, key=lambda t: (t == back, -running[t], t))
    for template in heirs if share else ():
        given = min(share, max(0, running[template] - reach.get(template, 0)))
        reach[template] = reach.get(template, 0) + given
        share -= given
    if heirs and share:
        reach[heirs[0]] += share
    return reach
