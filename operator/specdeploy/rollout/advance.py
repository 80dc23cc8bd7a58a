"""The decision: one observation and the stored status give the next status.

Order: what somebody asked for, what serves, the trial, what protects what serves, then conditions and words.
Abort and deadline come before everything that may be broken.
"""

from specdeploy.api.reasons import Outcome, TrialState
from specdeploy.api.status import Status, seconds
from specdeploy.rollout.agreement import keep_answers
from specdeploy.rollout.clock import of_one_clock
from specdeploy.rollout.conditions import LOST_SECONDS, with_conditions
from specdeploy.rollout.decision import Ending, Event, Step
from specdeploy.rollout.endings import CAPACITY_SECONDS
from specdeploy.rollout.evidence import settings_of
from specdeploy.rollout.learning import learn_window, of_one_length
from specdeploy.rollout.observation import Observation
from specdeploy.rollout.protection import protect, protection_moments
from specdeploy.rollout.requests import execute_retry, pending, recorded
from specdeploy.rollout.retire import retire
from specdeploy.rollout.scene import UNREADABLE, Scene, scene
from specdeploy.rollout.serving import follow_spec, keep_version, remake_edited, succession_end
from specdeploy.rollout.size import fitted
from specdeploy.rollout.stalls import stand_still
from specdeploy.rollout.stuck import stuck_moments
from specdeploy.rollout.trial import abort, step_trial
from specdeploy.rollout.verdicts import INVALID_DRAFTER, LONGEST_SENTENCE, record, verdict_of
from specdeploy.rollout.way_back import arrived, way_back_moments
from specdeploy.rollout.words import describe, quiet_from

_LONGEST_FINDING = 200
# How often a trial that waits for its turn looks whether another one has ended, in seconds.
_SLOT_SECONDS = 30.0


def advance(seen: Observation, status: Status) -> Step:
    """The status to store, what to tell, and when to look again. Never raises for what users can cause."""
    view, before = scene(seen, status), status
    status, clocked = of_one_clock(view, status)
    status, told = _obey(view, status)
    if told:  # a retry may have given arms new names
        view = scene(seen, status)
    status, invalid = _note_invalid(view, status)
    status, followed = follow_spec(view, keep_version(view, status))
    status = keep_answers(view, status)
    status, noted = _note_serving(view, status)
    status, retired = retire(view, _learned(view, status))
    status, tried = step_trial(view, status)
    status, kept = protect(view, before, status)
    status = arrived(view, status)
    status = fitted(describe(view, with_conditions(view, status)), view.listed)
    lost = (*(_lost(part) for part in seen.lost_status), *clocked)
    events = (
        *lost,
        *_unknown(seen, before),
        *told,
        *invalid,
        *followed,
        *noted,
        *retired,
        *tried,
        *kept,
        *_stalls(view, before),
    )
    return Step(status, events, _next_check(view, status))


def _learned(view: Scene, status: Status) -> Status:
    """The status with what the window that has just ended tells of the baseline."""
    if view.spec is None:
        return status
    status = of_one_length(status, view.spec)
    return learn_window(view, status, settings_of(view, status, view.spec))


def _lost(part: str) -> Event:
    return Event("Warning", "StatusMalformed", f"{part} could not be read and was dropped; it is built anew")


def _unknown(seen: Observation, before: Status) -> tuple[Event, ...]:
    """Fields of a newer schema: ignored, and said once for each generation of the spec."""
    if not seen.reading.unknown or before.observed_generation == seen.generation:
        return ()
    fields = ", ".join(seen.reading.unknown[:5])
    text = f"{fields}: this operator does not know these fields and ignores them; upgrade it, or remove them"
    return (Event("Warning", "UnknownFields", text),)


def _obey(view: Scene, status: Status) -> tuple[Status, tuple[Event, ...]]:
    """Execute what was asked for, in order: a retry lifts what an abort in the same pass has set."""
    events: tuple[Event, ...] = ()
    for order in pending(view, status):
        ended: tuple[Event, ...] = ()
        if order.fault is not None:
            status, event = recorded(view, status, order, "")
        elif order.verb == "retry":
            status, event = execute_retry(view, status, order)
            status, ended = remake_edited(view, status)
        else:
            status, ended, result = abort(view, status, order.drafter)
            status, event = recorded(view, status, order, result)
        events = (*events, event, *ended)
    return status, events


