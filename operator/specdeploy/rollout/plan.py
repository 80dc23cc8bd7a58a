"""From the *stored* status to desired children. One function; kill us anywhere and it comes out the same.

Pods move one by one, taken from a whole fleet only; on a way back as many together as the stored status
says, and no more are away at a time. Pods are started only while ours number fewer than `replicas`. No victim
is remembered: the counts of Deployments and pods say all.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from specdeploy.api.reasons import TrialState
from specdeploy.api.status import Status
from specdeploy.engine.revision import Template
from specdeploy.rollout.observation import Deployment, Observation, Pod
from specdeploy.rollout.reach import within_reach
from specdeploy.rollout.scene import Scene, staged, wanted_counts
from specdeploy.rollout.scene import scene as read
from specdeploy.rollout.stuck import leaving
from specdeploy.rollout.way_back import leaving_at_a_time, may_leave


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


def plan(seen: Observation, status: Status) -> Plan:
    """What to do to the children now. Nothing before anything serves."""
    now = read(seen, status)
    wanted = wanted_counts(now, status)
    if not wanted:
        return Plan()
    counts = _next_counts(now, status, wanted)
    existing = {d.template: d for d in now.ours}
    known = {d.template for d in seen.deployments if d.ours}  # those on their way out keep their name
    missing = [t for h in wanted if h not in known and (t := now.buildable(h)) is not None]
    gone = (*_leftovers(now, status, wanted), *_edited(now, status))
    scale = tuple((d, counts[t]) for t, d in existing.items() if counts[t] != d.replicas and d not in gone)
    return Plan(
        create=tuple((t, counts.get(t.hash, 0)) for t in missing),
        scale=scale,
        delete=gone,
        available=max(0, sum(n for t, n in wanted.items() if t != staged(status)) - _together(now, status)),
        notes=_drift(scale),
    )


def _next_counts(scene: Scene, status: Status, wanted: Mapping[str, int]) -> dict[str, int]:
    wanted = within_reach(scene, status, wanted)
    counts = {d.template: d.replicas for d in scene.ours}
    counts.update({t: 0 for t in wanted if t not in counts and scene.buildable(t) is not None})
    _drop_at_once(scene, status, wanted, counts)
    _drop_idle(scene, wanted, counts)
    if status.rollback is not None and _surplus(status.rollback.template, wanted, counts):
        _drop_back(scene, status, status.rollback.template, wanted, counts)
    elif _may_move(scene, status):
        _drop_next(scene, wanted, counts)
    _raise(scene, wanted, counts)
    return counts


def _may_move(scene: Scene, status: Status) -> bool:
    """While the spec is invalid nothing that serves moves; a pause holds a promotion."""
    promoting = status.trial is not None and status.trial.state is TrialState.PROMOTING
    return scene.valid and not (scene.paused and promoting)


def _surplus(template: str, wanted: Mapping[str, int], counts: Mapping[str, int]) -> int:
    return max(0, counts.get(template, 0) - wanted.get(template, 0))


def _drop_at_once(scene: Scene, status: Status, wanted: Mapping[str, int], counts: dict[str, int]) -> None:
    """What need not wait: a trial that is rolled back, and pods above `replicas`.

    A promotion that is reversed (it has a fallback) goes back pod by pod: its pods may be most of the fleet.
    """
    trial = status.trial
    back = trial is not None and trial.state is TrialState.ROLLING_BACK and trial.fallback is None
    if trial is not None and back and trial.template in counts and trial.template not in wanted:
        counts[trial.template] = 0
    excess = sum(counts.values()) - scene.replicas
    for template in sorted(counts, key=lambda t: (len(_ready(scene, t)) > 0, t in wanted, t)):
        cut = min(max(excess, 0), _surplus(template, wanted, counts))
        counts[template] -= cut
        excess -= cut


def _drop_idle(scene: Scene, wanted: Mapping[str, int], counts: dict[str, int]) -> None:
    """Pods that are too many and not up serve nobody: they go first (a ReplicaSet picks them first). One that
    was up and is not ready for a moment is no such pod: its engine would have to load again. Those of a
    Deployment of which all stand still go even if they are wanted: they are made anew."""
    for template, count in counts.items():
        pods = scene.pods(template)
        idle = sum(not p.ready and not p.started for p in pods)
        all_dead = sum(p.dead for p in pods) >= count  # else others are about to be made
        counts[template] -= count if all_dead else min(idle, _surplus(template, wanted, counts))


def _drop_next(scene: Scene, wanted: Mapping[str, int], counts: dict[str, int]) -> None:
    """Take a pod from the template with the largest surplus, if the fleet is whole: every pod is there and
    ready, none of them is on its way out."""
    surplus = {t: n for t in counts if (n := _surplus(t, wanted, counts)) > 0}
    ready = all(len(_ready(scene, t)) == n for t, n in counts.items())
    whole = all(p.ready or p.terminating for p in scene.seen.pods) and not leaving(scene)
    if surplus and sum(counts.values()) >= scene.replicas and ready and whole:
        counts[max(surplus, key=lambda t: (surplus[t], t))] -= 1


def _drop_back(
    scene: Scene, status: Status, template: str, wanted: Mapping[str, int], counts: dict[str, int]
) -> None:
    """Take pods from what goes back, also where others are missing and while the spec is invalid: what serves
    instead is there. No more than can be started for them, or are."""
    short = sum(max(0, n - counts[t]) for t, n in wanted.items() if t in counts)
    startable = short - max(0, scene.replicas - sum(counts.values()))
    allowed = may_leave(scene, status, counts)
    counts[template] -= max(0, min(_surplus(template, wanted, counts), allowed, startable))


def _together(scene: Scene, status: Status) -> int:
    """Pods that may be missing at a time."""
    back = status.rollback
    return 1 if back is None else leaving_at_a_time(scene, status, back.template)


def _ready(scene: Scene, template: str) -> tuple[Pod, ...]:
    return tuple(p for p in scene.pods(template) if p.ready)


def _raise(scene: Scene, wanted: Mapping[str, int], counts: dict[str, int]) -> None:
    """Start pods while ours number fewer than `replicas`. A leaving pod's place is taken in the pass that
    first sees it leave: the new pod queues for its GPU, and nobody else gets in between."""
    room = scene.replicas - sum(max(n, len(scene.pods(t))) for t, n in counts.items())
    for template, n in wanted.items():
        if template not in counts or any(p.dead for p in scene.pods(template)):
            continue
        more = min(max(0, room), max(0, n - counts[template]))
        counts[template] += more
        room -= more


def _leftovers(scene: Scene, status: Status, wanted: Mapping[str, int]) -> tuple[Deployment, ...]:
    """Deployments that have no role and no pods left."""
    trial = status.trial
    kept = set(wanted)
    if trial is not None:
        kept |= {trial.template, trial.fallback.template if trial.fallback else trial.template}
    return tuple(
        d
        for d in scene.ours
        if d.template not in kept and d.replicas == 0 and not scene.pods(d.template, terminating=True)
    )


def _edited(scene: Scene, status: Status) -> tuple[Deployment, ...]:
    """Arms that somebody's edit has made unmeasurable: made anew as a trial or a re-check starts. What serves
    is never restarted for it."""
    trial, serving, arm = status.trial, status.serving, status.baseline
    arms: set[str] = set()
    if trial is not None and trial.state is TrialState.STARTING:
        arms |= {trial.template, arm.template if arm else ""}
    if arm is not None and arm.check is not None:
        arms.add(arm.template)
    arms -= {serving.template if serving else ""}
    return tuple(d for d in scene.ours if d.edited and d.template in arms)


def _drift(scale: tuple[tuple[Deployment, int], ...]) -> tuple[str, ...]:
    """Somebody else wrote our replicas: said once, as it is put right."""
    return tuple(
        f"{d.replicas_manager} set replicas of {d.name} to {d.replicas}; put right to {n}"
        for d, n in scale
        if d.replicas_manager
    )
