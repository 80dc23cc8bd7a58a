"""What people read in status: the sentence, the columns, the counts."""

from specdeploy.api.names import BASELINE, LABEL_NAME
from specdeploy.api.reasons import Condition as Kind
from specdeploy.api.reasons import TrialState
from specdeploy.api.spec import Spec
from specdeploy.api.status import Capacity, Status, TrialStatus, instant, seconds
from specdeploy.judge import ADVICE, Reason, Settings, missing, sensitivity_now, summary, warnings
from specdeploy.judge import TrialState as State
from specdeploy.rollout.agreement import unseen
from specdeploy.rollout.candidates import hold
from specdeploy.rollout.conditions import lost_pods, obstacle
from specdeploy.rollout.evidence import load, settings_of
from specdeploy.rollout.promotion_words import taking_over
from specdeploy.rollout.protected import guarding
from specdeploy.rollout.scene import Scene, staged, wanted_counts
from specdeploy.rollout.stalls import stand_still
from specdeploy.rollout.stuck import overstay
from specdeploy.rollout.way_back import about, lasting, pace, with_time_shown

_LONGEST = 1000
_QUIET_WINDOWS = 3
_LARGEST_DETECTABLE = 100.0
_WARNED_FROM = 5


def describe(scene: Scene, status: Status) -> Status:
    """Counts, columns and the sentence; conditions must be set before."""
    trial = status.trial
    if trial is not None:
        trial = trial.model_copy(update={"summary": trial_column(scene, status, trial)})
    status = status.model_copy(
        update={
            "observed_generation": scene.seen.generation,
            "replicas": len([p for p in scene.seen.pods if not p.terminating]),
            "selector": f"{LABEL_NAME}={scene.seen.name}",
            "capacity": _capacity(scene, status),
            "trial": trial,
            "serving": status.serving and with_time_shown(scene, status.serving),
        }
    )
    return status.model_copy(update={"message": sentence(scene, status)[:_LONGEST]})


def _capacity(scene: Scene, status: Status) -> Capacity:
    here = [p for p in scene.seen.pods if not p.terminating]
    up = sum(p.answers for p in here)
    return Capacity(
        desired=scene.replicas,
        ready=up,
        borrowed=wanted_counts(scene, status).get(staged(status) or "", 0),
        lost=len(lost_pods(scene, status)),
        summary=f"{up}/{scene.replicas}",
    )


def windows_needed(scene: Scene, status: Status, spec: Spec) -> int:
    """Windows of evidence below which nothing is promoted."""
    return settings_of(scene, status, spec).windows_needed


def trial_column(scene: Scene, status: Status, trial: TrialStatus) -> str:
    """`dflash Measuring 12/30`; beyond the windows that a promotion needs, their number alone."""
    text = f"{trial.drafter} {trial.state}"
    if trial.state is TrialState.MEASURING and scene.spec is not None:
        needed = windows_needed(scene, status, scene.spec)
        text += f" {trial.windows}" + (f"/{needed}" if trial.windows <= needed else "")
    if trial.state is TrialState.PROMOTING and trial.soak:
        text += f" {min(trial.soaked, trial.soak)}/{trial.soak}"
    return text[:96]


def sentence(scene: Scene, status: Status) -> str:
    """What is happening, why, what is next and when."""
    ready = status.condition(Kind.READY)
    parts = []
    if ready is not None and ready.status != "True":
        parts.append(f"{ready.reason}: {ready.message}.")
    still = stand_still(scene.seen.pods)
    parts.append(f"Warning: {still}." if still else "")
    parts.append(_serving(status))
    parts.append(_way_back(status))
    parts.append(_unprotected(status) or guarding(status))
    if not _goes_back(status):
        parts.append(_trial(scene, status) or _idle(status))
    if ready is not None and ready.status == "True":
        parts.append(_held_up(scene, status))
    overstaying = overstay(scene)
    parts.append(f"Note: {overstaying}." if overstaying else "")
    return " ".join(part for part in parts if part)


def _serving(status: Status) -> str:
    serving = status.serving
    if serving is None:
        return ""
    if serving.name == BASELINE:
        return "The baseline serves."
    text = f"{serving.name} serves at {serving.summary or 'unknown speed'} of the baseline"
    if serving.rollback_seconds:
        text += f"; taking it back would take {about(serving.rollback_seconds)}"
    return f"{text}." if serving.finding is None else f"{text}. A check refuses it now: {serving.finding}."


def _way_back(status: Status) -> str:
    back = status.rollback
    return "" if back is None else f"{back.drafter} was taken off at {back.start_time}: {pace(status)}."


def _goes_back(status: Status) -> bool:
    """Whether the trial's pods are those of a way back, which is told already."""
    trial, back = status.trial, status.rollback
    return trial is not None and back is not None and trial.template == back.template


def _unprotected(status: Status) -> str:
    found = status.condition(Kind.PROTECTED)
    return f"Not protected: {found.message}." if found is not None and found.status == "False" else ""


def _held_up(scene: Scene, status: Status) -> str:
    """What keeps a rollout from going on; where Ready is not True it says so itself."""
    moves = status.condition(Kind.PROGRESSING)
    stuck = obstacle(scene, status) if moves is not None and moves.status == "True" else None
    return "" if stuck is None else f"Held up: {stuck}."


