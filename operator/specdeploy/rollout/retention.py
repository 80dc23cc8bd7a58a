"""How long baseline pods stay beside what serves, and when it is checked again. Pure arithmetic and words."""

from typing import Literal

from specdeploy.api.spec import Spec
from specdeploy.api.status import BaselineStatus, instant, seconds

Retention = Literal["Always", "Trials"]
# Auto keeps the baseline's pods for good where they are at most this share of all.
_SHARE = 8
DAY = 86400.0
# A check of a day or more comes so much earlier each time: 24 checks later every hour has had its turn.
_EARLIER = 7 * 3600.0
EARLY_CHECKS = 2
_FORGOTTEN = ("retention", "until", "check", "next_check_time", "early_checks")


def in_force(spec: Spec) -> Retention:
    """The retention that the spec means now. Stored when looked at, so that an autoscaler can't make it
    flap."""
    wanted = spec.baseline.retention
    if wanted != "Auto":
        return wanted
    return "Always" if _SHARE * spec.baseline.replicas <= spec.replicas else "Trials"


def retained(arm: BaselineStatus, spec: Spec, now: float) -> BaselineStatus:
    """The arm with its retention in force: a first look begins the probation; words of the spec's own are
    followed at once."""
    wanted = spec.baseline.retention
    if arm.retention is None:
        until = instant(now + spec.baseline.probation_seconds)
        return arm.model_copy(update={"retention": in_force(spec), "until": until})
    if wanted in ("Auto", arm.retention):
        return arm
    return arm.model_copy(update={"retention": wanted, "next_check_time": None})


def forgotten(arm: BaselineStatus) -> BaselineStatus:
    """The arm when another drafter serves, or none: probation and checks begin anew."""
    return arm.model_copy(update=dict.fromkeys(_FORGOTTEN))


def next_check(start: float, now: float, interval: float) -> float:
    """When what serves is checked again, the last check having begun at `start`: later than `now`."""
    period = interval - _EARLIER if interval >= DAY else interval
    return start + period if start + period > now else now + period


def may_come_early(arm: BaselineStatus, now: float) -> bool:
    """Whether another check may be brought forward: two a day at most."""
    recent = [t for t in arm.early_checks or [] if now - seconds(t) < DAY]
    return len(recent) < EARLY_CHECKS
