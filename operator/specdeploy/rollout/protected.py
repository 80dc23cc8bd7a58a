"""Condition Protected: is what serves compared with the baseline, by fresh evidence? In words, too."""

from typing import Literal

from specdeploy.api.names import BASELINE
from specdeploy.api.reasons import Reason
from specdeploy.api.status import BaselineStatus, Rollback, Serving, Status, instant, seconds
from specdeploy.rollout.candidates import check_hold
from specdeploy.rollout.evidence import compares_serving
from specdeploy.rollout.scene import Scene, holds_back

Answer = tuple[Literal["True", "False", "Unknown"], str, str]
# Evidence older than this is not fresh. A restart of the operator may lose a quarter of an hour of it.
FRESH_SECONDS = 3600.0


def protected(scene: Scene, status: Status) -> Answer:
    """What serves is compared with the baseline by fresh evidence, or a re-check is due in time."""
    serving, arm = status.serving, status.baseline
    if scene.replicas == 0:
        return "Unknown", Reason.SCALED_TO_ZERO, "replicas is 0"
    if status.rollback is not None:
        return "False", Reason.TAKEN_OFF, _taken_off(scene, status.rollback)
    if serving is None or arm is None or serving.name == BASELINE:
        return "True", Reason.BASELINE_SERVES, "no drafter serves that could be slower"
    if not compares_serving(scene, status):
        return _not_compared(scene, serving)
    if not holds_back(status):
        return _between(scene, status, serving, arm)
    return _beside(scene, serving, arm)


def _not_compared(scene: Scene, serving: Serving) -> Answer:
    if not scene.valid:
        return "Unknown", Reason.INVALID_SPEC, "what serves goes on; the spec does not tell its engine"
    text = (
        f"{serving.name} runs on an engine that the spec asks for no more: it serves until it is proven "
        "on the new one, or the baseline takes over"
    )
    return "False", Reason.OTHER_ENGINE, text


def _taken_off(scene: Scene, back: Rollback) -> str:
    ready = sum(p.ready for p in scene.pods(back.template))
    pods = "1 pod" if ready == 1 else f"{ready} pods"
    return f"{back.drafter} was taken off, and {pods} of it may still serve"


def _beside(scene: Scene, serving: Serving, arm: BaselineStatus) -> Answer:
    """Baseline pods run, for good or for a while."""
    if scene.spec is not None and scene.replicas <= 1:
        return (
            "False",
            Reason.TOO_FEW_REPLICAS,
            "the only pod serves; scale up to compare it with the baseline",
        )
    since = max(seconds(serving.compared_time or serving.since), seconds(serving.since))
    if arm.check is not None:
        text = f"a re-check runs since {arm.check.start_time}, because {arm.check.reason}"
        return "True", Reason.CHECKING, text
    if scene.now - since >= FRESH_SECONDS:
        text = f"no window could be compared since {instant(since)}: traffic on both arms is needed"
        return "False", Reason.NO_EVIDENCE, text
    return "True", Reason.HOLDBACK, f"the guard compares {serving.name} with baseline pods in every window"


def _between(scene: Scene, status: Status, serving: Serving, arm: BaselineStatus) -> Answer:
    """No baseline pod runs until the next re-check."""
    due = arm.next_check_time
    if due is not None and scene.now < seconds(due):
        text = f"the next re-check of {serving.name} is due at {due}{_last(arm)}"
        undecided = arm.last_check == "Undecided"
        return "Unknown" if undecided else "True", Reason.BETWEEN_CHECKS, text
    held = check_hold(scene, status)
    why = "it starts now" if held is None else held.message
    reason = Reason.NO_EVIDENCE if held is None else held.reason
    return "False", reason, f"a re-check of {serving.name} is due since {due}: {why}"


def moments(status: Status) -> list[float]:
    """When evidence ceases to be fresh."""
    serving = status.serving
    if serving is None or serving.name == BASELINE:
        return []
    return [max(seconds(serving.compared_time or serving.since), seconds(serving.since)) + FRESH_SECONDS]


def guarding(status: Status) -> str:
    """For the sentence of status: how a drafter that serves is watched, and when it is checked next."""
    serving, arm = status.serving, status.baseline
    if serving is None or arm is None or serving.name == BASELINE:
        return ""
    if arm.check is not None:
        return f"It is checked against the baseline since {arm.check.start_time}, because {arm.check.reason}."
    if arm.until is not None:
        return f"In probation until {arm.until}: baseline pods run beside it."
    if arm.next_check_time is not None:
        return f"Its next re-check is at {arm.next_check_time}{_last(arm)}."
    return f"Baseline pods stay beside it{_last(arm)}." if arm.retention is not None else ""


def _last(arm: BaselineStatus) -> str:
    if arm.last_check is None:
        return ""
    at = f" at {float(arm.last_ratio):.2f}x" if arm.last_ratio else ""
    return f"; the last one, at {arm.last_check_time}: {arm.last_check}{at}"
