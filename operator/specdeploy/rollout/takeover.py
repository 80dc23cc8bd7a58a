"""What ends a promotion beside the guard, a person and its time: an edit of the spec, or engines that fail.

trial (a promotion's pass) -> takeover -> an ending -> reverse; endings asks it of several pods on trial.
"""

from dataclasses import replace

from specdeploy.api.reasons import Outcome, TrialState
from specdeploy.api.spec import Spec
from specdeploy.api.status import TrialStatus
from specdeploy.rollout.decision import Ending
from specdeploy.rollout.health import Ailment, ailment, common, common_ailment
from specdeploy.rollout.observation import Pod
from specdeploy.rollout.scene import Scene
from specdeploy.rollout.stalls import everywhere, lasts
from specdeploy.rollout.verdicts import backoff
from specdeploy.rollout.way_back import LARGEST_SHARE


def left(scene: Scene, trial: TrialStatus) -> Ending | None:
    """The spec asks for another engine, or for this drafter no more: nothing could be compared with it."""
    if not scene.valid or scene.by_revision(trial.revision) is not None:
        return None
    text = f"{trial.drafter} as it took over ({trial.revision}) is no longer what the spec asks for"
    return Ending(Outcome.SUPERSEDED, "SpecChanged", text, retry_after=0.0)


def edit(scene: Scene, trial: TrialStatus) -> str:
    """What was done to a drafter that the spec has left."""
    listed = scene.drafter(trial.drafter) is not None
    return "was changed in the spec" if listed else "was taken out of the spec"


def failed(scene: Scene, trial: TrialStatus, pods: tuple[Pod, ...], spec: Spec) -> Ending | None:
    """Half of its engines are down after a crash, never came up or give no token: its configuration's fault.
    One of several that is lost for good holds everything up; that may be its node or its GPU."""
    within, promoting = spec.engine.startup_seconds, trial.state is TrialState.PROMOTING
    when = "while it took over" if promoting else "on trial"
    pods = tuple(replace(p, silence=None) if promoting and not lasts(p) else p for p in pods)
    down = [found for pod in pods if (found := _down(pod, scene.now, within)) is not None]
    if down and len(down) >= common(len(pods)) and not excused(scene, trial.template, down[0]):
        text = f"{trial.drafter} {when}: {down[0].message}"
        return Ending(Outcome.UNHEALTHY, down[0].reason, text, loss=loss_of(down[0]))
    lost = next((found for pod in pods if (found := _lost(pod, scene.now, within)) is not None), None)
    if lost is None:
        return None
    wait = backoff(trial.attempt)
    others = excused(scene, trial.template, lost)
    why = "nothing moves in the others, either" if others else f"one of {len(pods)} pods"
    told = f"{trial.drafter} {when}: {lost.message}; {why}"
    text = f"{told}: nothing is said of the drafter, again in {wait:.0f} s"
    return Ending(Outcome.INCONCLUSIVE, lost.reason, text, retry_after=wait)


def excused(scene: Scene, template: str, found: Ailment) -> bool:
    """Whether what ails an engine of `template` is no fault of its drafter: all others stand still, too."""
    return found.is_stall and everywhere(scene.seen.pods, template)


def loss_of(found: Ailment) -> float:
    """The share of speed that is lost while its pods are up: those that crash are not."""
    return LARGEST_SHARE if found.is_stall else 0.0


def _down(pod: Pod, now: float, within: int) -> Ailment | None:
    """What keeps an engine from serving now: a crash that the kubelet may yet mend, or what does for good."""
    if pod.answers:
        return None
    found = ailment((pod,), now, within)
    return found if found is not None and found.of_engine else None


def _lost(pod: Pod, now: float, within: int) -> Ailment | None:
    """What keeps an engine from serving for good: it crashes again and again, stands still or is never
    ready."""
    found = common_ailment((pod,), now, within) or ailment((replace(pod, exit=None),), now, within)
    return found if found is not None and found.of_engine else None
