"""What ends a trial besides its evidence: an ordered list of small checks, the first that speaks decides.

Abort and deadline come first and depend on nothing that may be broken.
"""

from collections.abc import Callable
from dataclasses import dataclass

from specdeploy.api.names import BASELINE
from specdeploy.api.reasons import Outcome
from specdeploy.api.spec import Spec
from specdeploy.api.status import Status, TrialStatus, seconds
from specdeploy.engine.revision import Template
from specdeploy.judge import TRIAL, expire
from specdeploy.rollout.allocate import Roles, needed
from specdeploy.rollout.decision import Ending
from specdeploy.rollout.evidence import load, settings_of
from specdeploy.rollout.health import ailment
from specdeploy.rollout.observation import Pod
from specdeploy.rollout.scene import ON_STAGE, Scene
from specdeploy.rollout.verdicts import backoff

# How long the trial's pod may find no room, once what it borrowed is gone.
CAPACITY_SECONDS = 120.0
STALL_SECONDS = 60.0


@dataclass(frozen=True)
class Case:
    """A trial with what concerns it."""

    scene: Scene
    status: Status
    trial: TrialStatus
    template: Template | None
    abort: bool = False

    @property
    def pods(self) -> tuple[Pod, ...]:
        return self.scene.pods(self.trial.template)

    @property
    def age(self) -> float:
        return self.scene.now - seconds(self.trial.start_time)


Check = Callable[[Case, Spec], Ending | None]


def roles_of(scene: Scene, status: Status, trial: str | None) -> Roles | None:
    """Who has which role; None before anything serves."""
    if status.serving is None or status.baseline is None:
        return None
    spec = scene.spec
    return Roles(
        serving=status.serving.template,
        baseline=status.baseline.template,
        trial=trial,
        baseline_replicas=spec.baseline.replicas if spec else 1,
        trial_replicas=spec.trial.replicas if spec else 1,
    )


def aborted(case: Case, _: Spec) -> Ending | None:
    """Somebody asked for it."""
    if not case.abort:
        return None
    return Ending(Outcome.ABORTED, "AbortRequested", f"{case.trial.drafter} was aborted by annotation")


def out_of_time(case: Case, spec: Spec) -> Ending | None:
    """A quiet model does not hold a borrowed GPU for ever."""
    if case.age < spec.trial.total_deadline_seconds or case.trial.state not in ON_STAGE:
        return None
    settings = settings_of(case.scene, case.status, spec)
    verdict = expire(load(case.trial, settings)[0], settings)
    text = (
        f"{case.trial.drafter} ran out of time after {spec.trial.total_deadline_seconds} s in all "
        f"(trial.totalDeadlineSeconds): {verdict.message}"
    )
    return Ending(Outcome(verdict.outcome.value), "TotalDeadline", text, verdict.numbers)


def superseded(case: Case, _: Spec) -> Ending | None:
    """The spec lists this revision no more, or in another shape."""
    if case.template is not None and case.template.drafter != BASELINE:
        return None
    text = f"{case.trial.drafter} as it was on trial ({case.trial.revision}) is no longer listed"
    return Ending(Outcome.SUPERSEDED, "SpecChanged", text, retry_after=0.0)


def invalid(case: Case, _: Spec) -> Ending | None:
    """It can't run, as far as can be known without running it."""
    wrong = case.scene.drafters.get(case.trial.drafter)
    return Ending(Outcome.INVALID, "InvalidDrafter", str(wrong[0])) if wrong else None


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
    if roles is None or spec.replicas >= needed(roles) or case.trial.state not in ON_STAGE:
        return None
    text = (
        f"{case.trial.drafter}: replicas fell to {spec.replicas} and a trial needs {needed(roles)}; "
        "it is tried again when there are enough"
    )
    return Ending(Outcome.ABORTED, "TooFewReplicas", text, retry_after=0.0)


def unhealthy(case: Case, spec: Spec) -> Ending | None:
    """Its engine can't run. The first refusal of a GPU whose old pod is still draining is forgiven."""
    found = ailment(case.pods, case.scene.now, spec.engine.startup_seconds)
    if found is None or (found.free_memory and _first_refusal(case)):
        return None
    return Ending(Outcome.UNHEALTHY, found.reason, f"{case.trial.drafter}: {found.message}")


def _first_refusal(case: Case) -> bool:
    return case.trial.ready_time is None and sum(p.restarts for p in case.pods) <= 1


def stalled(case: Case, _: Spec) -> Ending | None:
    """Requests run, no token comes, and /health says 200."""
    window = case.scene.seen.window
    for pod in window.arms.get(TRIAL, ()) if window else ():
        if pod.seconds >= STALL_SECONDS and (pod.requests_running or 0) > 0 and pod.generation_tokens == 0:
            text = (
                f"{case.trial.drafter}: {pod.requests_running:.0f} requests ran for {pod.seconds:.0f} s "
                f"without a token (pod {pod.pod}), although it calls itself healthy"
            )
            return Ending(Outcome.UNHEALTHY, "Stalled", text)
    return None


def no_capacity(case: Case, _: Spec) -> Ending | None:
    """Its pod finds no room although what it borrowed is gone."""
    since = case.trial.unschedulable_time
    if since is None or case.scene.now - seconds(since) < CAPACITY_SECONDS:
        return None
    words = next((p.unschedulable for p in case.pods if p.unschedulable), "no room")
    wait = backoff(case.trial.attempt)
    text = f"{case.trial.drafter}: no node takes its pod ({words[:200]}); tried again in {wait:.0f} s"
    return Ending(Outcome.NO_CAPACITY, "Unschedulable", text, retry_after=wait)


ENDINGS: tuple[Check, ...] = (
    aborted,
    out_of_time,
    superseded,
    invalid,
    refused,
    too_few_replicas,
    unhealthy,
    stalled,
    no_capacity,
)


def ending_of(case: Case, spec: Spec) -> Ending | None:
    """The first reason to end this trial now."""
    return next((ending for check in ENDINGS if (ending := check(case, spec)) is not None), None)
