"""Takes off what serves: engines that crash again and again or stand still, and what the guard found slower.

A promotion under way is reversed; else the best runner-up serves, or the baseline.
"""

from specdeploy.api.names import BASELINE
from specdeploy.api.reasons import Outcome, VerdictReason
from specdeploy.api.status import Status, instant
from specdeploy.rollout.decision import Ending, Event
from specdeploy.rollout.health import common_ailment
from specdeploy.rollout.scene import Scene, promoting
from specdeploy.rollout.serving import fall_back
from specdeploy.rollout.takeover import excused, loss_of
from specdeploy.rollout.trial import reverse
from specdeploy.rollout.verdicts import figures, record, verdict_of
from specdeploy.rollout.watch import watch
from specdeploy.rollout.way_back import rolled_back, with_pace

Told = tuple[Status, tuple[Event, ...]]


def retire(scene: Scene, status: Status) -> Told:
    """The status without a serving drafter that fails or has become slower."""
    status, alarm, events = watch(scene, status)
    trial = promoting(status)
    if alarm is not None and trial is not None:
        status, reversed_ = reverse(scene, status, trial, alarm, "was taken off by the guard")
        return status, (*events, *reversed_)
    if alarm is not None:
        name = status.serving.name if status.serving else ""
        status, taken = _take_off(scene, status, alarm, f"{name} was taken off by the guard")
        return _noted(scene, status, alarm), (*events, *taken)
    failed = _failing(scene, status)
    if failed is None or trial is not None:
        return status, events
    name = status.serving.name if status.serving else ""
    why = "gives no token" if failed.reason == VerdictReason.STALLED else "crashes again and again"
    status, taken = _take_off(scene, status, failed, f"{name} {why}")
    return status, (*events, *taken)


def _take_off(scene: Scene, status: Status, ending: Ending, why: str) -> Told:
    """Write the verdict on what serves, and serve what is proven beside it."""
    serving = status.serving
    if serving is None:
        return status, ()
    verdict = status.verdict(serving.revision)
    attempt = verdict.attempt if verdict else 1
    verdict = verdict_of(serving.name, serving.revision, attempt, ending, scene.now)
    status = record(status, verdict, scene.listed)
    status = rolled_back(scene, status, serving, ending.loss)
    status, moved = fall_back(scene, status, with_pace(why, status))
    return status, (Event("Warning", ending.outcome.value, ending.message), *moved)


def _noted(scene: Scene, status: Status, alarm: Ending) -> Status:
    """The guard's alarm is what a re-check finds, too."""
    arm = status.baseline
    if arm is None:
        return status
    last = figures(alarm).ratio
    found = {"last_check": "Slower", "last_check_time": instant(scene.now), "last_ratio": last}
    return status.model_copy(update={"baseline": arm.model_copy(update=found)})


def _failing(scene: Scene, status: Status) -> Ending | None:
    """A serving drafter whose engines crash again and again, or stand still, goes, whatever its speed was."""
    serving, spec = status.serving, scene.spec
    if serving is None or spec is None or serving.name == BASELINE:
        return None
    found = common_ailment(scene.pods(serving.template), scene.now, spec.engine.startup_seconds)
    if found is None or excused(scene, serving.template, found):
        return None
    text = f"{serving.name}, which served: {found.message}"
    return Ending(Outcome.UNHEALTHY, found.reason, text, loss=loss_of(found))
