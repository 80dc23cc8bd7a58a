"""The ledger of verdicts: what each revision's trials ended with. Bounded, newest first.

Verdicts of revisions that the spec still lists are never evicted: evicting one would forget a quarantine.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from specdeploy.api.names import BASELINE
from specdeploy.api.reasons import QUARANTINED, Outcome
from specdeploy.api.status import (
    MAX_PICTURES,
    MAX_SENTENCES,
    MAX_VERDICTS,
    Status,
    Verdict,
    instant,
    seconds,
)
from specdeploy.engine.revision import RENDER_VERSION, Template
from specdeploy.rollout.decision import Ending

# Outcomes that a new renderer may undo: the engine never ran as it was meant to.
_RENDERER_MATTERS = frozenset({Outcome.UNHEALTHY, Outcome.INVALID})
# Outcomes that are nobody's fault where they are tried again unasked: nothing is said of the drafter.
_FAULTLESS = frozenset({Outcome.NO_CAPACITY, Outcome.ABORTED, Outcome.INCONCLUSIVE, Outcome.SUPERSEDED})
# Waiting times before the same revision is tried again unasked: five minutes, doubling, six hours at most.
_FIRST_RETRY = 300.0
_LONGEST_RETRY = 21600.0
# What served and was found slower is not tried again for a day, doubling.
_QUARANTINE = 86400.0
# Longer ones would push the status over its size; what is cut is the tail of an engine's last words.
LONGEST_SENTENCE = 600
# The reason of a verdict on a drafter that can't run as it is written.
INVALID_DRAFTER = "InvalidDrafter"


@dataclass(frozen=True)
class Figures:
    """A ratio and its interval as the strings that status carries; absent where nothing was measured."""

    ratio: str | None = None
    lower: str | None = None
    upper: str | None = None
    windows: int | None = None


def ratio(value: float | None) -> str | None:
    """Three decimals, or nothing for what is unknown or without bound."""
    if value is None or not 0 <= value < 1e9:
        return None
    return f"{value:.3f}"


def figures(ending: Ending) -> Figures:
    """The figures of an ending."""
    s, newest = ending.summary, ending.newest
    if s is None:
        return Figures() if newest is None else Figures(ratio(newest.ratio), windows=newest.windows)
    return Figures(ratio(s.ratio), ratio(s.lower), ratio(s.upper), s.windows_used)


def backoff(attempt: int) -> float:
    """Seconds to wait before attempt `attempt` + 1 of something that was nobody's fault."""
    return min(_LONGEST_RETRY, _FIRST_RETRY * 2.0 ** min(10, attempt - 1))


def quarantine(attempt: int) -> float:
    """Seconds for which what the guard took off in attempt `attempt` is not tried again."""
    return _QUARANTINE * 2.0 ** min(10, attempt - 1)


def verdict_of(drafter: str, revision: str, attempt: int, ending: Ending, now: float) -> Verdict:
    """The verdict that an ending leaves behind."""
    numbers = figures(ending)
    retry = None if ending.retry_after is None else instant(now + ending.retry_after)
    return Verdict(
        drafter=drafter,
        revision=revision,
        attempt=attempt,
        outcome=ending.outcome,
        reason=ending.reason,
        time=instant(now),
        retry_time=retry,
        ratio=numbers.ratio,
        lower=numbers.lower,
        upper=numbers.upper,
        windows=numbers.windows,
        render_version=RENDER_VERSION if ending.outcome in _RENDERER_MATTERS else None,
        message=ending.message[:LONGEST_SENTENCE],
    )


def record(status: Status, verdict: Verdict, listed: Iterable[str]) -> Status:
    """The status with this verdict as its revision's newest; older sentences and strangers go first."""
    others = [v for v in status.verdicts or [] if not _replaces(verdict, v)]
    return status.model_copy(update={"verdicts": bounded([verdict, *others], set(listed))})


