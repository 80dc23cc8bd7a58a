"""What people read while a promotion moves in steps: where it is, and what it waits for."""

from specdeploy.api.spec import Spec
from specdeploy.api.status import Status, TrialStatus, seconds
from specdeploy.rollout.promotion import awaited, next_step
from specdeploy.rollout.scene import Scene, served_pods, settled
from specdeploy.rollout.steps import stepped

# Windows in a row without a comparison after which traffic is asked for.
_QUIET_WINDOWS = 5


def taking_over(scene: Scene, status: Status, spec: Spec, trial: TrialStatus) -> str:
    """A sentence or two: the step, and what is awaited."""
    if trial.step is None:
        return f"{trial.drafter} takes over, pod by pod."
    served = served_pods(scene, status)
    if served == 0:
        return f"{trial.drafter} takes over in steps, once there are pods."
    pods = stepped(served, trial.step, spec.trial.replicas)
    text = f"{trial.drafter} takes over in steps: {pods} of {served} serving pods now"
    if scene.paused:
        return f"{text}; paused: it stays there."
    if not settled(scene, status):
        return f"{text}; they move one by one."
    return f"{text}; {_awaited(scene, status, spec, trial)}."


def _awaited(scene: Scene, status: Status, spec: Spec, trial: TrialStatus) -> str:
    percent = next_step(scene, status, trial, spec)
    if percent is None:
        return "these are all"
    found = awaited(scene, status, trial, spec, percent)
    return f"{percent} % next" if found is None else found + _without_traffic(scene, status, spec, trial)


def _without_traffic(scene: Scene, status: Status, spec: Spec, trial: TrialStatus) -> str:
    """Why the soak does not go on; nothing while it does or its pods are young."""
    compared = status.serving.compared_time if status.serving else None
    since = max(seconds(trial.state_time), seconds(compared or trial.state_time))
    patience = spec.trial.warmup + _QUIET_WINDOWS * spec.trial.window_seconds
    if scene.now - since < patience:
        return ""
    return f"; no window could be compared since {compared or trial.state_time}: waiting for traffic"
