"""What protects what serves once it is promoted: probation, then baseline pods for good, or re-checks.

A re-check borrows pods for the baseline and continues the guard; a trial, which brings its own, counts as
one. What the guard alarms on is taken off by `retire`; a re-check that finds nothing keeps what serves.
"""

from dataclasses import dataclass

from specdeploy.api.reasons import TrialState
from specdeploy.api.spec import Spec
from specdeploy.api.status import BaselineStatus, Recheck, Serving, Status, TrialStatus, instant, seconds
from specdeploy.judge import Settings
from specdeploy.judge.guard import (
    CheckOutcome,
    CheckResult,
    check_outcome,
    drifted,
    guard_summary,
    start_check,
)
from specdeploy.rollout.candidates import check_hold
from specdeploy.rollout.decision import Event
from specdeploy.rollout.endings import CAPACITY_SECONDS
from specdeploy.rollout.evidence import compares_serving, settings_of
from specdeploy.rollout.health import ailment
from specdeploy.rollout.observation import Pod
from specdeploy.rollout.protected import moments as freshness
from specdeploy.rollout.retention import (
    EARLY_CHECKS,
    forgotten,
    in_force,
    may_come_early,
    next_check,
    retained,
)
from specdeploy.rollout.scene import Scene, promoting, staged
from specdeploy.rollout.stuck import homeless, leaving
from specdeploy.rollout.verdicts import ratio
from specdeploy.rollout.watch import guard_of, with_guard

Told = tuple[Status, tuple[Event, ...]]
_DUE = "it was due"


@dataclass(frozen=True)
class _Post:
    """What is protected, with what concerns it: a drafter serves on the current engine, and is promoted."""

    scene: Scene
    spec: Spec
    status: Status
    serving: Serving
    arm: BaselineStatus

    @property
    def settings(self) -> Settings:
        return settings_of(self.scene, self.status, self.spec)

    @property
    def now(self) -> float:
        return self.scene.now

    @property
    def deadline_windows(self) -> int:
        return self.spec.trial.deadline_seconds // self.spec.trial.window_seconds

    def with_arm(self, **update: object) -> Status:
        return self.status.model_copy(update={"baseline": self.arm.model_copy(update=update)})

    def next_time(self, start: float) -> str:
        return instant(next_check(start, self.now, float(self.spec.baseline.recheck_seconds)))


def protect(scene: Scene, before: Status, status: Status) -> Told:
    """Retention, probation and re-checks. `before`: the status at the beginning of this pass."""
    spec, arm, serving = scene.spec, status.baseline, status.serving
    if spec is None or arm is None or serving is None or not scene.valid:
        return status, ()
    if not compares_serving(scene, status) or promoting(status) is not None:
        return status.model_copy(update={"baseline": forgotten(arm)}), ()
    arm = retained(arm, spec, scene.now)
    status = status.model_copy(update={"baseline": arm})
    post = _Post(scene, spec, status, serving, arm)
    if arm.until is not None:
        return _probation(post, arm.until)
    if arm.retention == "Always":
        return post.with_arm(check=None, next_check_time=None), ()
    if arm.check is not None:
        return _checking(post, arm.check)
    return _between(post, before.trial if staged(before) is not None else None)


def _probation(post: _Post, until: str) -> Told:
    """Baseline pods stay until its end, whatever retention says."""
    if post.now < seconds(until):
        return post.status, ()
    if post.arm.retention == "Always":
        return post.with_arm(until=None), ()
    return _given_back(post, f"probation of {post.serving.name} is over")


def _given_back(post: _Post, why: str) -> Told:
    due = post.next_time(post.now)
    text = f"{why}: the baseline's pods serve, the next re-check is at {due}"
    return post.with_arm(until=None, next_check_time=due), (Event("Normal", "BaselineGivenBack", text),)


def _between(post: _Post, tried: TrialStatus | None) -> Told:
    """No baseline pod runs, or a trial has brought its own. `tried`: the trial on stage before this pass."""
    if staged(post.status) is not None:
        return (post.status, ()) if tried is not None else (_begun(post), ())
    if tried is not None:
        return _count_trial(post, tried), ()
    due = post.arm.next_check_time
    if due is None:  # the spec has just asked for it
        return _given_back(post, "retention is Trials")
    trial = post.status.trial
    if trial is not None and trial.state is TrialState.ROLLING_BACK:
        return post.status, ()
    drift = drifted(guard_of(post.status, post.settings)[0])
    early = post.now < seconds(due)
    why = drift if early and may_come_early(post.arm, post.now) else None if early else _DUE
    if why is None or check_hold(post.scene, post.status) is not None:
        return post.status, ()
    return _start(post, why, early=early)