def _trial(scene: Scene, status: Status) -> str:
    trial, spec = status.trial, scene.spec
    if trial is None or spec is None:
        return ""
    if trial.state is TrialState.MEASURING:
        return _measuring(scene, status, spec, trial)
    if trial.state is TrialState.PROMOTING:
        return taking_over(scene, status, spec, trial)
    if trial.state is TrialState.WARMING_UP:
        until = seconds(trial.ready_time or trial.start_time) + spec.trial.warmup
        text = f"{trial.drafter} warms up; its speed counts from {instant(until)} on, a disaster at once."
        if trial.reason is not None:
            return f"{text} {trial.reason}: its pod is not ready."
        return text + _last_window(scene, status, spec, trial)
    texts = {
        TrialState.STARTING: "is given a borrowed pod; its engine starts",
        TrialState.ROLLING_BACK: "is rolled back; what it borrowed is given back",
        TrialState.WAITING_FOR_SLOT: "waits for its turn: the operator runs as many trials as it may",
        TrialState.WAITING_FOR_CAPACITY: "waits for room",
    }
    held = status.condition(Kind.TRIALING)
    why = f" ({trial.reason})" if trial.reason else ""
    if trial.state is TrialState.WAITING_FOR_CAPACITY and held is not None:
        why = f": {_advice(scene, status)}"
    return f"{trial.drafter} {texts[trial.state]}{why}."


def _advice(scene: Scene, status: Status) -> str:
    held = hold(scene, status)
    return held.message if held else "room is there"


def _measuring(scene: Scene, status: Status, spec: Spec, trial: TrialStatus) -> str:
    text = f"{trial.drafter} is measured: {trial.windows} windows of {spec.trial.window_seconds} s"
    if trial.ratio is not None and trial.lower is not None and trial.upper is not None:
        text += f", {float(trial.ratio):.2f}x [{float(trial.lower):.2f},{float(trial.upper):.2f}]"
    elif trial.ratio is not None:
        text += f", {float(trial.ratio):.2f}x so far"
    if trial.reason:
        text += f"; {trial.reason}: its pod is not ready, the evidence is kept"
    left = max(0, spec.trial.deadline_seconds - trial.measured_seconds)
    if scene.paused:
        return f"{text}; paused: if proven it is promoted when the pause ends."
    text += _awaited(scene, status, spec, trial)
    text += f", undecided after {lasting(left)} more of evidence ({_detectable(scene, status, spec, trial)})."
    if trial.reason:
        return text
    return text + _last_window(scene, status, spec, trial) + _warned(scene, status, spec, trial)


def _judged(scene: Scene, status: Status, spec: Spec, trial: TrialStatus) -> tuple[State, Settings]:
    """The trial as the judge sees it."""
    settings = settings_of(scene, status, spec)
    return load(status, trial, settings)[0], settings


def _awaited(scene: Scene, status: Status, spec: Spec, trial: TrialStatus) -> str:
    """When it could be promoted at the earliest; later what it still lacks for that."""
    needed = windows_needed(scene, status, spec)
    if trial.windows < needed:
        return f"; promoted from window {needed} on if proven"
    lacks = missing(*_judged(scene, status, spec, trial))
    return f"; not promoted yet: it lacks {lacks}" if lacks else "; proven"


def _detectable(scene: Scene, status: Status, spec: Spec, trial: TrialStatus) -> str:
    """What the trial can find out by its deadline, at its own noise."""
    found = sensitivity_now(*_judged(scene, status, spec, trial))
    if found.ratio > _LARGEST_DETECTABLE:
        return "too few windows are left to promote anything"
    return f"{found.ratio:.2f}x or more is found by then"


def _warned(scene: Scene, status: Status, spec: Spec, trial: TrialStatus) -> str:
    """What the guards beside speed have to say without a veto; some need windows of evidence for it."""
    if trial.windows < _WARNED_FROM:
        return ""
    unheard = unseen(scene, status, trial, spec)
    told = (*warnings(*_judged(scene, status, spec, trial)), *([unheard] if unheard else []))
    return "".join(f" Warning: {text}." for text in told)


def quiet_from(trial: TrialStatus, spec: Spec) -> float:
    """When a trial without a further window is said to wait for traffic: windows that hold too little are
    made longer before they are judged. Seconds since the epoch."""
    since = trial.last_window_time or trial.ready_time or trial.start_time
    return seconds(since) + _QUIET_WINDOWS * spec.trial.window_seconds


def _last_window(scene: Scene, status: Status, spec: Spec, trial: TrialStatus) -> str:
    """Why the newest window did not count, and what to do about it; nothing where it did."""
    if scene.valid and scene.now >= quiet_from(trial, spec):
        return f" No window since {trial.last_window_time or trial.ready_time}: waiting for traffic."
    reason = summary(_judged(scene, status, spec, trial)[0]).last_skipped
    if reason is None or (reason is Reason.WARMING_UP and trial.state is TrialState.WARMING_UP):
        return ""
    return f" Last window: {reason.value} ({ADVICE[reason]})."


def _idle(status: Status) -> str:
    held = status.condition(Kind.TRIALING)
    newest = next(iter(status.verdicts or []), None)
    text = f"No trial: {held.message}." if held is not None else ""
    if newest is not None:
        text += f" Last verdict: {newest.drafter} {newest.outcome}."
    return text.strip()