def _replaces(new: Verdict, old: Verdict) -> bool:
    """One verdict for each revision, whatever its drafter was called then, and one for each twin of it."""
    if new.revision != old.revision:
        return False
    return new.drafter == old.drafter or INVALID_DRAFTER not in (new.reason, old.reason)


def bounded(verdicts: Sequence[Verdict], listed: set[str]) -> list[Verdict]:
    """Sentences and pictures for the newest few only; strangers (revisions the spec does not list) are
    dropped first, the oldest before the others."""
    room = MAX_VERDICTS - sum(v.revision in listed for v in verdicts)
    strangers = [v for v in verdicts if v.revision not in listed]
    dropped = {id(v) for v in strangers[max(0, room) :]}
    kept = [v for v in verdicts if id(v) not in dropped][:MAX_VERDICTS]
    return [_aged(v, age) for age, v in enumerate(kept)]


def _aged(verdict: Verdict, age: int) -> Verdict:
    """A verdict with `age` newer ones before it."""
    if age >= MAX_SENTENCES and (verdict.message or verdict.first_window_time) is not None:
        verdict = verdict.model_copy(update={"message": None, "first_window_time": None})
    if age >= MAX_PICTURES and verdict.recent is not None:
        verdict = verdict.model_copy(update={"recent": None})
    return verdict


def standing(status: Status, template: Template) -> Verdict | None:
    """The newest verdict of this revision. One that only says that another drafter of the same revision
    is written wrongly (a twin of this one) is no verdict on it."""
    return next(
        (
            v
            for v in status.verdicts or []
            if v.revision == template.revision
            and (v.reason != INVALID_DRAFTER or v.drafter == template.drafter)
        ),
        None,
    )


def quarantined(status: Status, template: Template, now: float) -> bool:
    """Whether this revision must not be tried now: it has a verdict that stands.

    A proven drafter that does not serve (it was taken out of the spec, its engine came back ...) is tried
    again; a runner-up waits while another drafter serves.
    """
    verdict = standing(status, template)
    if verdict is None:
        return False
    if verdict.retry_time is not None:
        return now < seconds(verdict.retry_time)
    if verdict.outcome in _RENDERER_MATTERS:
        return verdict.render_version == RENDER_VERSION
    if verdict.outcome is Outcome.RUNNER_UP:
        return status.serving is not None and status.serving.name != BASELINE
    return verdict.outcome in QUARANTINED


def put_off(status: Status, template: Template) -> bool:
    """Whether this revision only waits for another trial: its last one ended for nobody's fault."""
    verdict = standing(status, template)
    return verdict is not None and verdict.retry_time is not None and verdict.outcome in _FAULTLESS


def attempts(status: Status, template: Template) -> int:
    """How often this revision was tried already."""
    verdict = standing(status, template)
    return 0 if verdict is None or verdict.reason == INVALID_DRAFTER else verdict.attempt


def released(status: Status, drafter: str | None, now: float) -> tuple[Status, list[str]]:
    """The status in which these drafters (all of them without a name) may be tried again at once, and
    their names."""
    verdicts = [
        v.model_copy(update={"retry_time": instant(now)}) if _releasable(v, drafter) else v
        for v in status.verdicts or []
    ]
    freed = [v.drafter for v in status.verdicts or [] if _releasable(v, drafter)]
    return status.model_copy(update={"verdicts": verdicts or None}), freed


def _releasable(verdict: Verdict, drafter: str | None) -> bool:
    held = verdict.outcome in QUARANTINED | {Outcome.NO_CAPACITY, Outcome.RUNNER_UP}
    return held and verdict.reason != INVALID_DRAFTER and drafter in (None, verdict.drafter)


def best_runner_up(status: Status, listed: Sequence[Template]) -> tuple[Template, Verdict] | None:
    """The drafter proven faster than the baseline that the spec still lists, the one with the best proof."""
    proven = [
        (template, verdict)
        for template in listed
        if (verdict := standing(status, template)) is not None
        and verdict.outcome is Outcome.RUNNER_UP
        and verdict.lower is not None
    ]
    return max(proven, key=lambda pair: float(pair[1].lower or 0), default=None)
