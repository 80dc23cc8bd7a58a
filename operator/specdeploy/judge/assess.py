"""Does a window count?

arm -> assess -> trial. Reads all arms once, for the evidence and for what looks at every window.

What the drafter itself can cause (a queue, few tokens, few finished requests) is never a reason to look away:
a window counts if one arm had traffic enough and the others ran requests, however slowly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from specdeploy.judge.arm import Arm, measure_arm, measure_pod, old_enough, warm
from specdeploy.judge.settings import Settings
from specdeploy.judge.window import BASELINE, SERVING, TRIAL, PodWindow, Reason, Window

FLOOR_DECODE_TOKENS = 1000.0
FLOOR_FIRST_TOKENS = 10.0
EXTEND_UP_TO_SECONDS = 600.0
LARGEST_SECONDS = 1e6
UNEVEN_LOG_BATCH = 0.5

TWO_ARMS = (BASELINE, TRIAL)
THREE_ARMS = (BASELINE, TRIAL, SERVING)

ADVICE: Mapping[Reason, str] = {
    Reason.NO_DATA: "check that the pods are ready and that their /metrics can be read",
    Reason.NO_TRAFFIC: "send traffic, or use a longer trial.windowSeconds",
    Reason.BAD_NUMBERS: "look at the /metrics pages of the pods: numbers are missing or make no sense",
    Reason.WARMING_UP: "wait: a young pod is slow and is not evidence yet",
    Reason.POD_RESTARTED: "look at the log of the container before its restart",
    Reason.STALLED: "look at the engine: it holds requests and produces no token",
    Reason.UNEVEN: "balance the requests over the pods of an arm",
    Reason.ARM_NOT_REACHED: "check that the Service selects the pods of every arm and that clients reconnect",
    Reason.DIFFERENT_IMAGE: "wait until all arms run the same image",
    Reason.DIFFERENT_GPU: "set accelerator.type so that all arms get the same kind of GPU",
    Reason.TEMPLATE_EDITED: "annotate with specdeploy.dev/retry: the edited arm is made anew, pod by pod",
    Reason.OPERATOR_RESTART: "nothing to do: a restart of the operator costs one window",
    Reason.OUT_OF_ORDER: "give the windows in the order of time, each once",
    Reason.LOAD_MISMATCH: "send each pod the same share of requests: the Service's own balancing does",
    Reason.MIX_MISMATCH: "send all arms the same kind of requests: don't route by prompt or user",
    Reason.SERIES_MISSING: "compare the /metrics pages of the arms: one lacks a series that another has",
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

    `young` is for what does not wait for the warm-up: the disaster lane, the guards (`young_pods`) and the
    balance of load. `traffic`: had the young arms enough of it?
    """

    use: WindowUse
    warm: Mapping[str, Arm]
    young: Mapping[str, Arm]
    young_pods: Mapping[str, Sequence[PodWindow]]
    traffic: bool


def assess(window: Window, settings: Settings) -> WindowUse:
    """Says whether `window` is evidence, should be made longer, or is skipped and why. Never raises."""
    return read(window, settings).use


def read(window: Window, settings: Settings) -> Reading:
    """Measures the arms of a window and says whether it counts."""
    if not 0 < window.seconds <= LARGEST_SECONDS:
        return _unread(Reason.BAD_NUMBERS, "the window has no sensible length")
    obstacle = window.obstacle
    if obstacle is not None and obstacle.reason is Reason.NO_DATA:
        return _unread(Reason.NO_DATA, obstacle.message)
    warm_arms, young_arms, young_pods = _both_ages(window, settings)
    if obstacle is not None:
        use = _skip(obstacle.reason, None, obstacle.message)
    else:
        use = USED if _all_is_well(warm_arms) else _judge_use(warm_arms, window.seconds)
    # A window that is evidence had traffic on its warm pods, which are among the young ones.
    traffic = use is USED or enough_traffic(young_arms)
    return Reading(use, warm_arms, young_arms, young_pods, traffic)


def enough_traffic(arms: Mapping[str, Arm]) -> bool:
    """The floor: one of baseline and trial had traffic enough. The other may be slow, but not idle (no pod
    counted)."""
    return _above_floor(arms[BASELINE]) or _above_floor(arms[TRIAL])


def _above_floor(arm: Arm) -> bool:
    return arm.decode_tokens >= FLOOR_DECODE_TOKENS and arm.first_tokens >= FLOOR_FIRST_TOKENS


