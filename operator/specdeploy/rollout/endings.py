"""What ends a trial besides its evidence: an ordered list of small checks, the first that speaks decides.

The deadline comes first and depends on nothing that may be broken (an abort comes before all of it, see
`advance`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from specdeploy.api.reasons import Outcome, TrialState
from specdeploy.api.spec import Spec
from specdeploy.api.status import Status, TrialStatus, seconds
from specdeploy.judge import Settings, expire
from specdeploy.rollout.agreement import disagreement
from specdeploy.rollout.allocate import needed
from specdeploy.rollout.decision import Ending
from specdeploy.rollout.evidence import load, outcome_of, settings_of, yardsticks
from specdeploy.rollout.health import Ailment, ailment
from specdeploy.rollout.observation import Pod
from specdeploy.rollout.scene import Scene, roles_of
from specdeploy.rollout.stalls import LASTING_SECONDS
from specdeploy.rollout.stuck import homeless
from specdeploy.rollout.takeover import excused, failed
from specdeploy.rollout.verdicts import INVALID_DRAFTER, backoff

# How long the trial's pod may find no room, once what it borrowed is gone.
CAPACITY_SECONDS = 120.0


@dataclass(frozen=True)
class Case:
    """A trial that has pods of its own, with what concerns it."""

    scene: Scene
    status: Status
    trial: TrialStatus

    @property
    def pods(self) -> tuple[Pod, ...]:
        return self.scene.pods(self.trial.template)


Check = Callable[[Case, Spec], Ending | None]


def out_of_time(case: Case, spec: Spec) -> Ending | None:
    """A quiet model does not hold a borrowed GPU for ever. What is proven by then waits for the end of a
    pause."""
    if case.scene.now < deadline(case.trial, spec):
        return None
    ending = _expired(case, settings_of(case.scene, case.status, spec), deadline(case.trial, spec))
    return None if ending.outcome is Outcome.PROMOTED and case.scene.paused else ending


def out_of_time_unread(case: Case) -> Ending | None:
    """The same while the spec is invalid or can't be read. Nothing is promoted then: what is proven is a
    runner-up, and is tried again when the spec is right."""
    due, spec = case.trial.deadline_time, case.scene.spec
    if due is None or case.scene.now < seconds(due):
        return None
    length = float(case.trial.window_seconds or 60)
    unread = Settings(window_seconds=length, compare_serving=case.trial.compared is not None)
    known = unread if spec is None else settings_of(case.scene, case.status, spec)
    ending = _expired(case, known, seconds(due))
    return replace(ending, outcome=Outcome.RUNNER_UP) if ending.outcome is Outcome.PROMOTED else ending


def deadline(trial: TrialStatus, spec: Spec) -> float:
    """When a trial ends at the latest."""
    return seconds(trial.start_time) + spec.trial.total_deadline_seconds


def _expired(case: Case, settings: Settings, due: float) -> Ending:
    verdict = expire(load(case.status, case.trial, settings)[0], settings)
    total = due - seconds(case.trial.start_time)
    text = f"{case.trial.drafter}, after {total:.0f} s in all (trial.totalDeadlineSeconds): {verdict.message}"
    return Ending(outcome_of(verdict), "TotalDeadline", text, verdict.numbers)


def superseded(case: Case, _: Spec) -> Ending | None:
    """The spec lists this revision no more, or in another shape."""
    if case.scene.wanted(case.trial.template) is not None:
        return None
    text = f"{case.trial.drafter} as it was on trial ({case.trial.revision}) is no longer listed"
    return Ending(Outcome.SUPERSEDED, "SpecChanged", text, retry_after=0.0)


def invalid(case: Case, _: Spec) -> Ending | None:
    """It can't run, as far as can be known without running it."""
    wrong = case.scene.drafters.get(case.trial.drafter)
    if not wrong:
        return None
    return Ending(Outcome.INVALID, INVALID_DRAFTER, f"{case.trial.drafter}: {wrong[0]}")


def refused(case: Case, _: Spec) -> Ending | None:
    """The API server did not take its Deployment."""
    words = case.scene.seen.refused.get(case.trial.template)
    if words is None:
        return None
    text = f"{case.trial.drafter}: the API server refused its Deployment: {words}; correct engine.podTemplate"
    return Ending(Outcome.INVALID, "Refused", text)


def too_few_replicas(case: Case, spec: Spec) -> Ending | None:
    """Scaled down under it. No judgement, no quarantine."""
    roles = roles_of(case.scene, case.status, case.trial.template)
    if roles is None or spec.replicas >= needed(roles):
        return None
    wait = _pause(case.trial)
    text = (
        f"{case.trial.drafter}: replicas is {spec.replicas} and a trial needs {needed(roles)}; "
        f"it is tried again when there are enough{_earliest(wait)}"
    )
    return Ending(Outcome.ABORTED, "TooFewReplicas", text, retry_after=wait)


