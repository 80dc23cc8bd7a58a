"""A promotion in steps: more pods for the proven drafter, soak, more pods, with the guard on all the time.

The first step, its trial's own pods, is soaked by the trial. Beyond half of the pods it goes only when the
ranges of load that carry the day's traffic stand behind the proof, and it is slower in none of them. Only the
step to 100 % completes it: pods that an autoscaler takes away for the night make no smaller step the last.
"""

from specdeploy.api.names import BASELINE
from specdeploy.api.reasons import Outcome, TrialState
from specdeploy.api.spec import Spec
from specdeploy.api.status import Serving, Status, TrialStatus, Verdict, instant, seconds
from specdeploy.judge.guard import guard_summary, start_guard
from specdeploy.judge.guard_state import pack_guard
from specdeploy.rollout.decision import Ending, Event
from specdeploy.rollout.evidence import load, settings_of
from specdeploy.rollout.learning import learned
from specdeploy.rollout.retention import forgotten
from specdeploy.rollout.scene import Scene, served_pods, settled
from specdeploy.rollout.serving import proven, succession_end
from specdeploy.rollout.soak import expected, losing, unmeasured, unsoaked
from specdeploy.rollout.steps import WHOLE, beyond_half, following, stepped
from specdeploy.rollout.watch import guard_of

Told = tuple[Status, tuple[Event, ...]]
# The trial's own pods: the step that its trial has soaked.
_FIRST = 1


def promote(scene: Scene, status: Status, trial: TrialStatus, verdict: Verdict) -> Status:
    """Serve the proven drafter, with its trial's pods at first; its guard begins with what it has proven."""
    before = status.serving.model_copy(update={"finding": None}) if status.serving else None
    serving, spec, arm = proven(verdict, trial.template, scene.now), scene.spec, status.baseline
    if trial.ready_time is not None:
        took = seconds(trial.ready_time) - seconds(trial.start_time)
        serving = serving.model_copy(update={"pod_seconds": int(max(0.0, took))})
    if spec is not None:
        settings = settings_of(scene, status, spec)
        state = start_guard(load(status, trial, settings)[0], settings)
        serving = serving.model_copy(update={"guard": pack_guard(state)})
    moved = trial.model_copy(
        update={
            "state": TrialState.PROMOTING,
            "state_time": instant(scene.now),
            "reason": None,
            "fallback": before,
            "evidence": None,
            "step": _FIRST,
            "soak": 0,
        }
    )
    update = {"serving": serving, "trial": moved, "baseline": arm and forgotten(arm)}
    status = status.model_copy(update=update)
    if spec is None or not _has_all(scene, status, moved, spec):
        return status
    return status.model_copy(update={"trial": moved.model_copy(update={"step": WHOLE})})


def _has_all(scene: Scene, status: Status, trial: TrialStatus, spec: Spec) -> bool:
    """Whether a step gives all the serving pods that there are now."""
    served = served_pods(scene, status)
    return trial.step is not None and stepped(served, trial.step, spec.trial.replicas) >= served


def next_step(scene: Scene, status: Status, trial: TrialStatus, spec: Spec) -> int | None:
    """The step that follows, in per cent of the serving pods; None after the last. All the pods are 100 %."""
    if trial.step is None or trial.step >= WHOLE:
        return None
    served, least = served_pods(scene, status), spec.trial.replicas
    percent = following(spec.promotion.steps, trial.step, served, least)
    return WHOLE if percent is None or stepped(served, percent, least) >= served else percent


def awaited(scene: Scene, status: Status, trial: TrialStatus, spec: Spec, percent: int) -> str | None:
    """What must come before the step to `percent` of the pods, in words; None where it may be taken."""
    settings = settings_of(scene, status, spec)
    state = guard_of(status, settings)[0]
    found = unsoaked(spec, state, trial) or _shrunk(scene, status, trial, spec)
    if found is not None or not _gated(scene, status, trial, spec, percent):
        return found
    shares = learned(status, settings).shares
    return unmeasured(state, shares) or losing(state, shares)


def _shrunk(scene: Scene, status: Status, trial: TrialStatus, spec: Spec) -> str | None:
    """A step that has all the pods since there are fewer waits for more of them, a day long: they would all
    be the drafter's when they are back."""
    due = seconds(trial.state_time) + spec.trial.total_deadline_seconds
    if not _has_all(scene, status, trial, spec) or scene.now >= due:
        return None
    return f"they are all since there are fewer: it waits for more pods, until {instant(due)}"


def _gated(scene: Scene, status: Status, trial: TrialStatus, spec: Spec, percent: int) -> bool:
    """Whether a step needs the ranges of load: it goes beyond half of the pods, or there were more."""
    served = served_pods(scene, status)
    return beyond_half(served, percent, spec.trial.replicas) or _has_all(scene, status, trial, spec)


def given_up(scene: Scene, status: Status, trial: TrialStatus, spec: Spec) -> Ending | None:
    """A step that proves nothing for as long as a trial may last, though traffic was there: it would hold up
    every other drafter for ever."""
    percent, waited = next_step(scene, status, trial, spec), scene.now - seconds(trial.state_time)
    measured = trial.soaked * spec.trial.window_seconds
    if percent is None or scene.paused or not scene.valid or not settled(scene, status):
        return None
    if waited < spec.trial.total_deadline_seconds or measured < spec.trial.deadline_seconds:
        return None
    settings = settings_of(scene, status, spec)
    state = guard_of(status, settings)[0]
    why = unsoaked(spec, state, trial)
    if why is None and _gated(scene, status, trial, spec, percent):
        why = losing(state, learned(status, settings).shares)
    if why is None:
        return None
    text = f"{trial.drafter}, after {waited:.0f} s at one step of its promotion: {why}; rolled back"
    newest = guard_summary(state).newest
    return Ending(Outcome.INCONCLUSIVE, "TotalDeadline", text, newest=newest)


def take_step(scene: Scene, status: Status, trial: TrialStatus, spec: Spec) -> Told:
    """The next step, once the soak of this one is over; a pause and an invalid spec hold it where it is."""
    percent = next_step(scene, status, trial, spec)
    if percent is None or not settled(scene, status) or scene.paused or not scene.valid:
        return status, ()
    if awaited(scene, status, trial, spec, percent) is not None and not _overdue(scene, trial):
        return status, ()
    update = {"step": percent, "state_time": instant(scene.now), "soaked": 0, "soak": None}
    moved = trial.model_copy(update=update)
    if next_step(scene, status, moved, spec) is not None:
        state = guard_of(status, settings_of(scene, status, spec))[0]
        moved = moved.model_copy(update={"soak": expected(spec, state, 0)})
    served = served_pods(scene, status)
    pods = stepped(served, percent, spec.trial.replicas)
    after = f" after {trial.soaked} windows of soak" if trial.soak else ""
    text = f"{trial.drafter} gets {pods} of {served} serving pods{after}"
    return status.model_copy(update={"trial": moved}), (Event("Normal", "PromotionStep", text),)


def _overdue(scene: Scene, trial: TrialStatus) -> bool:
    """What served before is not what the spec asks for, and its time is up: the spec always wins."""
    old = trial.fallback
    left = old is not None and old.name != BASELINE and scene.by_revision(old.revision) is None
    return old is not None and left and scene.now >= succession_end(scene, old)


def demoted(status: Status, old: Serving | None) -> Status:
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
