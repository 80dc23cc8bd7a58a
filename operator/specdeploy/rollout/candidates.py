"""Which drafter is tried next, and whether a trial may start: ordered checks that say why not."""

from collections.abc import Callable
from dataclasses import dataclass

from specdeploy.api.names import ANNOTATION_RETRY, BASELINE
from specdeploy.api.reasons import Outcome, Reason, TrialState
from specdeploy.api.status import Status, TrialStatus, instant, seconds
from specdeploy.engine.revision import RENDER_VERSION, Template
from specdeploy.judge import Sensitivity, sensitivity
from specdeploy.rollout.allocate import needed
from specdeploy.rollout.decision import Event
from specdeploy.rollout.evidence import settings_of, yardsticks
from specdeploy.rollout.learning import learned
from specdeploy.rollout.scene import Scene, holds_back, roles_of
from specdeploy.rollout.serving import succession
from specdeploy.rollout.verdicts import attempts, quarantined


@dataclass(frozen=True)
class Hold:
    """Why no trial runs: a reason and a sentence. `state`: shown as a waiting trial where one is due."""

    reason: str
    message: str
    state: TrialState | None = None


def next_candidate(scene: Scene, status: Status) -> Template | None:
    """The drafter to try next: the heir of what serves on an old engine, else the first listed one that
    has no standing verdict and does not serve."""
    if scene.arms is None:
        return None
    heir = succession(scene, status)
    if heir is not None and not quarantined(status, heir, scene.now):
        return heir
    serving = status.serving.revision if status.serving else ""
    for template in scene.arms.drafters:
        if template.revision == serving or scene.drafters.get(template.drafter):
            continue
        if not quarantined(status, template, scene.now):
            return template
    return None


def _invalid(scene: Scene, _: Status) -> Hold | None:
    return None if scene.valid else Hold(Reason.INVALID_SPEC, "the spec is invalid")


def _outdated(scene: Scene, _: Status) -> Hold | None:
    outdated = scene.seen.crd_outdated
    return Hold(Reason.CRD_OUTDATED, outdated) if outdated else None


def _taken(scene: Scene, _: Status) -> Hold | None:
    return Hold(Reason.NAME_TAKEN, scene.seen.taken[0]) if scene.seen.taken else None


def _paused(scene: Scene, _: Status) -> Hold | None:
    return Hold(Reason.PAUSED, "paused: no trial starts and nothing is promoted") if scene.paused else None


def _no_drafters(scene: Scene, _: Status) -> Hold | None:
    if scene.spec is not None and (scene.spec.drafters or scene.seen.reading.drafters):
        return None
    return Hold(Reason.NO_DRAFTERS, "spec.drafters lists none")


def _none_left(scene: Scene, status: Status) -> Hold | None:
    if next_candidate(scene, status) is not None:
        return None
    due = [v for v in status.verdicts or [] if v.retry_time and v.revision in scene.listed]
    later = [v for v in due if seconds(v.retry_time or "") > scene.now]
    if not later:
        return Hold(Reason.NO_CANDIDATE, "every listed drafter has its verdict")
    first = min(later, key=lambda v: seconds(v.retry_time or ""))
    few = _too_few(scene, status)
    but = f", but {few.message}" if few is not None else ""
    return Hold(Reason.NO_CANDIDATE, f"{first.drafter} is tried again at {first.retry_time}{but}")


def _too_few(scene: Scene, status: Status) -> Hold | None:
    roles = roles_of(scene, status, None)
    if roles is None or scene.replicas >= needed(roles):
        return None
    text = f"a trial needs {needed(roles)} replicas (there are {scene.replicas}); scale up"
    return Hold("TooFewReplicas", text, TrialState.WAITING_FOR_CAPACITY)


def _insensitive(scene: Scene, status: Status) -> Hold | None:
    """A trial that could not even promote a drafter of 1.5x is not worth a GPU."""
    found = detectable(scene, status)
    if found is None or found.enough:
        return None
    return Hold("NotSensitive", f"a trial could not promote even 1.5x: it {found.sentence}")


def detectable(scene: Scene, status: Status) -> Sensitivity | None:
    """What a trial that starts now can find out by its deadline; None while the spec can't be read."""
    if scene.spec is None:
        return None
    settings = settings_of(scene, status, scene.spec)
    return sensitivity(learned(status, settings), settings)


def _no_room(scene: Scene, status: Status) -> Hold | None:
    """A node that did not take the last trial's pod takes no other's either: the slot is given back."""
    newest = next(iter(status.verdicts or []), None)
    if newest is None or newest.outcome is not Outcome.NO_CAPACITY or newest.retry_time is None:
        return None
    if scene.now >= seconds(newest.retry_time):
        return None
    text = f"no node took the last trial's pod; tried again at {newest.retry_time}"
    return Hold("NoCapacity", text, TrialState.WAITING_FOR_CAPACITY)


def _edited(scene: Scene, status: Status) -> Hold | None:
    """What serves is measured only as it was made. A holdback is made anew as a trial starts; what serves
    would restart, so its owner says when."""
    serving = status.serving
    if serving is None or serving.template not in yardsticks(scene, status):
        return None
    found = scene.deployment(serving.template)
    if found is None or not found.edited:
        return None
    text = (
        f"somebody edited Deployment {found.name}, which serves: nothing can be compared with it; annotate "
        f"with {ANNOTATION_RETRY} (specdeploy retry) to have it made anew, pod by pod"
    )
    return Hold(Reason.TEMPLATE_EDITED, text)


