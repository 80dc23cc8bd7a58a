"""A promotion in steps: more pods for the proven drafter, soak, more pods, with the guard on all the time.

The first step, its trial's own pods, is soaked by the trial. Beyond half of the pods it goes only when the
ranges of load that carry the day's traffic stand behind the proof.
"""

from specdeploy.api.names import BASELINE
from specdeploy.api.reasons import Outcome, TrialState
from specdeploy.api.spec import Spec
from specdeploy.api.status import Serving, Status, TrialStatus, Verdict, instant
from specdeploy.judge.guard import start_guard, uncovered
from specdeploy.judge.guard_state import pack_guard
from specdeploy.rollout.decision import Event
from specdeploy.rollout.evidence import load, settings_of
from specdeploy.rollout.learning import learned
from specdeploy.rollout.retention import forgotten
from specdeploy.rollout.scene import Scene, served_pods, settled
from specdeploy.rollout.serving import proven, succession_end
from specdeploy.rollout.steps import beyond_half, following, stepped
from specdeploy.rollout.watch import guard_of, soak

Told = tuple[Status, tuple[Event, ...]]
# The trial's own pods: the step that its trial has soaked.
_FIRST = 1


def promote(scene: Scene, status: Status, trial: TrialStatus, verdict: Verdict) -> Status:
    """Serve the proven drafter, with its trial's pods at first; its guard begins with what it has proven."""
    before = status.serving.model_copy(update={"finding": None}) if status.serving else None
    serving, spec, arm = proven(verdict, trial.template, scene.now), scene.spec, status.baseline
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
    return status.model_copy(update=update)


def next_step(scene: Scene, status: Status, trial: TrialStatus, spec: Spec) -> int | None:
    """The step that follows, in per cent of the serving pods; None where it has all of them."""
    if trial.step is None:
        return None
    return following(spec.promotion.steps, trial.step, served_pods(scene, status), spec.trial.replicas)


def unproven(scene: Scene, status: Status, spec: Spec, percent: int) -> tuple[str, ...]:
    """Ranges of load for want of which a step is not taken yet: it leads beyond half of the pods."""
    if not beyond_half(served_pods(scene, status), percent, spec.trial.replicas):
        return ()
    settings = settings_of(scene, status, spec)
    return uncovered(guard_of(status, settings)[0], learned(status, settings).shares)


def take_step(scene: Scene, status: Status, trial: TrialStatus, spec: Spec) -> Told:
    """The next step, once the soak of this one is over; a pause and an invalid spec hold it where it is."""
    percent = next_step(scene, status, trial, spec)
    if percent is None or not settled(scene, status) or scene.paused or not scene.valid:
        return status, ()
    soaked = trial.soaked >= (trial.soak or 0) and not unproven(scene, status, spec, percent)
    if not soaked and not _overdue(scene, status, trial):
        return status, ()
    update = {"step": percent, "state_time": instant(scene.now), "soaked": 0, "soak": None}
    moved = trial.model_copy(update=update)
    if next_step(scene, status, moved, spec) is not None:
        state = guard_of(status, settings_of(scene, status, spec))[0]
        moved = moved.model_copy(update={"soak": soak(spec, state)})
    served = served_pods(scene, status)
    pods = stepped(served, percent, spec.trial.replicas)
    after = f" after {trial.soaked} windows of soak" if trial.soak else ""
    text = f"{trial.drafter} gets {pods} of {served} serving pods{after}"
    return status.model_copy(update={"trial": moved}), (Event("Normal", "PromotionStep", text),)


def _overdue(scene: Scene, status: Status, trial: TrialStatus) -> bool:
    """What served before is not what the spec asks for, and its time is up: the spec always wins."""
    old = trial.fallback
    left = old is not None and old.name != BASELINE and scene.by_revision(old.revision) is None
    return left and scene.now >= succession_end(scene, status)


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
