"""One trial, one step: endings first, then its evidence, then its next state.

WaitingFor... -> Starting -> WarmingUp -> Measuring -> Promoting or RollingBack -> (the next one)
"""

from specdeploy.api.names import BASELINE
from specdeploy.api.reasons import Outcome, TrialState
from specdeploy.api.spec import Spec
from specdeploy.api.status import Serving, Status, TrialStatus, Verdict, instant, seconds
from specdeploy.engine.revision import Template
from specdeploy.rollout.candidates import choose
from specdeploy.rollout.decision import Ending, Event
from specdeploy.rollout.endings import Case, ending_of, roles_of
from specdeploy.rollout.evidence import judge_window
from specdeploy.rollout.health import ailment
from specdeploy.rollout.plan import wanted_counts
from specdeploy.rollout.scene import Scene
from specdeploy.rollout.serving import fall_back, proven
from specdeploy.rollout.verdicts import record, verdict_of

_WAITING = frozenset({TrialState.WAITING_FOR_SLOT, TrialState.WAITING_FOR_CAPACITY})
# Outcomes that are nobody's fault and need no attention.
_CALM = frozenset({Outcome.PROMOTED, Outcome.RUNNER_UP, Outcome.SUPERSEDED, Outcome.ABORTED})

Told = tuple[Status, tuple[Event, ...]]


def step_trial(scene: Scene, status: Status, *, abort: bool) -> Told:
    """The trial's next status. While the spec is invalid only an abort and the total deadline act."""
    trial = status.trial
    if trial is None:
        return choose(scene, status)
    if trial.state is TrialState.PROMOTING:
        return _promoting(scene, status, trial)
    if trial.state is TrialState.ROLLING_BACK:
        return _rolling_back(scene, status, trial)
    if trial.state in _WAITING and not abort:
        return choose(scene, status)
    return _on_stage(scene, status, trial, abort=abort)


def _on_stage(scene: Scene, status: Status, trial: TrialStatus, *, abort: bool) -> Told:
    spec = scene.spec
    case = Case(scene, status, trial, scene.buildable(trial.template), abort=abort)
    if spec is None or scene.findings:
        return _frozen(case, spec)
    ending = ending_of(case, spec)
    if ending is not None:
        return end(scene, status, trial, ending)
    if trial.state is TrialState.STARTING:
        return _starting(scene, status, spec, trial)
    judged = judge_window(scene, status, spec, trial)
    status = _count_trial(status, before=trial, after=judged.trial)
    if judged.ending is not None:
        status, events = end(scene, status, judged.trial, judged.ending)
        return status, (*judged.events, *events)
    moved = _measured(scene, spec, judged.trial)
    return status.model_copy(update={"trial": moved}), judged.events


def _frozen(case: Case, spec: Spec | None) -> Told:
    """With an invalid spec no trial advances; what somebody asks for still happens."""
    if case.abort:
        text = f"{case.trial.drafter} was aborted by annotation"
        return end(case.scene, case.status, case.trial, Ending(Outcome.ABORTED, "AbortRequested", text))
    if spec is not None and case.age >= spec.trial.total_deadline_seconds:
        text = f"{case.trial.drafter} was undecided at trial.totalDeadlineSeconds; the spec is invalid"
        return end(case.scene, case.status, case.trial, Ending(Outcome.INCONCLUSIVE, "TotalDeadline", text))
    return case.status, ()


def _count_trial(status: Status, *, before: TrialStatus, after: TrialStatus) -> Status:
    """A trial counts for the correction of many candidates from its first window on."""
    baseline = status.baseline
    if before.evidence is not None or after.evidence is None or baseline is None:
        return status
    return status.model_copy(update={"baseline": baseline.model_copy(update={"trials": baseline.trials + 1})})


def _starting(scene: Scene, status: Status, spec: Spec, trial: TrialStatus) -> Told:
    pods = scene.pods(trial.template)
    roles = roles_of(scene, status, trial.template)
    wanted = min(spec.trial.replicas, spec.replicas)
    if roles is not None and len(pods) >= min(1, wanted) and all(p.ready for p in pods):
        ready = max((p.ready_since or scene.now for p in pods), default=scene.now)
        update = {"ready_time": instant(ready), "unschedulable_time": None, "reason": None}
        text = f"{trial.drafter} is ready after {scene.now - seconds(trial.start_time):.0f} s and warms up"
        warm = _to(trial, TrialState.WARMING_UP, scene.now).model_copy(update=update)
        return status.model_copy(update={"trial": warm}), (Event("Normal", "TrialReady", text),)
    return status.model_copy(update={"trial": _room(scene, trial)}), ()


def _room(scene: Scene, trial: TrialStatus) -> TrialStatus:
    """Start the clock of NoCapacity when the trial's pod finds no room and no pod of ours is leaving."""
    leaving = any(p.terminating for p in scene.seen.pods)
    stuck = any(p.unschedulable for p in scene.pods(trial.template)) and not leaving
    since = (trial.unschedulable_time or instant(scene.now)) if stuck else None
    return trial.model_copy(
        update={"unschedulable_time": since, "reason": "Unschedulable" if stuck else None}
    )