def _unsteady(scene: Scene, status: Status) -> Hold | None:
    """A pod is borrowed only from a fleet that is whole: every pod that serves is ready."""
    roles = roles_of(scene, status, None)
    if roles is None:
        return Hold(Reason.NOT_READY, "nothing serves yet")
    wanted = scene.replicas - roles.trial_replicas
    pods = [
        *scene.pods(roles.serving),
        *(scene.pods(roles.baseline) if roles.baseline != roles.serving else ()),
    ]
    beside = {roles.baseline} if holds_back(status) else set()
    bare = any(not scene.pods(t) for t in {roles.serving, *beside})
    if bare or len(pods) < max(1, wanted) or not all(p.ready for p in pods):
        ready = sum(p.ready for p in pods)
        return Hold(Reason.NOT_READY, f"waiting until what serves is ready ({ready}/{scene.replicas} pods)")
    return None


def _checking(_: Scene, status: Status) -> Hold | None:
    check = status.baseline.check if status.baseline else None
    return (
        None
        if check is None
        else Hold(Reason.CHECKING, "a re-check of what serves runs; a trial starts when it has ended")
    )


def _no_slot(scene: Scene, _: Status) -> Hold | None:
    if scene.seen.slot_free:
        return None
    text = "the operator runs as many trials as it may at once (maxTrials)"
    return Hold("TooManyTrials", text, TrialState.WAITING_FOR_SLOT)


HOLDS: tuple[Callable[[Scene, Status], Hold | None], ...] = (
    _outdated,
    _invalid,
    _taken,
    _no_drafters,
    _none_left,
    _paused,
    _too_few,
    _insensitive,
    _no_room,
    _edited,
    _checking,
    _unsteady,
    _no_slot,
)


def _no_baseline_pod(scene: Scene, status: Status) -> Hold | None:
    roles = roles_of(scene, status, None)
    if roles is None or scene.replicas > roles.baseline_replicas:
        return None
    text = f"a re-check needs {roles.baseline_replicas + 1} replicas (there are {scene.replicas}); scale up"
    return Hold(Reason.TOO_FEW_REPLICAS, text)


CHECK_HOLDS: tuple[Callable[[Scene, Status], Hold | None], ...] = (
    _outdated,
    _invalid,
    _taken,
    _paused,
    _no_baseline_pod,
    _edited,
    _unsteady,
)


def hold(scene: Scene, status: Status) -> Hold | None:
    """Why no trial may start now; None when one may."""
    return next((found for check in HOLDS if (found := check(scene, status)) is not None), None)


def check_hold(scene: Scene, status: Status) -> Hold | None:
    """Why no re-check of what serves may start now; None when one may."""
    return next((found for check in CHECK_HOLDS if (found := check(scene, status)) is not None), None)


def choose(scene: Scene, status: Status) -> tuple[Status, tuple[Event, ...]]:
    """Start the next trial if one may start; show it as waiting where it only lacks room."""
    held = hold(scene, status)
    template = next_candidate(scene, status)
    if template is None or (held is not None and held.state is None):
        return status.model_copy(update={"trial": None}), ()
    if held is not None and held.state is not None:
        return status.model_copy(update={"trial": _waiting(scene, status, template, held)}), ()
    levelled = _level_renderers(scene, status)
    if levelled is not None:
        return levelled
    trial = _fresh(scene, status, template, TrialState.STARTING)
    if scene.spec is not None:
        due = instant(scene.now + scene.spec.trial.total_deadline_seconds)
        trial = trial.model_copy(update={"deadline_time": due})
    text = f"{template.drafter} is on trial (attempt {trial.attempt}): a pod is borrowed for it"
    found = detectable(scene, status)
    text += f"; it {found.sentence}" if found is not None else ""
    return status.model_copy(update={"trial": trial}), (Event("Normal", "TrialStarted", text),)


def _waiting(scene: Scene, status: Status, template: Template, held: Hold) -> TrialStatus:
    old = status.trial
    state = held.state or TrialState.WAITING_FOR_CAPACITY
    fresh = _fresh(scene, status, template, state)
    if old is not None and (old.revision, old.state) == (template.revision, state):
        fresh = fresh.model_copy(update={"start_time": old.start_time, "state_time": old.state_time})
    return fresh.model_copy(update={"reason": held.reason})


def _fresh(scene: Scene, status: Status, template: Template, state: TrialState) -> TrialStatus:
    return TrialStatus(
        drafter=template.drafter,
        revision=template.revision,
        template=template.hash,
        attempt=attempts(status, template) + 1,
        state=state,
        start_time=instant(scene.now),
        state_time=instant(scene.now),
    )


def _level_renderers(scene: Scene, status: Status) -> tuple[Status, tuple[Event, ...]] | None:
    """Both arms must be rendered alike, or the judge would blame the drafter for a new flag: a baseline
    from another renderer is refreshed before a trial starts. A drafter that serves is left alone.
    None: they are alike."""
    arm, serving = status.baseline, status.serving
    existing = scene.deployment(arm.template) if arm is not None else None
    if arm is None or serving is None or scene.arms is None or existing is None:
        return None
    if existing.render_version == RENDER_VERSION:
        return None
    wanted = scene.arms.baseline.hash
    update: dict[str, object] = {"trial": None, "baseline": arm.model_copy(update={"template": wanted})}
    if serving.name == BASELINE:
        update["serving"] = serving.model_copy(update={"template": wanted})
    text = "before the next trial the baseline is rendered anew, as the trial will be: pod by pod"
    return status.model_copy(update=update), (Event("Normal", "BaselineRefreshed", text),)
