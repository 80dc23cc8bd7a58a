"""From the evidence to a verdict: an ordered list of small checks; the first that says something decides.

Retiring and promoting look at the same interval. Both comparisons rest on the same windows, so a further
drafter is promoted only if it beats the baseline and what serves then and there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from specdeploy.judge import sentences
from specdeploy.judge.comparison import Comparison, Estimate, Frozen, estimate, estimate_recent
from specdeploy.judge.settings import Settings
from specdeploy.judge.state import TrialState
from specdeploy.judge.verdict import Cause, Outcome, Verdict, multiple, summarise

CLEARLY_SLOWER = math.log(0.9)
WINDOWS_TO_RETIRE = 30


class Case(NamedTuple):
    """A trial as the checks see it. `baseline` and `serving` are None while they say too little."""

    state: TrialState
    settings: Settings
    baseline: Estimate | None
    serving: Estimate | None

    @property
    def goal(self) -> float:
        """The log ratio that a promotion must be worth."""
        return math.log1p(self.settings.minimum_effect)


Check = Callable[[Case], Verdict | None]


def decide_alarms(state: TrialState, settings: Settings) -> Verdict | None:
    """What is decided after every window, evidence or not."""
    return _first(ALARMS, Case(state, settings, None, None))


def decide(state: TrialState, settings: Settings) -> Verdict | None:
    """What is decided after a window of evidence."""
    return _first(ALL, _case(state, settings))


def decide_deadline(state: TrialState, settings: Settings) -> Verdict:
    """The verdict when time is up. What is not proven is not promoted."""
    case = _case(state, settings)
    promoted = _check_promoted(case)  # proven before, and held back by the caller
    if promoted is not None:
        return promoted
    if settings.compare_serving and _proven(case, state.baseline, case.baseline):
        why = "not proven faster than what serves by the deadline"
        message = sentences.runner_up(state, why)
        return _verdict(case, Outcome.RUNNER_UP, Cause.NOT_PROVEN_AGAINST_SERVING, message)
    if _loses_to_serving(case):
        message = sentences.not_worth_it(state, "slower than what serves")
        return _verdict(case, Outcome.NOT_WORTH_IT, Cause.SLOWER_THAN_SERVING, message)
    return _verdict(case, Outcome.INCONCLUSIVE, Cause.DEADLINE, sentences.inconclusive(state))


def _check_disaster(case: Case) -> Verdict | None:
    if not case.state.lane.alarmed:
        return None
    verdict = _verdict(case, Outcome.DISASTER, Cause.FAR_SLOWER, sentences.disaster(case.state))
    # The windows that decided may have come before any evidence: their ratio is what was found.
    return replace(verdict, numbers=replace(verdict.numbers, ratio=multiple(case.state.lane.mean)))


def _check_capacity(case: Case) -> Verdict | None:
    if not case.state.queue.alarmed:
        return None
    return _verdict(case, Outcome.GUARDED, Cause.LESS_CAPACITY, sentences.less_capacity(case.state))


def _check_retired(case: Case) -> Verdict | None:
    state, known = case.state, case.baseline
    if known is None or not _cannot_reach(case.goal, state.baseline, known, state.frozen):
        return None
    if known.upper(state.frozen.alpha) < 0:
        return _verdict(case, Outcome.SLOWER, Cause.SLOWER_THAN_BASELINE, sentences.slower(state))
    why = f"it cannot be worth {sentences.percent(case.settings.minimum_effect)}"
    return _verdict(case, Outcome.NOT_WORTH_IT, Cause.BELOW_EFFECT, sentences.not_worth_it(state, why))


def _check_promoted(case: Case) -> Verdict | None:
    state = case.state
    if not _proven(case, state.baseline, case.baseline):
        return None
    if case.settings.compare_serving and not _proven(case, state.serving, case.serving):
        return None
    return _verdict(case, Outcome.PROMOTED, Cause.PROVEN_FASTER, sentences.promoted(state, case.settings))


def _check_serving(case: Case) -> Verdict | None:
    """Slower than what serves, or never worth replacing it: a runner-up once proven faster than the baseline.

    A drafter that loses to what serves and does not look faster than the baseline either is not waited for.
    """
    state = case.state
    if case.serving is None or case.baseline is None:
        return None
    loses = _loses_to_serving(case)
    if _proven(case, state.baseline, case.baseline):
        if loses:
            message = sentences.runner_up(state, "slower than what serves")
            return _verdict(case, Outcome.RUNNER_UP, Cause.SLOWER_THAN_SERVING, message)
        if _cannot_reach(case.goal, state.serving, case.serving, state.frozen):
            message = sentences.runner_up(
                state, f"not worth {sentences.percent(case.settings.minimum_effect)} over what serves"
            )
            return _verdict(case, Outcome.RUNNER_UP, Cause.BELOW_EFFECT_AGAINST_SERVING, message)
    elif loses and case.baseline.mean < case.goal:
        message = sentences.not_worth_it(state, "slower than what serves")
        return _verdict(case, Outcome.NOT_WORTH_IT, Cause.SLOWER_THAN_SERVING, message)
    return None


def _check_deadline(case: Case) -> Verdict | None:
    if case.state.measured_seconds < case.settings.deadline_seconds:
        return None
    return decide_deadline(case.state, case.settings)


ALARMS: tuple[Check, ...] = (_check_disaster, _check_capacity)
CHECKS: tuple[Check, ...] = (_check_retired, _check_promoted, _check_serving, _check_deadline)
ALL = ALARMS + CHECKS


def _case(state: TrialState, settings: Settings) -> Case:
    serving = estimate(state.serving, state.frozen) if settings.compare_serving else None
    return Case(state, settings, estimate(state.baseline, state.frozen), serving)


def _first(checks: tuple[Check, ...], case: Case) -> Verdict | None:
    for check in checks:
        verdict = check(case)
        if verdict is not None:
            return verdict
    return None


def _proven(case: Case, comparison: Comparison, known: Estimate | None) -> bool:
    """Faster, at the k-th trial's share of the error, by an amount that is worth a promotion."""
    return (
        known is not None
        and comparison.whole.n >= case.settings.windows_needed
        and known.mean >= case.goal
        and comparison.raw > 0
        and known.lower(case.state.frozen.promotion_alpha) > 0
    )


def _cannot_reach(goal: float, comparison: Comparison, known: Estimate, frozen: Frozen) -> bool:
    """Is the ratio proven to be below `goal`?

    Short of a clear loss the more recent half must say so too, by an ordinary one-look interval (the error is
    bounded by the whole): a young pod is slow, and would retire a good drafter by its first windows.
    """
    upper = known.upper(frozen.alpha)
    if upper >= goal:
        return False
    if upper <= CLEARLY_SLOWER:
        return True
    if comparison.whole.n < WINDOWS_TO_RETIRE:
        return False
    return estimate_recent(comparison, frozen).upper_at_one_look(frozen.alpha) < goal


def _loses_to_serving(case: Case) -> bool:
    return case.serving is not None and _cannot_reach(
        0.0, case.state.serving, case.serving, case.state.frozen
    )


def _verdict(case: Case, outcome: Outcome, cause: Cause, message: str) -> Verdict:
    return Verdict(outcome, cause.value, message, summarise(case.state))