def _measured(scene: Scene, spec: Spec, trial: TrialStatus) -> TrialStatus:
    pods = scene.pods(trial.template)
    if not pods or not all(p.ready for p in pods):
        return trial.model_copy(update={"reason": "PodReplaced"})  # evidence is kept, windows pause
    trial = trial.model_copy(update={"reason": None})
    warm = seconds(trial.ready_time or trial.start_time) + spec.trial.warmup <= scene.now
    if trial.state is TrialState.WARMING_UP and (warm or trial.windows):
        return _to(trial, TrialState.MEASURING, scene.now)
    return trial


def _to(trial: TrialStatus, state: TrialState, now: float) -> TrialStatus:
    return trial.model_copy(update={"state": state, "state_time": instant(now)})


def end(scene: Scene, status: Status, trial: TrialStatus, ending: Ending) -> Told:
    """Write the verdict, and set what follows in motion: promotion, or the way back by one write."""
    template = scene.buildable(trial.template) or Template(
        drafter=trial.drafter, config=None, revision=trial.revision, shape="", hash=trial.template
    )
    verdict = verdict_of(template, trial.attempt, ending, scene.now)
    status = record(status, verdict, listed(scene))
    event = Event("Normal" if ending.outcome in _CALM else "Warning", ending.outcome.value, ending.message)
    if ending.outcome is Outcome.PROMOTED:
        return _promote(scene, status, trial, template, verdict), (event,)
    status = _succeed(scene, status, template)
    state = None if trial.state in _WAITING else _to(trial, TrialState.ROLLING_BACK, scene.now)
    return status.model_copy(update={"trial": state}), (event,)


def listed(scene: Scene) -> set[str]:
    """Revisions that the spec gives now: their verdicts are kept."""
    if scene.arms is None:
        return set()
    return {scene.arms.baseline.revision, *(t.revision for t in scene.arms.drafters)}


def _promote(
    scene: Scene, status: Status, trial: TrialStatus, template: Template, verdict: Verdict
) -> Status:
    old = status.serving
    moved = _to(trial, TrialState.PROMOTING, scene.now).model_copy(update={"fallback": old})
    return _demote(status, old).model_copy(
        update={"serving": proven(template, verdict, scene.now), "trial": moved}
    )


def _demote(status: Status, old: Serving | None) -> Status:
    """What served until now was proven against the baseline: it becomes a runner-up to fall back to."""
    if old is None or old.name == BASELINE:
        return status
    verdicts = [
        v.model_copy(update={"outcome": Outcome.RUNNER_UP})
        if v.revision == old.revision and v.outcome is Outcome.PROMOTED
        else v
        for v in status.verdicts or []
    ]
    return status.model_copy(update={"verdicts": verdicts or None})


def _succeed(scene: Scene, status: Status, failed: Template) -> Status:
    """The heir of a drafter that serves on an old engine has failed: the new baseline takes over."""
    serving = status.serving
    old = serving is not None and serving.name != BASELINE and scene.by_revision(serving.revision) is None
    if not old or serving is None or serving.name != failed.drafter:
        return status
    status, _ = fall_back(scene, status, f"{failed.drafter} is not proven on the new engine")
    return status


def _promoting(scene: Scene, status: Status, trial: TrialStatus) -> Told:
    spec = scene.spec
    pods = scene.pods(trial.template)
    found = ailment(pods, scene.now, spec.engine.startup_seconds) if spec else None
    if found is not None:
        return _reverse(scene, status, trial, Ending(Outcome.UNHEALTHY, found.reason, found.message))
    if settled(scene, status):
        held = status.serving.summary if status.serving else ""
        text = f"{trial.drafter} serves with every pod ({held})"
        return status.model_copy(update={"trial": None}), (Event("Normal", "PromotionComplete", text),)
    return status, ()


def _reverse(scene: Scene, status: Status, trial: TrialStatus, ending: Ending) -> Told:
    """A promotion whose pods fail goes back to what served before."""
    back = trial.fallback
    usable = back is not None and (
        scene.deployment(back.template) is not None or scene.buildable(back.template) is not None
    )
    if usable:
        status = status.model_copy(update={"serving": back})
    else:
        status, _ = fall_back(scene, status, f"{trial.drafter} failed while it took over")
    trial = trial.model_copy(update={"fallback": None})
    ending = Ending(ending.outcome, ending.reason, f"{trial.drafter} while it took over: {ending.message}")
    return end(scene, status, trial, ending)


def _rolling_back(scene: Scene, status: Status, trial: TrialStatus) -> Told:
    """Over when its pods are on their way out; then the next candidate may have the slot."""
    existing = scene.deployment(trial.template)
    serves = status.serving is not None and status.serving.template == trial.template
    if not serves and (scene.pods(trial.template) or (existing is not None and existing.replicas > 0)):
        return status, ()
    return choose(scene, status.model_copy(update={"trial": None}))


def settled(scene: Scene, status: Status) -> bool:
    """Whether every pod is where `allocate` wants it, and ready."""
    counts = wanted_counts(scene, status)
    here = [p for p in scene.seen.pods if not p.terminating]
    if any(not p.ready for p in here) or len(here) != sum(counts.values()):
        return False
    return all(len(scene.pods(template)) == n for template, n in counts.items())
