"""A clock that was ahead and is right again: what it stored as past lies in the future, and would last.

stored status -> clock -> everything else. Windows are numbered by the clock, too; judge, guard and history go
on by themselves after one that is numbered far below the last (`judge.newest`).
"""

from specdeploy.api.base import Model
from specdeploy.api.spec import Spec
from specdeploy.api.status import BaselineStatus, Status, Verdict, instant, seconds
from specdeploy.rollout.decision import Event
from specdeploy.rollout.scene import Scene

# Clocks of two machines may differ by so much without a word. In seconds.
SKEW_SECONDS = 60.0
# What has happened, by the part of the status that tells it.
_HAPPENED = {
    "serving": ("since", "left_time", "compared_time"),
    "baseline": ("since", "last_check_time"),
    "rollback": ("start_time", "unschedulable_time"),
    "trial": (
        "start_time", "state_time", "ready_time", "unschedulable_time", "first_window_time",
        "last_window_time",
    ),
}  # fmt: skip


def of_one_clock(scene: Scene, status: Status) -> tuple[Status, tuple[Event, ...]]:
    """The status in which nothing has happened in the future; told once."""
    verdicts = [_verdict(v, scene.now) for v in status.verdicts or []]
    ahead = max((_ahead(v, "time", scene.now) for v in status.verdicts or []), default=0.0)
    update: dict[str, object] = {"verdicts": verdicts or None}
    for part, names in _HAPPENED.items():
        stored: Model | None = getattr(status, part)
        late = {name: by for name in names if (by := _ahead(stored, name, scene.now)) > SKEW_SECONDS}
        if stored is not None and late:
            ahead = max(ahead, *late.values())
            update[part] = stored.model_copy(update=dict.fromkeys(late, instant(scene.now)))
    if ahead <= SKEW_SECONDS:
        return status, ()
    status = status.model_copy(update=update)
    arm = status.baseline
    if arm is not None and scene.spec is not None:
        status = status.model_copy(update={"baseline": _dues(arm, scene.spec, scene.now)})
    text = f"the operator's clock was {ahead:.0f} s ahead for a while; what it wrote then counts as of now"
    return status, (Event("Warning", "ClockWentBack", text),)


def _ahead(stored: Model | None, name: str, now: float) -> float:
    """By how many seconds an instant lies in the future; 0 for one that is not set."""
    told: str | None = getattr(stored, name, None)
    return 0.0 if told is None else seconds(told) - now


def _verdict(verdict: Verdict, now: float) -> Verdict:
    """A verdict of the past, whose quarantine is as long as it was meant to be."""
    by = _ahead(verdict, "time", now)
    if by <= SKEW_SECONDS:
        return verdict
    retry = None if verdict.retry_time is None else instant(seconds(verdict.retry_time) - by)
    return verdict.model_copy(update={"time": instant(now), "retry_time": retry})


def _dues(arm: BaselineStatus, spec: Spec, now: float) -> BaselineStatus:
    """The baseline with nothing due later than if it had been reckoned now, and a re-check of the past."""
    longest = {"until": spec.baseline.probation_seconds, "next_check_time": spec.baseline.recheck_seconds}
    late = {
        name: instant(now + length) for name, length in longest.items() if _ahead(arm, name, now) > length
    }
    check = arm.check
    if check is not None and _ahead(check, "start_time", now) > SKEW_SECONDS:
        check = check.model_copy(update={"start_time": instant(now)})
    return arm.model_copy(update={**late, "check": check})
