"""Conditions: one function each, in a fixed order, from what was seen and what is stored. Observations only;
nothing decides by them."""

from collections.abc import Callable
from typing import Literal

from specdeploy.api.reasons import Condition as Kind
from specdeploy.api.reasons import Reason
from specdeploy.api.status import Condition, Status, instant, seconds
from specdeploy.rollout.candidates import hold
from specdeploy.rollout.health import Ailment, ailment
from specdeploy.rollout.observation import HICCUP_SECONDS, Pod
from specdeploy.rollout.protected import protected
from specdeploy.rollout.scene import Scene, settled, staged
from specdeploy.rollout.stalls import stand_still
from specdeploy.rollout.stuck import homeless, leaving, overstay

Verdict = tuple[Literal["True", "False", "Unknown"], str, str]
_LONGEST = 1000
# A pod given back after a trial is made within this time of the trial's end, and may wait this long for the
# old one to be gone, before the capacity counts as lost. In seconds.
_GIVEN_BACK = 60.0
LOST_SECONDS = 120.0


def serving_pods(scene: Scene, status: Status) -> tuple[Pod, ...]:
    """Pods of every arm but the trial's: what must keep serving."""
    on_trial = staged(status)
    return tuple(p for p in scene.seen.pods if p.template != on_trial and not p.terminating)


def lost_pods(scene: Scene, status: Status) -> tuple[Pod, ...]:
    """Serving pods that find no room any more where a trial had borrowed it, the trial's pod being gone."""
    ended = [seconds(v.time) for v in status.verdicts or []]
    if leaving(scene):
        return ()
    return tuple(
        p
        for p in serving_pods(scene, status)
        if homeless(p, scene.now) is not None
        and scene.now - p.created >= LOST_SECONDS
        and any(-1 <= p.created - end <= _GIVEN_BACK for end in ended)
    )


def refused_pods(scene: Scene, status: Status) -> str | None:
    """Pods of a serving arm that can't even be created, with the words of whoever refuses them."""
    on_trial = staged(status)
    found = next((d for d in scene.ours if d.failure and d.replicas and d.template != on_trial), None)
    return None if found is None else f"pods of Deployment {found.name} are refused: {found.failure}"


def ready(scene: Scene, status: Status) -> Verdict:
    """The current spec is valid and enough pods serve. Never depends on a trial."""
    broken = _broken(scene, status)
    if broken is not None:
        return broken
    return _enough(scene, status)


def _broken(scene: Scene, status: Status) -> Verdict | None:
    if scene.seen.crd_outdated:
        return "False", Reason.CRD_OUTDATED, scene.seen.crd_outdated
    if scene.findings:
        return "False", Reason.INVALID_SPEC, _with_more([str(f) for f in scene.findings])
    for stored in (status.serving, status.baseline):
        if stored is not None and stored.template in scene.seen.refused:
            words = scene.seen.refused[stored.template]
            return "False", Reason.INVALID_SPEC, f"the API server refused a Deployment: {words}"
    if scene.seen.taken:
        return "False", Reason.NAME_TAKEN, _with_more(list(scene.seen.taken))
    hindered = [*_unmade(scene, status), *_hindered(scene, status)[0]]
    return ("False", Reason.CHILD_REFUSED, _with_more(hindered)) if hindered else None


def _hindered(scene: Scene, status: Status) -> tuple[list[str], list[str]]:
    """What is in the way of what serves, and of the rest: of a trial, of what nobody needs any more."""
    serve = {arm.template for arm in (status.serving, status.baseline) if arm is not None}
    rest = tuple(f"Deployment {d.name} " for d in scene.ours if d.template not in serve)
    sentences = scene.seen.hindered
    return [s for s in sentences if not s.startswith(rest)], [s for s in sentences if s.startswith(rest)]


def _unmade(scene: Scene, status: Status) -> list[str]:
    """Deployments of what serves that could not be made for a while, as sentences."""
    stored = (arm for arm in (status.serving, status.baseline) if arm is not None)
    found = (scene.seen.unmade.get(template) for template in dict.fromkeys(arm.template for arm in stored))
    lasting = [each for each in found if each is not None and scene.now - each.since >= HICCUP_SECONDS]
    return [f"a Deployment can't be made: {each.words}" for each in lasting]


def _enough(scene: Scene, status: Status) -> Verdict:
    """Enough: all but those that may be moving, and never none."""
    if scene.replicas == 0:
        return "True", Reason.SCALED_TO_ZERO, "replicas is 0"
    up = sum(p.answers for p in scene.seen.pods if not p.terminating)
    count = f"{up} of {scene.replicas} pods are ready"
    if up >= max(1, scene.replicas - _moving(scene, status)):
        found = _ailing(scene, status)
        return "True", Reason.SERVING, count if found is None else f"{count}; {found.message}"
    return "False", *_lack(scene, status, count)


def _moving(scene: Scene, status: Status) -> int:
    """How many pods may be missing: one that moves; once there was a trial, as many as it borrows, which load
    when they come and when they are given back. Pods that were up and are not count against them."""
    tried = scene.spec is not None and (status.trial is not None or bool(status.verdicts))
    borrowed = scene.spec.trial.replicas if scene.spec is not None and tried else 1
    fell = sum(not p.answers and _was_up(p) for p in serving_pods(scene, status))
    return max(1, borrowed - fell)


def _was_up(pod: Pod) -> bool:
    return pod.started or pod.restarts > 0 or pod.silence is not None


def _ailing(scene: Scene, status: Status) -> Ailment | None:
    """What is wrong with a serving pod that does not answer."""
    budget = scene.spec.engine.startup_seconds if scene.spec else 10**9
    return ailment([p for p in serving_pods(scene, status) if not p.answers], scene.now, budget)