def _note_invalid(view: Scene, status: Status) -> tuple[Status, tuple[Event, ...]]:
    """A verdict Invalid for each drafter that can't run as written; told once."""
    events: list[Event] = []
    for name, findings in view.drafters.items():
        template, text = view.drafter(name), f"{name}: {findings[0]}"
        revision = template.revision if template is not None else UNREADABLE
        if _has_a_role(status, name, revision) or _already_said(status, name, revision, text):
            continue
        ending = Ending(Outcome.INVALID, INVALID_DRAFTER, text)
        status = record(status, verdict_of(name, revision, 1, ending, view.now), view.listed)
        events.append(Event("Warning", Outcome.INVALID.value, text))
    return _forget_mended(view, status), tuple(events)


def _has_a_role(status: Status, name: str, revision: str) -> bool:
    """On trial (the trial's own checks end it) or serving (it is told, and serves on)."""
    trial, serving = status.trial, status.serving
    roles = {(trial.drafter, trial.revision)} if trial is not None else set()
    return (name, revision) in roles | ({(serving.name, serving.revision)} if serving is not None else set())


def _note_serving(view: Scene, status: Status) -> tuple[Status, tuple[Event, ...]]:
    """A check that newly refuses what serves (another operator, another vllmVersion) takes nothing off: it
    has proven that it runs. Told once; its verdict stays."""
    serving = status.serving
    if serving is None or view.spec is None:
        return status, ()
    template = view.drafter(serving.name)
    known = template is not None and template.revision == serving.revision
    wrong = view.drafters.get(serving.name) if known else None
    finding = str(wrong[0])[:_LONGEST_FINDING] if wrong else None
    if finding == serving.finding:
        return status, ()
    status = status.model_copy(update={"serving": serving.model_copy(update={"finding": finding})})
    text = f"{serving.name} serves on although a check refuses it now: {finding}"
    return status, () if finding is None else (Event("Warning", "ServingInvalid", text),)


def _already_said(status: Status, name: str, revision: str, text: str) -> bool:
    return any(
        v.drafter == name
        and v.revision == revision
        and v.reason == INVALID_DRAFTER
        and v.message in (None, text[:LONGEST_SENTENCE])
        for v in status.verdicts or []
    )


def _stalls(view: Scene, before: Status) -> tuple[Event, ...]:
    """Pods that stand still are told once, and again when they are others: the message has told the rest."""
    still = stand_still(view.seen.pods)
    known = before.message or ""
    return () if still is None or still in known else (Event("Warning", "EngineStalled", still),)


def _forget_mended(view: Scene, status: Status) -> Status:
    """A drafter that can be run now is no longer Invalid."""
    if view.spec is None or not status.verdicts:
        return status
    kept = [v for v in status.verdicts if v.reason != INVALID_DRAFTER or v.drafter in view.drafters]
    return (
        status if len(kept) == len(status.verdicts) else status.model_copy(update={"verdicts": kept or None})
    )


def _next_check(view: Scene, status: Status) -> float | None:
    """The earliest moment at which time alone changes something."""
    moments = [view.seen.window_end, *_trial_moments(view, status), *_pod_moments(view)]
    moments += [*stuck_moments(view), *way_back_moments(status)]
    moments += protection_moments(view, status)
    moments += [seconds(v.retry_time) for v in status.verdicts or [] if v.retry_time]
    running = (status.serving, status.trial.fallback if status.trial else None)
    moments += [succession_end(view, s) for s in running if s is not None and s.left_time is not None]
    future = [m for m in moments if m is not None and m > view.now]
    return min(future, default=None)


def _pod_moments(view: Scene) -> list[float]:
    """When a pod that is not ready becomes late, or its capacity lost."""
    if view.spec is None:
        return []
    waiting = [p for p in view.seen.pods if not p.ready and not p.terminating]
    late = [(p.running_since or p.created) + view.spec.engine.startup_seconds + 1 for p in waiting]
    return [*late, *(p.created + LOST_SECONDS for p in waiting if p.node is None)]


def _trial_moments(view: Scene, status: Status) -> list[float]:
    trial, spec = status.trial, view.spec
    moments = [seconds(trial.deadline_time)] if trial is not None and trial.deadline_time else []
    if trial is None or spec is None:
        return moments
    if trial.state is TrialState.WAITING_FOR_SLOT:
        moments.append(view.now + _SLOT_SECONDS)
    if trial.unschedulable_time is not None:
        moments.append(seconds(trial.unschedulable_time) + CAPACITY_SECONDS)
    if trial.ready_time is not None:
        moments.append(seconds(trial.ready_time) + spec.trial.warmup)
        moments.append(quiet_from(trial, spec))
    return moments
