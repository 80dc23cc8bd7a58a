"""One trial, one step: endings first, then its evidence, then its next state.

WaitingFor... -> Starting -> WarmingUp -> Measuring -> Promoting or RollingBack -> (the next one)
"""

from specdeploy.api.reasons import Outcome, TrialReason, TrialState
from specdeploy.api.spec import Spec
from specdeploy.api.status import Serving, Status, TrialStatus, instant, seconds
from specdeploy.rollout.candidates import choose
from specdeploy.rollout.decision import Ending, Event
from specdeploy.rollout.endings import Case, deadline, ending_of, out_of_time_unread
from specdeploy.rollout.evidence import judge_window
from specdeploy.rollout.promotion import demoted, given_up, next_step, promote, take_step
from specdeploy.rollout.scene import Scene, settled, wanted_counts
from specdeploy.rollout.serving import fall_back, follow_spec
from specdeploy.rollout.stuck import homeless, leaving
from specdeploy.rollout.takeover import edit, failed, left
from specdeploy.rollout.verdicts import record, verdict_of
from specdeploy.rollout.way_back import rolled_back, with_pace

_WAITING = frozenset({TrialState.WAITING_FOR_SLOT, TrialState.WAITING_FOR_CAPACITY})
# Outcomes that are nobody's fault and need no attention.
_CALM = frozenset({Outcome.PROMOTED, Outcome.RUNNER_UP, Outcome.SUPERSEDED, Outcome.ABORTED})

Told = tuple[Status, tuple[Event, ...]]


def step_trial(scene: Scene, status: Status) -> Told:
    """The trial's next status. While the spec is invalid only the total deadline acts."""
    trial = status.trial
    if trial is None or trial.state in _WAITING:
        return choose(scene, status)
    if trial.state is TrialState.PROMOTING:
        return _promoting(scene, status, trial)
    if trial.state is TrialState.ROLLING_BACK:
        return _rolling_back(scene, status, trial)
    return _on_stage(scene, status, trial)


def abort(scene: Scene, status: Status, drafter: str | None) -> tuple[Status, tuple[Event, ...], str]:
    """End the trial, or reverse the promotion, because somebody asked for it; the last value says what came
    of it. What serves with every pod is no trial any more."""
    trial = status.trial
    if trial is None or trial.state is TrialState.ROLLING_BACK or drafter not in (None, trial.drafter):
        return status, (), "nothing to abort"
    text = f"{trial.drafter} was aborted by annotation; it is not tried again until a retry"
    ending = Ending(Outcome.ABORTED, "AbortRequested", text)
    if trial.state is TrialState.PROMOTING:
        status, events = reverse(scene, status, trial, ending, "was aborted")
        return status, events, f"the promotion of {trial.drafter} is reversed"
    status, events = end(scene, status, trial, ending)
    return status, events, f"the trial of {trial.drafter} ends"


def _on_stage(scene: Scene, status: Status, trial: TrialStatus) -> Told:
    spec = scene.spec
    if spec is None or not scene.valid:
        return _frozen(scene, status, trial)
    trial = trial.model_copy(update={"deadline_time": instant(deadline(trial, spec))})
    ending = ending_of(Case(scene, status, trial), spec)
    if ending is not None:
        return end(scene, status, trial, ending)
    if trial.state is TrialState.STARTING:
        return _starting(scene, status, trial)
    judged = judge_window(scene, status, spec, trial)
    status = _count_trial(status, before=trial, after=judged.trial)
    if judged.ending is not None:
        status, events = end(scene, status, judged.trial, judged.ending)
        return status, (*judged.events, *events)
    moved = _measured(scene, status, spec, judged.trial)
    return status.model_copy(update={"trial": moved}), judged.events


def _frozen(scene: Scene, status: Status, trial: TrialStatus) -> Told:
    """With an invalid spec no trial advances, but none holds its pod for ever."""
    ending = out_of_time_unread(Case(scene, status, trial))
    return (status, ()) if ending is None else end(scene, status, trial, ending)


def _count_trial(status: Status, *, before: TrialStatus, after: TrialStatus) -> Status:
    """A trial counts for the correction of many candidates from its first window on."""
    baseline = status.baseline
    if before.evidence is not None or after.evidence is None or baseline is None:
        return status
    return status.model_copy(update={"baseline": baseline.model_copy(update={"trials": baseline.trials + 1})})


def _whole(scene: Scene, status: Status, trial: TrialStatus) -> bool:
    """Whether all of the trial's pods are there and ready."""
    pods = scene.pods(trial.template)
    asked = wanted_counts(scene, status).get(trial.template, 0)
    return len(pods) >= max(1, asked) and all(p.ready for p in pods)


def _starting(scene: Scene, status: Status, trial: TrialStatus) -> Told:
    if not _whole(scene, status, trial):
        return status.model_copy(update={"trial": _room(scene, trial)}), ()
    ready = max(p.ready_since or scene.now for p in scene.pods(trial.template))
    update = {"ready_time": instant(ready), "unschedulable_time": None, "reason": None}
    text = f"{trial.drafter} is ready after {scene.now - seconds(trial.start_time):.0f} s and warms up"
    warm = _to(trial, TrialState.WARMING_UP, scene.now).model_copy(update=update)
    return status.model_copy(update={"trial": warm}), (Event("Normal", "TrialReady", text),)