def _pause(trial: TrialStatus) -> float:
    """Seconds before a trial that the cluster's owner has disturbed: none for once; but an autoscaler may go
    to and fro, or a controller edit every Deployment, and each attempt loads an engine."""
    return backoff(trial.attempt - 1) if trial.attempt > 1 else 0.0


def _earliest(wait: float) -> str:
    return f", in {wait:.0f} s at the earliest" if wait else ""


def edited(case: Case, _: Spec) -> Ending | None:
    """Somebody edited an arm of the comparison: no window would count. As it starts, arms that do not serve
    are made anew (`plan`)."""
    arms = yardsticks(case.scene, case.status)
    if case.trial.state is TrialState.STARTING:
        arms &= {case.status.serving.template if case.status.serving else ""}
    else:
        arms |= {case.trial.template}
    found = next((d for d in case.scene.ours if d.edited and d.template in arms), None)
    if found is None:
        return None
    wait = _pause(case.trial)
    text = (
        f"{case.trial.drafter}: somebody edited Deployment {found.name}; nothing is said of the drafter, it "
        f"is tried again{_earliest(wait)}"
    )
    return Ending(Outcome.ABORTED, "TemplateEdited", text, retry_after=wait)


def unhealthy(case: Case, spec: Spec) -> Ending | None:
    """Its engine can't run or gives no token: the only one, or half of several; or it could not be started
    for a reason that no drafter has, then it is tried again."""
    found = [each for pod in case.pods if (each := _ailment(case, pod, spec)) is not None]
    blamed = next((each for each in found if each.of_engine), None)
    if blamed is not None and len(case.pods) == 1:
        return Ending(Outcome.UNHEALTHY, blamed.reason, f"{case.trial.drafter}: {blamed.message}")
    ending = failed(case.scene, case.trial, case.pods, spec) if blamed is not None else None
    other = next((each for each in found if not each.of_engine), None)
    if ending is not None or other is None:
        return ending
    wait = backoff(case.trial.attempt)
    text = f"{case.trial.drafter}: {other.message}; nothing is said of the drafter, again in {wait:.0f} s"
    return Ending(Outcome.INCONCLUSIVE, other.reason, text, retry_after=wait)


def _ailment(case: Case, pod: Pod, spec: Spec) -> Ailment | None:
    """What ails a pod of the trial. Where nothing moves in the others, either, nobody is blamed for it."""
    found = ailment((pod,), case.scene.now, spec.engine.startup_seconds)
    if found is None or pod.silence is None or not excused(case.scene, case.trial.template, found):
        return found
    if pod.silence.seconds < LASTING_SECONDS:
        return None
    return replace(
        found, of_engine=False, message=f"{found.message}, and nothing moves in the others, either"
    )


def disagrees(case: Case, spec: Spec) -> Ending | None:
    """It changes what users read: said by what its pods have answered before they were ready."""
    return disagreement(case.scene, case.status, case.trial, spec)


def no_capacity(case: Case, _: Spec) -> Ending | None:
    """Its pod finds no room, or is refused at creation, although what it borrowed is gone."""
    since = case.trial.unschedulable_time
    if since is None or case.scene.now - seconds(since) < CAPACITY_SECONDS:
        return None
    wait, existing = backoff(case.trial.attempt), case.scene.deployment(case.trial.template)
    unmade = case.scene.seen.unmade.get(case.trial.template)
    if unmade is not None:
        words = unmade.words[:300]
        text = f"{case.trial.drafter}: its Deployment can't be made ({words}); tried again in {wait:.0f} s"
        return Ending(Outcome.NO_CAPACITY, "PodsRefused", text, retry_after=wait)
    if existing is not None and existing.failure:
        words = existing.failure[:300]
        text = f"{case.trial.drafter}: its pods are refused ({words}); tried again in {wait:.0f} s"
        return Ending(Outcome.NO_CAPACITY, "PodsRefused", text, retry_after=wait)
    told = (homeless(p, case.scene.now) for p in case.pods)
    words = next((words for words in told if words is not None), "no room")
    text = f"{case.trial.drafter}: no node takes its pod ({words[:200]}); tried again in {wait:.0f} s"
    return Ending(Outcome.NO_CAPACITY, "Unschedulable", text, retry_after=wait)


ENDINGS: tuple[Check, ...] = (
    out_of_time,
    superseded,
    invalid,
    refused,
    too_few_replicas,
    edited,
    unhealthy,
    disagrees,
    no_capacity,
)


def ending_of(case: Case, spec: Spec) -> Ending | None:
    """The first reason to end this trial now."""
    return next((ending for check in ENDINGS if (ending := check(case, spec)) is not None), None)
