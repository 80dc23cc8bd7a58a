"""The baseline's own history: every window with a baseline arm teaches, under a trial and without one.

window -> history (status.baseline.history) -> what a trial that starts may know.
"""

from specdeploy.api.spec import Spec
from specdeploy.api.status import Status
from specdeploy.judge import MalformedState, Settings, UnknownVersion
from specdeploy.judge.history import History, learn, pack_history, remember, unpack_history
from specdeploy.judge.learned import Learned
from specdeploy.rollout.scene import Scene


def of_one_length(status: Status, spec: Spec) -> Status:
    """Windows of different lengths are no one series, and their numbers do not go on: with another
    trial.windowSeconds history and guard begin anew."""
    arm, serving, length = status.baseline, status.serving, spec.trial.window_seconds
    if arm is None or arm.window_seconds == length:
        return status
    update: dict[str, object] = {"window_seconds": length}
    if arm.window_seconds is not None:
        update["history"] = None
        if serving is not None:
            status = status.model_copy(update={"serving": serving.model_copy(update={"guard": None})})
    return status.model_copy(update={"baseline": arm.model_copy(update=update)})


def learn_window(scene: Scene, status: Status, settings: Settings) -> Status:
    """Take in the window that has just ended, if there is one. One that was taken in changes nothing."""
    window, arm = scene.seen.window, status.baseline
    if window is None or arm is None:
        return status
    before = _history(arm.history)
    after = remember(before, window, settings)
    if after == before:
        return status
    arm = arm.model_copy(update={"history": pack_history(after)})
    return status.model_copy(update={"baseline": arm})


def learned(status: Status, settings: Settings) -> Learned:
    """What the history of the baseline's revision tells now."""
    return learn(_history(status.baseline.history if status.baseline else None), settings)


def weight(status: Status) -> float | None:
    """The weight of load (w) that the next trial would take over; None while it is not known."""
    known = learned(status, Settings())
    return known.weight if known.weighed else None


def _history(text: str | None) -> History:
    """A history that can't be read is one more that begins: it costs time, no verdict."""
    if text is None:
        return History()
    try:
        return unpack_history(text)
    except (UnknownVersion, MalformedState):
        return History()