def _room(scene: Scene, trial: TrialStatus) -> TrialStatus:
    """Start the clock of NoCapacity when the trial's pod can't come and no pod of ours is leaving."""
    reason = None if leaving(scene) else _stuck(scene, trial.template)
    since = (trial.unschedulable_time or instant(scene.now)) if reason else None
    return trial.model_copy(update={"unschedulable_time": since, "reason": reason})


def _stuck(scene: Scene, template: str) -> TrialReason | None:
    """Why pods of a template can't come: they or their Deployment are refused, or no node has room."""
    existing = scene.deployment(template)
    if template in scene.seen.unmade or (existing is not None and existing.failure):
        return TrialReason.PODS_REFUSED
    unplaced = any(homeless(p, scene.now) is not None for p in scene.pods(template))
    return TrialReason.UNSCHEDULABLE if unplaced else None


def _measured(scene: Scene, status: Status, spec: Spec, trial: TrialStatus) -> TrialStatus:
    if not _whole(scene, status, trial):
        return _room(scene, trial).model_copy(update={"reason": TrialReason.POD_REPLACED.value})
    trial = trial.model_copy(update={"reason": None, "unschedulable_time": None})
    warm = seconds(trial.ready_time or trial.start_time) + spec.trial.warmup <= scene.now
    if trial.state is TrialState.WARMING_UP and (warm or trial.windows):
        return _to(trial, TrialState.MEASURING, scene.now)
    return trial


def _to(trial: TrialStatus, state: TrialState, now: float) -> TrialStatus:
    return trial.model_copy(update={"state": state, "state_time": instant(now)})


def end(
    scene: Scene, status: Status, trial: TrialStatus, ending: Ending, moved: tuple[Event, ...] = ()
) -> Told:
    """Write the verdict, and set what follows in motion: promotion, or the way back by one write. `moved`:
    what the ending has done to what serves; told after it, if the spec does not undo it at once."""
    verdict = verdict_of(trial.drafter, trial.revision, trial.attempt, ending, scene.now).model_copy(
        update={"recent": trial.recent, "first_window_time": trial.first_window_time}
    )
    status = record(status, verdict, scene.listed)
    event = Event("Normal" if ending.outcome in _CALM else "Warning", ending.outcome.value, ending.message)
    if ending.outcome is Outcome.PROMOTED:
        status = promote(scene, status, trial, verdict)
        status, stepped = step_trial(scene, status)
        return status, (event, *stepped)
    waiting = trial.state in _WAITING
    over = None if waiting else _to(trial, TrialState.ROLLING_BACK, scene.now)
    status = status.model_copy(update={"trial": over})
    # What serves on an engine that the spec has left may have lost its heir just now.
    status, followed = follow_spec(scene, status)
    undone = any(other.reason == told.reason for other in followed for told in moved)
    return status, (event, *(() if undone else moved), *followed)


def _promoting(scene: Scene, status: Status, trial: TrialStatus) -> Told:
    serving, spec = status.serving, scene.spec
    if serving is None or serving.revision != trial.revision:  # the spec has taken it out in between
        return status.model_copy(update={"trial": _to(trial, TrialState.ROLLING_BACK, scene.now)}), ()
    if spec is None:
        return status, ()
    for ending, why in (
        (left(scene, trial), edit(scene, trial)),
        (failed(scene, trial, scene.pods(serving.template), spec), "failed"),
        (given_up(scene, status, trial, spec), "was given up"),
    ):
        if ending is not None:
            return reverse(scene, status, trial, ending, why)
    if next_step(scene, status, trial, spec) is not None:
        return take_step(scene, status, trial, spec)
    return _complete(scene, status, trial, serving)


def _complete(scene: Scene, status: Status, trial: TrialStatus, serving: Serving) -> Told:
    """The end of a promotion, once every pod is in place."""
    if not settled(scene, status) or scene.replicas == 0:  # no pods are no soak
        return status, ()
    text = f"{serving.name} serves with every pod ({serving.summary})"
    status = demoted(status, trial.fallback).model_copy(update={"trial": None})
    status, chosen = choose(scene, status)
    return status, (Event("Normal", "PromotionComplete", text), *chosen)


def reverse(scene: Scene, status: Status, trial: TrialStatus, ending: Ending, why: str) -> Told:
    """A promotion goes back to what served before, as fast as its loss is worth. `why`: what its drafter did
    or suffered."""
    back, off = trial.fallback, status.serving
    if off is not None:
        status = rolled_back(scene, status, off, ending.loss)
    why = with_pace(f"{trial.drafter} {why} while it took over", status)
    if back is not None and (scene.deployment(back.template) or scene.buildable(back.template)):
        status = status.model_copy(update={"serving": back})
        moved: tuple[Event, ...] = (Event("Normal", "NowServing", f"{back.name} serves: {why}"),)
    else:
        status, moved = fall_back(scene, status, why)
    return end(scene, status, trial, ending, moved)


def _rolling_back(scene: Scene, status: Status, trial: TrialStatus) -> Told:
    """Over when its pods are on their way out; then the next candidate may have the slot."""
    existing = scene.deployment(trial.template)
    serves = status.serving is not None and status.serving.template == trial.template
    if not serves and (scene.pods(trial.template) or (existing is not None and existing.replicas > 0)):
        return status, ()
    return choose(scene, status.model_copy(update={"trial": None}))
