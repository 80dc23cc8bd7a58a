"""From the *stored* status to desired children. One function; kill us anywhere and it comes out the same.

Pods move one by one: a pod is taken from a whole fleet only, and started only while ours number fewer
than `replicas`. No victim is remembered: the counts of Deployments and pods say all.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from specdeploy.api.reasons import TrialState
from specdeploy.api.status import Status
from specdeploy.engine.revision import Template
from specdeploy.rollout.allocate import allocate
from specdeploy.rollout.endings import roles_of
from specdeploy.rollout.observation import Deployment, Observation
from specdeploy.rollout.scene import ON_STAGE, Scene
from specdeploy.rollout.scene import scene as read


@dataclass(frozen=True)
class Plan:
    """Desired children: Deployments to create (with their pods), replicas to write, Deployments to delete.

    `available`: the budget's minAvailable. `notes`: why, for the log and for Events about drift.
    """

    create: tuple[tuple[Template, int], ...] = ()
    scale: tuple[tuple[Deployment, int], ...] = ()
    delete: tuple[Deployment, ...] = ()
    available: int = 0
    notes: tuple[str, ...] = ()


def wanted_counts(scene: Scene, status: Status) -> Mapping[str, int]:
    """Pods per template in the end, by what is stored."""
    trial = status.trial
    staged = trial.template if trial is not None and trial.state in ON_STAGE else None
    roles = roles_of(scene, status, staged)
    return {} if roles is None else allocate(scene.replicas, roles)


def plan(seen: Observation, status: Status) -> Plan:
    """What to do to the children now. Nothing before anything serves."""
    now = read(seen, status)
    wanted = wanted_counts(now, status)
    if not wanted:
        return Plan()
    counts = _next_counts(now, status, wanted)
    trial = status.trial
    staged = trial.template if trial is not None and trial.state in ON_STAGE else None
    available = max(0, sum(n for t, n in wanted.items() if t != staged) - 1)
    existing = {d.template: d for d in now.ours}
    missing = [t for t in wanted if t not in existing]
    create = tuple((t, counts.get(h, 0)) for h in missing if (t := now.buildable(h)) is not None)
    scale = tuple((d, counts[t]) for t, d in existing.items() if counts[t] != d.replicas)
    return Plan(create, scale, _leftovers(now, status, wanted), available, _drift(scale))


def _next_counts(scene: Scene, status: Status, wanted: Mapping[str, int]) -> dict[str, int]:
    counts = {d.template: d.replicas for d in scene.ours}
    counts.update({t: 0 for t in wanted if t not in counts and scene.buildable(t) is not None})
    _drop_at_once(scene, status, wanted, counts)
    _drop_one(scene, wanted, counts)
    _raise(scene, wanted, counts)
    return counts


def _surplus(template: str, wanted: Mapping[str, int], counts: Mapping[str, int]) -> int:
    return counts[template] - wanted.get(template, 0)


def _drop_at_once(scene: Scene, status: Status, wanted: Mapping[str, int], counts: dict[str, int]) -> None:
    """What need not wait: a trial that is rolled back, and pods above `replicas`."""
    trial = status.trial
    if trial is not None and trial.state is TrialState.ROLLING_BACK and trial.template not in wanted:
        counts.update({trial.template: 0} if trial.template in counts else {})
    excess = sum(counts.values()) - scene.replicas
    for template in sorted(counts, key=lambda t: (t in wanted, t)):
        cut = min(max(excess, 0), max(0, _surplus(template, wanted, counts)))
        counts[template] -= cut
        excess -= cut


def _drop_one(scene: Scene, wanted: Mapping[str, int], counts: dict[str, int]) -> None:
    """Take one pod from the template with the largest surplus, if the fleet is whole: every pod is there
    and ready, none of them is on its way out. A pod that can't get ready goes first: it serves nobody."""
    surplus = [t for t in counts if _surplus(t, wanted, counts) > 0]
    if not surplus:
        return
    idle = [t for t in surplus if scene.pods(t) and not any(p.ready for p in scene.pods(t))]
    whole = all(len(scene.pods(t)) == n for t, n in counts.items()) and all(
        p.ready and not p.terminating for p in scene.seen.pods
    )
    for template in idle:
        counts[template] -= _surplus(template, wanted, counts)
    if not idle and whole:
        most = max(surplus, key=lambda t: (_surplus(t, wanted, counts), t))
        counts[most] -= 1


def _raise(scene: Scene, wanted: Mapping[str, int], counts: dict[str, int]) -> None:
    """Start pods while ours number fewer than `replicas`. A leaving pod's place is taken in the pass that
    first sees it leave: the new pod queues for its GPU, and nobody else gets in between."""
    room = scene.replicas - sum(max(n, len(scene.pods(t))) for t, n in counts.items())
    for template, n in wanted.items():
        if template not in counts:
            continue
        more = min(max(0, room), max(0, n - counts[template]))
        counts[template] += more
        room -= more


def _leftovers(scene: Scene, status: Status, wanted: Mapping[str, int]) -> tuple[Deployment, ...]:
    """Deployments that have no role and no pods left."""
    trial = status.trial
    kept = set(wanted) | ({trial.template} if trial is not None else set())
    return tuple(
        d
        for d in scene.ours
        if d.template not in kept and d.replicas == 0 and not scene.pods(d.template, terminating=True)
    )


def _drift(scale: tuple[tuple[Deployment, int], ...]) -> tuple[str, ...]:
    """Somebody else wrote our replicas: said once, as it is put right."""
    return tuple(
        f"{d.replicas_manager} set replicas of {d.name} to {d.replicas}; put right to {n}"
        for d, n in scale
        if d.replicas_manager
    )