def _lack(scene: Scene, status: Status, count: str) -> tuple[str, str]:
    pods = serving_pods(scene, status)
    found = _ailing(scene, status)
    if found is not None:
        return Reason.ENGINE_FAILING, f"{count}; {found.message}"
    refusal = refused_pods(scene, status)
    if refusal is not None:
        return Reason.PODS_REFUSED, f"{count}; {refusal}"
    unplaced = _unplaced(scene, status)
    if unplaced is not None:
        words = scene.seen.missing_label or f"pod {unplaced[0].name}: {unplaced[1]}"
        lost = lost_pods(scene, status)
        return Reason.CAPACITY_LOST if lost else Reason.UNSCHEDULABLE, f"{count}; {words}"
    before = status.condition(Kind.READY)
    fell = before is not None and (before.status == "True" or before.reason == Reason.TOO_FEW_READY)
    if fell and any(p.started for p in pods if not p.ready):
        return Reason.TOO_FEW_READY, f"{count}; pods that were ready are not"
    return Reason.STARTING, f"{count}; engines load"


def _unplaced(scene: Scene, status: Status) -> tuple[Pod, str] | None:
    """The first serving pod that no node takes, and why."""
    found = ((p, homeless(p, scene.now)) for p in serving_pods(scene, status))
    return next(((p, words) for p, words in found if words is not None), None)


def available(scene: Scene, status: Status) -> Verdict:
    """At least one pod answers clients; capacity lost to a trial is named."""
    up = sum(p.answers for p in scene.seen.pods if not p.terminating)
    if scene.replicas == 0:
        return "False", Reason.SCALED_TO_ZERO, "replicas is 0"
    lost = lost_pods(scene, status)
    if lost:
        text = (
            f"{up} pods answer; pod {lost[0].name}, given back after a trial, finds no node: "
            f"{homeless(lost[0], scene.now)}; no further trial until it does"
        )
        return "False", Reason.CAPACITY_LOST, text
    if up:
        still = stand_still(scene.seen.pods)
        return "True", Reason.SERVING, f"{up} pods answer" + (f"; {still}" if still else "")
    return "False", *_lack(scene, status, "no pod answers")


def progressing(scene: Scene, status: Status) -> Verdict:
    """A rollout or a promotion moves pods; with what holds it up."""
    if status.serving is None or settled(scene, status):
        return "False", Reason.SETTLED, "every pod is where it should be"
    parts = [f"pods move one by one; {status.serving.name} serves", obstacle(scene, status), overstay(scene)]
    return "True", Reason.ROLLING, "; ".join(part for part in parts if part)


def obstacle(scene: Scene, status: Status) -> str | None:
    """The serving pod that keeps a rollout from going on, and why: pods move only in a fleet that is whole.
    None: nothing is known to be wrong; engines may be loading."""
    found, refusal = _ailing(scene, status), refused_pods(scene, status)
    if found is not None or refusal is not None:
        return found.message if found is not None else refusal
    unplaced = _unplaced(scene, status)
    if unplaced is not None:
        return f"pod {unplaced[0].name} finds no node: {unplaced[1]}"
    down = next((p for p in serving_pods(scene, status) if p.started and not p.ready), None)
    return None if down is None else f"pod {down.name} was ready and is not"


def trialing(scene: Scene, status: Status) -> Verdict:
    """A drafter is on trial; the reason is the trial's state."""
    trial, hindered = status.trial, _hindered(scene, status)[1]
    if trial is None:
        held = hold(scene, status)
        reason, words = (held.reason, held.message) if held else (Reason.NO_CANDIDATE.value, "none is due")
        return "False", reason, "; ".join((words, *hindered))
    extra = f" ({trial.reason})" if trial.reason else ""
    return "True", trial.state, "; ".join((f"{trial.drafter}, attempt {trial.attempt}{extra}", *hindered))


def metrics_available(scene: Scene, status: Status) -> Verdict:
    """The engines' counters can be read."""
    if scene.seen.unreadable:
        pod, why = next(iter(sorted(scene.seen.unreadable.items())))
        return "False", Reason.SCRAPE_FAILED, f"{len(scene.seen.unreadable)} pods can't be read; {pod}: {why}"
    if scene.seen.window is not None:
        return "True", Reason.READABLE, "the counters of every ready pod are read"
    known = status.condition(Kind.METRICS_AVAILABLE)
    if known is not None:
        return known.status, known.reason, known.message
    return "Unknown", Reason.NOT_YET_READ, "no window has ended yet"


CONDITIONS: tuple[tuple[Kind, Callable[[Scene, Status], Verdict]], ...] = (
    (Kind.READY, ready),
    (Kind.AVAILABLE, available),
    (Kind.PROGRESSING, progressing),
    (Kind.TRIALING, trialing),
    (Kind.PROTECTED, protected),
    (Kind.METRICS_AVAILABLE, metrics_available),
)


def with_conditions(scene: Scene, status: Status) -> Status:
    """The status with every condition as it is now; a transition time moves with its status only."""
    conditions = [_condition(scene, status, kind, check(scene, status)) for kind, check in CONDITIONS]
    return status.model_copy(update={"conditions": conditions})


def _condition(scene: Scene, status: Status, kind: Kind, verdict: Verdict) -> Condition:
    state, reason, message = verdict
    old = status.condition(kind)
    moved = old is None or old.status != state
    return Condition(
        type=kind.value,
        status=state,
        observed_generation=scene.seen.generation,
        last_transition_time=instant(scene.now) if moved or old is None else old.last_transition_time,
        reason=str(reason),
        message=message[:_LONGEST],
    )


def _with_more(lines: list[str]) -> str:
    return lines[0] if len(lines) == 1 else f"{lines[0]} (and {len(lines) - 1} more: {'; '.join(lines[1:4])})"
