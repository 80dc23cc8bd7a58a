"""The guard over what serves: hands it every window, keeps its state in status, and ends what it alarms on.

window -> guard (status.serving.guard) -> an ending for what serves, or a promotion's soak goes on.
"""

from dataclasses import replace

from specdeploy.api.reasons import Outcome
from specdeploy.api.spec import Spec
from specdeploy.api.status import Serving, Status, TrialStatus, instant
from specdeploy.judge import (
    BASELINE,
    SERVING,
    TRIAL,
    MalformedState,
    Settings,
    UnknownVersion,
    Use,
    Window,
    assess,
    start,
)
from specdeploy.judge.guard import (
    Alarm,
    GuardSummary,
    Newest,
    guard,
    guard_summary,
    start_check,
    start_guard,
)
from specdeploy.judge.guard_state import GuardState, pack_guard, unpack_guard
from specdeploy.judge.guards import Guard
from specdeploy.judge.verdict import Cause
from specdeploy.rollout.decision import Ending, Event
from specdeploy.rollout.evidence import compares_serving, settings_of
from specdeploy.rollout.learning import learned
from specdeploy.rollout.scene import Scene, holds_back, promoting, settled, staged
from specdeploy.rollout.soak import expected
from specdeploy.rollout.verdicts import quarantine
from specdeploy.rollout.way_back import LARGEST_SHARE

Told = tuple[Status, tuple[Event, ...]]


def guard_of(status: Status, settings: Settings) -> tuple[GuardState, Event | None]:
    """The guard's state over what serves; one that knows nothing where there is none, and a warning where
    it can't be read."""
    serving = status.serving
    if serving is None or serving.guard is None:
        return _fresh(status, settings), None
    try:
        return unpack_guard(serving.guard), None
    except (UnknownVersion, MalformedState) as error:
        text = f"the guard over {serving.name} starts again: its stored state can't be read ({error})"
        return _fresh(status, settings), Event("Warning", "EvidenceLost", text)


def _fresh(status: Status, settings: Settings) -> GuardState:
    return start_guard(start(settings, learned(status, settings)), settings)


def standing(status: Status) -> GuardSummary | None:
    """How what serves stands by its guard, for metrics; None without one."""
    serving = status.serving
    if serving is None or serving.guard is None:
        return None
    try:
        return guard_summary(unpack_guard(serving.guard))
    except (UnknownVersion, MalformedState):
        return None


def with_guard(status: Status, serving: Serving, state: GuardState) -> Status:
    """The status in which this is the guard's state."""
    return status.model_copy(update={"serving": serving.model_copy(update={"guard": pack_guard(state)})})


def watch(scene: Scene, status: Status) -> tuple[Status, Ending | None, tuple[Event, ...]]:
    """Take in the window that has just ended; an ending for what serves while the alarm is on."""
    window, spec, serving = scene.seen.window, scene.spec, status.serving
    if window is None or spec is None or serving is None or not compares_serving(scene, status):
        return status, None, ()
    settings = settings_of(scene, status, spec)
    before, lost = guard_of(status, settings)
    soaking = _soaking(scene, status, spec)
    if soaking is not None and not soaking.soaked:
        before = start_check(before)
    after, alarm = guard(before, window, settings)
    status = with_guard(status, serving, after)
    if after.compared > before.compared:
        status = _compared(scene, status, None if soaking is None else _soaked(soaking, spec, after))
    events = () if lost is None else (lost,)
    return status, None if alarm is None else _ending(serving, status, alarm), events


def _compared(scene: Scene, status: Status, trial: TrialStatus | None) -> Status:
    """Note that a window could be compared: for the words, and for the soak of a promotion's step."""
    update: dict[str, object] = {} if trial is None else {"trial": trial}
    if status.serving is not None:
        update["serving"] = status.serving.model_copy(update={"compared_time": instant(scene.now)})
    return status.model_copy(update=update)


def _soaking(scene: Scene, status: Status, spec: Spec) -> TrialStatus | None:
    """The promotion whose step soaks: all of its pods are in place."""
    trial = promoting(status)
    return trial if trial is not None and _in_place(scene, status, spec, trial.template) else None


def _soaked(trial: TrialStatus, spec: Spec, state: GuardState) -> TrialStatus:
    """The promotion with one window more; where its step soaks, with the number to expect."""
    soaked = trial.soaked + 1
    number = expected(spec, state, soaked) if trial.soak else trial.soak
    return trial.model_copy(update={"soaked": soaked, "soak": number})


def _in_place(scene: Scene, status: Status, spec: Spec, template: str) -> bool:
    """Whether every pod of a step is there, and as old as evidence must be."""
    old_enough = scene.now - spec.trial.warmup
    return settled(scene, status) and all(
        (p.ready_since or scene.now) <= old_enough for p in scene.pods(template)
    )


def _ending(serving: Serving, status: Status, alarm: Alarm) -> Ending:
    verdict, newest = status.verdict(serving.revision), alarm.numbers.newest
    return Ending(
        Outcome.SLOWER if alarm.cause == Cause.GUARD_ALARM else Outcome.GUARDED,
        alarm.cause,
        f"{serving.name}, which served: {alarm.message}",
        retry_after=quarantine(verdict.attempt if verdict else 1),
        newest=newest,
        loss=_loss(alarm, newest),
    )


def _loss(alarm: Alarm, newest: Newest | None) -> float:
    """The share of speed that is lost while its pods serve; where they queue, more than can be measured."""
    if alarm.cause == Guard.LESS_CAPACITY:
        return LARGEST_SHARE
    return 0.0 if newest is None else max(0.0, 1 - newest.ratio)


def too_short(scene: Scene, status: Status, spec: Spec, window: Window) -> bool:
    """Whether a window holds too little to be judged and should grow: by the trial's rules, or by the same
    ones for what serves, where baseline pods run beside it."""
    settings = settings_of(scene, status, spec)
    if staged(status) is None:
        if not holds_back(status) or not compares_serving(scene, status):
            return False
        arms = {BASELINE: window.arms.get(BASELINE, ()), TRIAL: window.arms.get(SERVING, ())}
        window = Window(window.index, window.seconds, arms, window.obstacle)
        settings = replace(settings, compare_serving=False)
    return assess(window, settings).use is Use.EXTEND
