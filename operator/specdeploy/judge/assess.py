"""Does a window count? Reads all arms once, for the evidence and for what looks at every window.

What the drafter itself can cause (a queue, few tokens, few finished requests) is never a reason to look away:
a window counts if one arm had traffic enough and the others ran requests, however slowly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from specdeploy.judge.arm import Arm, measure_arm, old_enough, warm
from specdeploy.judge.settings import Settings
from specdeploy.judge.window import BASELINE, SERVING, TRIAL, Reason, Window

FLOOR_DECODE_TOKENS = 1000.0
FLOOR_FIRST_TOKENS = 10.0
EXTEND_UP_TO_SECONDS = 600.0
LARGEST_SECONDS = 1e6
UNEVEN_LOG_BATCH = 0.5

ADVICE: Mapping[Reason, str] = {
    Reason.NO_DATA: "check that the pods are ready and that their /metrics can be read",
    Reason.NO_TRAFFIC: "send traffic, or use a longer trial.windowSeconds",
    Reason.BAD_NUMBERS: "look at the /metrics page of the pods of this arm",
    Reason.WARMING_UP: "wait: a young pod is slow and is not evidence yet",
    Reason.POD_RESTARTED: "look at the log of the container before its restart",
    Reason.STALLED: "look at the engine: it holds requests and produces no token",
    Reason.UNEVEN: "balance the requests over the pods of an arm",
    Reason.ARM_NOT_REACHED: "check that the Service selects the pods of this arm and that clients reconnect",
    Reason.DIFFERENT_IMAGE: "wait until all arms run the same image",
    Reason.DIFFERENT_GPU: "set accelerator.type so that all arms get the same kind of GPU",
    Reason.TEMPLATE_EDITED: "annotate with specdeploy.dev/retry: the edited arm is made anew, pod by pod",
    Reason.OPERATOR_RESTART: "nothing to do: a restart of the operator costs one window",
    Reason.OUT_OF_ORDER: "give the windows in the order of time, each once",
}


class Use(StrEnum):
    """What becomes of a window. EXTEND: the caller should lengthen it, up to 10 minutes, before it is
    observed."""

    USED = "Used"
    EXTEND = "Extend"
    SKIPPED = "Skipped"


@dataclass(frozen=True, slots=True)
class WindowUse:
    """Whether a window is evidence; if not, why, on which arm, and what one can do about it."""

    use: Use
    reason: Reason | None = None
    arm: str | None = None
    message: str = ""

    @property
    def advice(self) -> str:
        return ADVICE[self.reason] if self.reason else ""


USED = WindowUse(Use.USED)


class Reading(NamedTuple):
    """One window, read: whether it is evidence, the arms by warm pods, and by all pods ready for a window.

    `young` is for the disaster lane and the guards, which do not wait for the warm-up.
    """

    use: WindowUse
    warm: Mapping[str, Arm]
    young: Mapping[str, Arm]


def assess(window: Window, settings: Settings) -> WindowUse:
    """Says whether `window` is evidence, should be made longer, or is skipped and why. Never raises."""
    return read(window, settings).use


def read(window: Window, settings: Settings) -> Reading:
    """Measures the arms of a window and says whether it counts."""
    if not 0 < window.seconds <= LARGEST_SECONDS:
        return Reading(_skip(Reason.BAD_NUMBERS, None, "the window has no sensible length"), {}, {})
    obstacle = window.obstacle
    if obstacle is not None and obstacle.reason is Reason.NO_DATA:
        return Reading(_skip(Reason.NO_DATA, None, obstacle.message), {}, {})
    warm_arms: dict[str, Arm] = {}
    young_arms: dict[str, Arm] = {}
    names = (BASELINE, TRIAL, SERVING) if settings.compare_serving else (BASELINE, TRIAL)
    for name in names:
        warm_arms[name], young_arms[name] = _both_ages(window, name, settings)
    if obstacle is not None:
        return Reading(_skip(obstacle.reason, None, obstacle.message), warm_arms, young_arms)
    return Reading(_judge_use(warm_arms, window.seconds), warm_arms, young_arms)


def enough_traffic(arms: Mapping[str, Arm]) -> bool:
    """The floor: one of baseline and trial had traffic enough. The other may be slow, but not idle (no pod
    counted)."""
    return any(
        arms[name].decode_tokens >= FLOOR_DECODE_TOKENS and arms[name].first_tokens >= FLOOR_FIRST_TOKENS
        for name in (BASELINE, TRIAL)
    )


def _both_ages(window: Window, name: str, settings: Settings) -> tuple[Arm, Arm]:
    pods = window.arms.get(name, ())
    # A pod of unknown age counts as old: the common case in replayed files, and it costs no call.
    young_pods = [
        pod for pod in pods if pod.ready_seconds is None or old_enough(pod, settings.window_seconds)
    ]
    warm_pods = [pod for pod in pods if pod.ready_seconds is None or warm(pod, settings)]
    young = measure_arm(young_pods)
    if len(warm_pods) == len(pods) == len(young_pods):
        return young, young
    if not warm_pods:
        return measure_arm(())._replace(trouble=Reason.WARMING_UP), young
    return measure_arm(warm_pods), young


def _judge_use(arms: Mapping[str, Arm], seconds: float) -> WindowUse:
    for name, arm in arms.items():
        if arm.trouble is not None and arm.trouble is not Reason.NO_TRAFFIC:
            return _skip(arm.trouble, name, f"no pod of the {name} arm could be measured")
    if not enough_traffic(arms):
        # Dropping quiet windows would leave only the busy hours.
        use = Use.EXTEND if seconds < EXTEND_UP_TO_SECONDS else Use.SKIPPED
        return WindowUse(use, Reason.NO_TRAFFIC, BASELINE, _too_quiet(BASELINE, arms))
    for name, arm in arms.items():
        if not arm.pods:
            return _skip(Reason.NO_TRAFFIC, name, _too_quiet(name, arms))
    for name, arm in arms.items():
        if arm.batch_sd > UNEVEN_LOG_BATCH:
            text = f"the pods of the {name} arm carry uneven load (sd of ln batch {arm.batch_sd:.2f})"
            return _skip(Reason.UNEVEN, name, text)
    return USED


def _too_quiet(name: str, arms: Mapping[str, Arm]) -> str:
    arm = arms[name]
    return (
        f"the {name} arm had {arm.decode_tokens:.0f} decode tokens and {arm.first_tokens:.0f} first tokens; "
        f"a window needs {FLOOR_DECODE_TOKENS:.0f} and {FLOOR_FIRST_TOKENS:.0f}"
    )


def _skip(reason: Reason, arm: str | None, message: str) -> WindowUse:
    return WindowUse(Use.SKIPPED, reason, arm, message)
