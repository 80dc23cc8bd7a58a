"""The decision: one observation and the stored status give the next status.

Order: what somebody asked for, what serves, the trial, then conditions and words. Abort and deadline come
before everything that may be broken.
"""

from specdeploy.api.findings import Finding
from specdeploy.api.reasons import Outcome, TrialState
from specdeploy.api.status import Status, seconds
from specdeploy.engine.revision import Template
from specdeploy.rollout.candidates import next_candidate
from specdeploy.rollout.conditions import with_conditions
from specdeploy.rollout.decision import Ending, Event, Step
from specdeploy.rollout.health import ailment
from specdeploy.rollout.observation import Observation
from specdeploy.rollout.requests import execute_retry, pending, recorded
from specdeploy.rollout.scene import Scene, scene
from specdeploy.rollout.serving import fall_back, follow_spec
from specdeploy.rollout.trial import listed, step_trial
from specdeploy.rollout.verdicts import record, verdict_of
from specdeploy.rollout.words import describe

# With an exit that keeps coming back, a serving drafter is taken off; one crash alone is the kubelet's work.
_CRASH_LOOP = 3


def advance(seen: Observation, status: Status) -> Step:
    """The status to store, what to tell, and when to look again. Never raises for what users can cause."""
    view = scene(seen, status)
    status, told = _obey(view, status)
    abort = any(e.reason == "Abort" and e.type == "Normal" for e in told)
    status, invalid = _note_invalid(view, status)
    status, followed = follow_spec(view, status)
    status, retired = _retire_failing(view, status)
    status, tried = step_trial(view, status, abort=abort)
    status = describe(view, with_conditions(view, status))
    lost = tuple(_lost(part) for part in seen.lost_status)
    events = (*lost, *told, *invalid, *followed, *retired, *tried)
    return Step(status, events, _next_check(view, status))


def _lost(part: str) -> Event:
    return Event("Warning", "StatusMalformed", f"{part} could not be read and was dropped; it is built anew")


def _obey(view: Scene, status: Status) -> tuple[Status, tuple[Event, ...]]:
    events = []
    for order in pending(view, status):
        if order.fault is not None:
            status, event = recorded(view, status, order, f"not executed: {order.fault}")
        elif order.verb == "retry":
            status, event = execute_retry(view, status, order)
        else:
            status, event = recorded(view, status, order, _abort_result(status, order.drafter))
            if event.message.endswith("nothing to abort"):
                event = Event("Warning", event.reason, event.message)
        events.append(event)
    return status, tuple(events)


def _abort_result(status: Status, drafter: str | None) -> str:
    trial = status.trial
    stoppable = trial is not None and trial.state not in (TrialState.ROLLING_BACK, TrialState.PROMOTING)
    if trial is None or not stoppable or drafter not in (None, trial.drafter):
        return "nothing to abort"
    return f"the trial of {trial.drafter} ends"


def _note_invalid(view: Scene, status: Status) -> tuple[Status, tuple[Event, ...]]:
    """A verdict Invalid for each drafter that can't run as written; told once."""
    events: list[Event] = []
    for name, findings in view.drafters.items():
        template = view.drafter(name) or _unreadable(name)
        if status.trial is not None and status.trial.revision == template.revision:
            continue
        if _already_said(status, template, findings):
            continue
        text = f"{name}: {findings[0]}"
        ending = Ending(Outcome.INVALID, "InvalidDrafter", text)
        status = record(status, verdict_of(template, 1, ending, view.now), listed(view))
        events.append(Event("Warning", Outcome.INVALID.value, text))
    return _forget_mended(view, status), tuple(events)


def _unreadable(name: str) -> Template:
    return Template(drafter=name, config=None, revision="unreadable", shape="", hash="")


def _already_said(status: Status, template: Template, findings: tuple[Finding, ...]) -> bool:
    text = f"{template.drafter}: {findings[0]}"
    return any(
        v.drafter == template.drafter
        and v.revision == template.revision
        and v.outcome is Outcome.INVALID
        and v.message in (None, text[:1000])
        for v in status.verdicts or []
    )


def _forget_mended(view: Scene, status: Status) -> Status:
    """A drafter that can be run now is no longer Invalid."""
    if view.spec is None or not status.verdicts:
        return status
    kept = [
        v
        for v in status.verdicts
        if v.outcome is not Outcome.INVALID or v.reason != "InvalidDrafter" or v.drafter in view.drafters
    ]
    return (
        status if len(kept) == len(status.verdicts) else status.model_copy(update={"verdicts": kept or None})
    )


def _retire_failing(view: Scene, status: Status) -> tuple[Status, tuple[Event, ...]]:
    """A serving drafter whose engines crash again and again is taken off, whatever its speed was."""
    serving, spec = status.serving, view.spec
    template = view.by_revision(serving.revision) if serving is not None else None
    if serving is None or spec is None or template is None or template.config is None:
        return status, ()
    if status.trial is not None and status.trial.state is TrialState.PROMOTING:
        return status, ()
    looping = [p for p in view.pods(serving.template) if p.restarts >= _CRASH_LOOP and not p.ready]
    found = ailment(looping, view.now, spec.engine.startup_seconds)
    if found is None:
        return status, ()
    ending = Ending(Outcome.UNHEALTHY, found.reason, f"{serving.name}, which served: {found.message}")
    verdict = status.verdict(serving.revision)
    attempt = verdict.attempt if verdict else 1
    status = record(status, verdict_of(template, attempt, ending, view.now), listed(view))
    status, moved = fall_back(view, status, f"{serving.name} crashes again and again")
    return status, (Event("Warning", Outcome.UNHEALTHY.value, ending.message), *moved)


def _next_check(view: Scene, status: Status) -> float | None:
    """The earliest moment at which time alone changes something."""
    moments = [view.seen.window_end, *_trial_moments(view, status)]
    if status.trial is None and view.valid and next_candidate(view, status) is None:
        moments += [
            seconds(v.retry_time)
            for v in status.verdicts or []
            if v.retry_time and v.revision in listed(view) and seconds(v.retry_time) > view.now
        ]
    if view.spec is not None:
        budget = view.spec.engine.startup_seconds
        moments += [p.created + budget + 1 for p in view.seen.pods if not p.ready and not p.terminating]
    future = [m for m in moments if m is not None and m > view.now]
    return min(future, default=None)


def _trial_moments(view: Scene, status: Status) -> list[float]:
    trial, spec = status.trial, view.spec
    if trial is None or spec is None:
        return []
    moments = [seconds(trial.start_time) + spec.trial.total_deadline_seconds]
    if trial.unschedulable_time is not None:
        moments.append(seconds(trial.unschedulable_time) + 121)
    if trial.ready_time is not None:
        moments.append(seconds(trial.ready_time) + spec.trial.warmup)
    return moments