def _start(post: _Post, why: str, *, early: bool) -> Told:
    moment = instant(post.now)
    starts = [moment, *(post.arm.early_checks or [])][:EARLY_CHECKS] if early else post.arm.early_checks
    check = Recheck(start_time=moment, reason=why[:300])
    status = _begun(post)
    arm = post.arm.model_copy(update={"check": check, "next_check_time": None, "early_checks": starts})
    text = f"{post.serving.name} is compared with the baseline anew, because {why}: a pod is borrowed for it"
    return status.model_copy(update={"baseline": arm}), (Event("Normal", "RecheckStarted", text),)


def _begun(post: _Post) -> Status:
    """A re-check's interval is of its own windows; the guard goes on."""
    state = guard_of(post.status, post.settings)[0]
    return with_guard(post.status, post.serving, start_check(state))


def _count_trial(post: _Post, tried: TrialStatus) -> Status:
    """A trial in which what serves was shown to be faster still counts as a re-check."""
    found = check_outcome(guard_of(post.status, post.settings)[0], post.deadline_windows)
    if found is None or found.result is not CheckResult.KEPT:
        return post.status
    return _ended(post, found.result, seconds(tried.start_time))


def _checking(post: _Post, check: Recheck) -> Told:
    """Until the guard has an answer; the alarm, which `retire` hears first, is one too."""
    found = check_outcome(guard_of(post.status, post.settings)[0], post.deadline_windows) or _given_up(
        post, check
    )
    if found is None:
        return post.status, ()
    status = _ended(post, found.result, seconds(check.start_time))
    due = status.baseline.next_check_time if status.baseline else None
    after = f"the next one is at {due}" if due else "baseline pods stay from now on"
    text = f"re-check of {post.serving.name}: {found.result}: {found.message}; {after}"
    return status, (Event("Normal", "RecheckEnded", text),)


def _ended(post: _Post, result: CheckResult, start: float) -> Status:
    """What a re-check leaves behind; retention is looked at anew."""
    retention = in_force(post.spec)
    summary = guard_summary(guard_of(post.status, post.settings)[0])
    return post.with_arm(
        check=None,
        retention=retention,
        last_check=result.value,
        last_check_time=instant(post.now),
        last_ratio=ratio(summary.ratio),
        next_check_time=None if retention == "Always" else post.next_time(start),
    )


def _given_up(post: _Post, check: Recheck) -> CheckOutcome | None:
    """A re-check that can't come to an end: time is up, or its pods do not come."""
    since = post.now - seconds(check.start_time)
    if since >= post.spec.trial.total_deadline_seconds:
        why = f"{since:.0f} s are over (trial.totalDeadlineSeconds)"
    else:
        why = _hindrance(post, since) or ""
    return CheckOutcome(CheckResult.UNDECIDED, f"{why}, what serves is kept") if why else None


def _hindrance(post: _Post, since: float) -> str | None:
    """Why the baseline's pods do not come."""
    scene, spec = post.scene, post.spec
    if spec.replicas <= spec.baseline.replicas:
        return f"replicas is {spec.replicas}"
    pods, existing = scene.pods(post.arm.template), scene.deployment(post.arm.template)
    found = ailment(pods, post.now, spec.engine.startup_seconds)
    if found is not None:
        return found.message
    if since < CAPACITY_SECONDS:
        return None
    barred = scene.seen.barred(post.arm.template)
    if existing is None and barred is not None:
        return f"the baseline's Deployment can't be made ({barred[:200]})"
    if existing is not None and existing.failure:
        return f"the baseline's pods are refused ({existing.failure[:200]})"
    return None if leaving(scene) else _unplaced(post, pods)


def _unplaced(post: _Post, pods: tuple[Pod, ...]) -> str | None:
    """That no node takes the baseline's pod."""
    late = [p for p in pods if post.now - p.created >= CAPACITY_SECONDS]
    words = next((words for p in late if (words := homeless(p, post.now)) is not None), None)
    return None if words is None else f"no node takes the baseline's pod ({words[:200]})"


def protection_moments(scene: Scene, status: Status) -> list[float]:
    """When time alone changes something in how what serves is protected."""
    arm, spec = status.baseline, scene.spec
    if arm is None or spec is None:
        return []
    moments = [seconds(t) for t in (arm.until, arm.next_check_time) if t is not None]
    moments += freshness(status)
    if arm.check is not None:
        moments.append(seconds(arm.check.start_time) + spec.trial.total_deadline_seconds)
    return moments
