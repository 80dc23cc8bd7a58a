"""The ledger of verdicts: what each revision's trials ended with. Bounded, newest first.

Verdicts of revisions that the spec still lists are never evicted: evicting one would forget a quarantine.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from specdeploy.api.reasons import QUARANTINED, Outcome
from specdeploy.api.status import MAX_SENTENCES, MAX_VERDICTS, Status, Verdict, instant, seconds
from specdeploy.engine.revision import RENDER_VERSION, Template
from specdeploy.rollout.decision import Ending

# Outcomes that a new renderer may undo: the engine never ran as it was meant to.
_RENDERER_MATTERS = frozenset({Outcome.UNHEALTHY, Outcome.INVALID})
# Waiting times before the same revision is tried again unasked: five minutes, doubling, six hours at most.
_FIRST_RETRY = 300.0
_LONGEST_RETRY = 21600.0
_LONGEST_SENTENCE = 1000


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
    if ending.summary is None or not ending.summary.windows_used:
        return Figures()
    s = ending.summary
    return Figures(ratio(s.ratio), ratio(s.lower), ratio(s.upper), s.windows_used)


def backoff(attempt: int) -> float:
    """Seconds to wait before attempt `attempt` + 1 of something that was nobody's fault."""
    return min(_LONGEST_RETRY, _FIRST_RETRY * 2.0 ** min(10, attempt - 1))


def verdict_of(template: Template, attempt: int, ending: Ending, now: float) -> Verdict:
    """The verdict that an ending of a trial leaves behind."""
    numbers = figures(ending)
    retry = None if ending.retry_after is None else instant(now + ending.retry_after)
    return Verdict(
        drafter=template.drafter,
        revision=template.revision,
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
        message=ending.message[:_LONGEST_SENTENCE],
    )


def record(status: Status, verdict: Verdict, listed: Iterable[str]) -> Status:
    """The status with this verdict as its revision's newest; older sentences and strangers go first."""
    others = [
        v for v in status.verdicts or [] if (v.drafter, v.revision) != (verdict.drafter, verdict.revision)
    ]
    return status.model_copy(update={"verdicts": bounded([verdict, *others], set(listed))})


def bounded(verdicts: Sequence[Verdict], listed: set[str]) -> list[Verdict]:
    """Sentences for the newest few only; strangers (revisions the spec does not list) are dropped first."""
    told = [
        v if i < MAX_SENTENCES else v.model_copy(update={"message": None}) for i, v in enumerate(verdicts)
    ]
    room = MAX_VERDICTS - sum(v.revision in listed for v in told)
    kept: list[Verdict] = []
    for verdict in told:
        if verdict.revision not in listed:
            room -= 1
            if room < 0:
                continue
        kept.append(verdict)
    return kept[:MAX_VERDICTS]


def quarantined(status: Status, template: Template, now: float) -> bool:
    """Whether this revision must not be tried now: it has a verdict that stands."""
    verdict = status.verdict(template.revision)
    if verdict is None:
        return False
    if verdict.retry_time is not None:
        return now < seconds(verdict.retry_time)
    if verdict.outcome in _RENDERER_MATTERS:
        return verdict.render_version == RENDER_VERSION
    return verdict.outcome in QUARANTINED or verdict.outcome in (Outcome.PROMOTED, Outcome.RUNNER_UP)


def attempts(status: Status, template: Template) -> int:
    """How often this revision was tried already."""
    verdict = status.verdict(template.revision)
    return 0 if verdict is None or verdict.outcome is Outcome.INVALID else verdict.attempt


def released(status: Status, drafter: str | None, now: float) -> tuple[Status, list[str]]:
    """The status in which these drafters (all of them without a name) may be tried again at once."""
    freed: list[str] = []
    verdicts: list[Verdict] = []
    for verdict in status.verdicts or []:
        if verdict.outcome in QUARANTINED | {Outcome.NO_CAPACITY, Outcome.RUNNER_UP} and drafter in (
            None,
            verdict.drafter,
        ):
            freed.append(verdict.drafter)
            verdict = verdict.model_copy(update={"retry_time": instant(now)})  # noqa: PLW2901
        verdicts.append(verdict)
    return status.model_copy(update={"verdicts": verdicts or None}), freed


def best_runner_up(status: Status, listed: Sequence[Template]) -> tuple[Template, Verdict] | None:
    """The drafter proven faster than the baseline that the spec still lists, the one with the best proof."""
    proven = [
        (template, verdict)
        for template in listed
        if (verdict := status.verdict(template.revision)) is not None
        and verdict.outcome is Outcome.RUNNER_UP
        and verdict.lower is not None
    ]
    return max(proven, key=lambda pair: float(pair[1].lower or 0), default=None)