def _both_ages(
    window: Window, settings: Settings
) -> tuple[Mapping[str, Arm], Mapping[str, Arm], Mapping[str, Sequence[PodWindow]]]:
    """The arms by warm pods, by pods ready for a window, and the latter."""
    warm_arms: dict[str, Arm] = {}
    young_arms: dict[str, Arm] = {}
    pods: dict[str, Sequence[PodWindow]] = {}
    for name in THREE_ARMS if settings.compare_serving else TWO_ARMS:
        every = window.arms.get(name, ())
        if len(every) == 1 and every[0].ready_seconds is None:  # the common case in recorded files
            pods[name] = every
            warm_arms[name] = young_arms[name] = measure_pod(every[0])
        else:
            warm_arms[name], young_arms[name], pods[name] = _by_age(every, settings)
    return warm_arms, young_arms, pods


def _by_age(pods: Sequence[PodWindow], settings: Settings) -> tuple[Arm, Arm, Sequence[PodWindow]]:
    """The same of one arm."""
    young_pods = [pod for pod in pods if old_enough(pod, settings.window_seconds)]
    warm_pods = [pod for pod in pods if warm(pod, settings)]
    young = measure_arm(young_pods)
    if len(warm_pods) == len(pods) == len(young_pods):
        return young, young, young_pods
    if not warm_pods:
        return measure_arm(())._replace(trouble=Reason.WARMING_UP), young, young_pods
    return measure_arm(warm_pods), young, young_pods


def _unread(reason: Reason, message: str) -> Reading:
    return Reading(_skip(reason, None, message), {}, {}, {}, False)


def _judge_use(arms: Mapping[str, Arm], seconds: float) -> WindowUse:
    for name, arm in arms.items():
        if arm.trouble is not None and arm.trouble is not Reason.NO_TRAFFIC:
            return _skip(arm.trouble, name, _troubled(name, arm.trouble))
    if not enough_traffic(arms):
        # Dropping quiet windows would leave only the busy hours.
        use = Use.EXTEND if seconds < EXTEND_UP_TO_SECONDS else Use.SKIPPED
        return WindowUse(use, Reason.NO_TRAFFIC, BASELINE, _too_quiet(BASELINE, arms))
    for name, arm in arms.items():
        if not arm.pods:
            return _skip(Reason.NO_TRAFFIC, name, _too_quiet(name, arms))
        if arm.batch_sd > UNEVEN_LOG_BATCH:
            text = f"the pods of the {name} arm carry uneven load (sd of ln batch {arm.batch_sd:.2f})"
            return _skip(Reason.UNEVEN, name, text)
    return _missing_series(arms) or USED


def _all_is_well(arms: Mapping[str, Arm]) -> bool:
    """True for most windows, and never for one that _judge_use would skip: spares them its questions."""
    for arm in arms.values():
        if arm.trouble is not None or arm.batch_sd or arm.waiting is not None or arm.more is not None:
            return False
    return enough_traffic(arms)


def _missing_series(arms: Mapping[str, Arm]) -> WindowUse | None:
    """A series that one arm tells and another does not: whatever it would have shown stays unseen."""
    baseline = arms[BASELINE]
    for name, arm in arms.items():
        for series, told, told_by_baseline in _series(arm, baseline):
            if told is not told_by_baseline:
                missing = BASELINE if told else name
                return _skip(Reason.SERIES_MISSING, missing, f"the {missing} arm does not tell its {series}")
    return None


def _series(arm: Arm, baseline: Arm) -> tuple[tuple[str, bool, bool], ...]:
    """Optional series by name, and whether either arm told them."""
    ours, theirs = arm.more, baseline.more
    return (
        ("waiting requests", arm.waiting is not None, baseline.waiting is not None),
        (
            "prompt tokens",
            ours is not None and ours.prompt_tokens is not None,
            theirs is not None and theirs.prompt_tokens is not None,
        ),
        (
            "finished requests' tokens",
            ours is not None and ours.finished_tokens is not None,
            theirs is not None and theirs.finished_tokens is not None,
        ),
    )


def _troubled(name: str, trouble: Reason) -> str:
    if trouble is Reason.STALLED:
        return f"a pod of the {name} arm holds requests and gives no token"
    return f"no pod of the {name} arm could be measured"


def _too_quiet(name: str, arms: Mapping[str, Arm]) -> str:
    arm = arms[name]
    return (
        f"the {name} arm had {arm.decode_tokens:.0f} decode tokens and {arm.first_tokens:.0f} first tokens; "
        f"a window needs {FLOOR_DECODE_TOKENS:.0f} and {FLOOR_FIRST_TOKENS:.0f}"
    )


def _skip(reason: Reason, arm: str | None, message: str) -> WindowUse:
    return WindowUse(Use.SKIPPED, reason, arm, message)
