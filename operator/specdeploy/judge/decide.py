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
from specdeploy.judge.comparison import FIRST_DECISION, Comparison
from specdeploy.judge.guards import veto
from specdeploy.judge.interval import (
    Corrections,
    Estimate,
    estimate,
    estimate_recent,
    fixed_part,
    losing_band,
)
from specdeploy.judge.proof import lacking, lost_at_load
from specdeploy.judge.sensitivity import WINDOWS_TO_LOOK_AGAIN, sensitivity_now
from specdeploy.judge.settings import Settings
from specdeploy.judge.state import TrialState
from specdeploy.judge.verdict import Cause, Outcome, Verdict, multiple, summarise
from specdeploy.judge.words import percent

CLEARLY_SLOWER = math.log(0.9)
WINDOWS_TO_RETIRE = 30


class Case(NamedTuple):
    """A trial as the checks see it. `baseline` and `serving` are None while they say too little."""

    state: TrialState
    settings: Settings
    found: Corrections
    baseline: Estimate | None
    serving: Estimate | None

    @property
    def goal(self) -> float:
        """The log ratio that a promotion must be worth."""
        return math.log1p(self.settings.minimum_effect)


Check = Callable[[Case], Verdict | None]


def decide_alarms(state: TrialState, settings: Settings, *, told: bool = True) -> Verdict | None:
    """What is decided after every window, evidence or not. `told`: did it tell the guards anything?"""
    if not told and not state.watch.lane.alarmed:
        return None
    return _first(ALARMS, case_of(state, settings))


def decide(state: TrialState, settings: Settings, *, told: bool = True) -> Verdict | None:
    """What is decided after a window of evidence."""
    if told or state.watch.lane.alarmed:
        alarm = decide_alarms(state, settings)
        if alarm is not None:
            return alarm
    if _may_be_decided(state, settings):
        verdict = _first(CHECKS, case_of(state, settings))
        if verdict is not None:
            return verdict
    return decide_deadline(state, settings) if state.measured_seconds >= settings.deadline_seconds else None


def decide_deadline(state: TrialState, settings: Settings) -> Verdict:
    """The verdict when time is up. What is not proven is not promoted."""
    case = case_of(state, settings)
    known = _first((*ALARMS, _check_promoted), case)  # known before, and held back by the caller
    if known is not None:
        return known
    if settings.compare_serving and _proven(case, state.baseline, case.baseline):
        why = "not proven faster than what serves by the deadline"
        message = sentences.runner_up(state, why)
        return _verdict(case, Outcome.RUNNER_UP, Cause.NOT_PROVEN_AGAINST_SERVING, message)
    if _loses_to_serving(case):
        message = sentences.not_worth_it(state, "slower than what serves")
        return _verdict(case, Outcome.NOT_WORTH_IT, Cause.SLOWER_THAN_SERVING, message)
    message = sentences.inconclusive(state, _missing(case))
    return _verdict(case, Outcome.INCONCLUSIVE, Cause.DEADLINE, message)


def _may_be_decided(state: TrialState, settings: Settings) -> bool:
    """Could any check say something? Spares most windows the interval, whose half-width is never below two
    standard errors of independent windows."""
    comparison, frozen = state.baseline, state.frozen
    n, total, squares = comparison.whole[:3]
    if n < FIRST_DECISION:
        return False
    if settings.compare_serving or n == WINDOWS_TO_LOOK_AGAIN:
        return True
    mean, goal = total / n + state.watch.surplus.log_share, math.log1p(settings.minimum_effect)
    if mean >= goal:
        distance = mean if n >= settings.windows_needed else 0.0
    else:
        distance = (goal if n >= WINDOWS_TO_RETIRE else CLEARLY_SLOWER) - mean
    if distance <= 0:
        return False
    noise = 4 * (squares - total * total / n)
    if distance * distance * n * n <= noise:
        return False
    spare = distance - fixed_part(comparison, frozen, state.corrections)
    return spare > 0 and spare * spare * n * n > noise


def _check_disaster(case: Case) -> Verdict | None:
    if not case.state.watch.lane.alarmed:
        return None
    verdict = _verdict(case, Outcome.DISASTER, Cause.FAR_SLOWER, sentences.disaster(case.state))
    # The windows that decided may have come before any evidence: their ratio is what was found.
    return replace(verdict, numbers=replace(verdict.numbers, ratio=multiple(case.state.watch.lane.mean)))


def _check_guards(case: Case) -> Verdict | None:
    state = case.state
    found = veto(state.watch.guards, case.settings.limits)
    if found is None:
        return None
    message = sentences.guarded(state, found.message)
    return Verdict(Outcome.GUARDED, found.cause, message, summarise(state))


def _check_retired(case: Case) -> Verdict | None:
    state, known = case.state, case.baseline
    if known is None or not _cannot_reach(case, case.goal, state.baseline, known):
        return None
    if known.upper(state.frozen.alpha) < 0:
        return _verdict(case, Outcome.SLOWER, Cause.SLOWER_THAN_BASELINE, sentences.slower(state))
    why = f"it cannot be worth {percent(case.settings.minimum_effect)}"
    return _verdict(case, Outcome.NOT_WORTH_IT, Cause.BELOW_EFFECT, sentences.not_worth_it(state, why))


def _check_bands(case: Case) -> Verdict | None:
    """Faster on the whole, and proven slower in a range of batch: it may not serve there."""
    state = case.state
    if not _faster(case, state.baseline, case.baseline):
        return None
    losing = losing_band(state.baseline, state.frozen, case.found)
    if losing is None:
        return None
    message = sentences.slower_in_band(state, losing)
    return _verdict(case, Outcome.GUARDED, Cause.SLOWER_IN_BAND, message)


def _check_falling(case: Case) -> Verdict | None:
    """Faster so far, by a gain that falls with the load and would be a loss a little beyond it: it must not
    be let on more pods before the load it will meet is known."""
    state, known = case.state, case.baseline
    if known is None or not _faster(case, state.baseline, known):
        return None
    lost = lost_at_load(state, state.baseline, known)
    if lost is None:
        return None
    return _verdict(case, Outcome.GUARDED, Cause.SLOWER_AT_LOAD, sentences.slower_at_load(state, lost))


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
        if _faster(case, state.serving, case.serving):
            losing = losing_band(state.serving, state.frozen, case.found)
            message = sentences.runner_up(state, f"slower than what serves {losing}")
            return _verdict(case, Outcome.RUNNER_UP, Cause.SLOWER_THAN_SERVING_IN_BAND, message)
        if _cannot_reach(case, case.goal, state.serving, case.serving):
            message = sentences.runner_up(
                state, f"not worth {percent(case.settings.minimum_effect)} over what serves"
            )
            return _verdict(case, Outcome.RUNNER_UP, Cause.BELOW_EFFECT_AGAINST_SERVING, message)
    elif loses and case.baseline.mean < case.goal:
        message = sentences.not_worth_it(state, "slower than what serves")
        return _verdict(case, Outcome.NOT_WORTH_IT, Cause.SLOWER_THAN_SERVING, message)
    return None


def _check_too_noisy(case: Case) -> Verdict | None:
    """Once, at window 15: a trial that can't promote 1.5x, nor what it sees, gives its GPU back."""
    state, settings = case.state, case.settings
    if case.baseline is None or state.used != WINDOWS_TO_LOOK_AGAIN:
        return None
    found = sensitivity_now(state, settings)
    if found.enough or case.baseline.mean >= math.log(found.ratio):
        return None
    message = sentences.too_noisy(state, settings)
    return _verdict(case, Outcome.INCONCLUSIVE, Cause.TOO_NOISY, message)


ALARMS: tuple[Check, ...] = (_check_disaster, _check_guards)
CHECKS: tuple[Check, ...] = (
    _check_retired,
    _check_bands,
    _check_falling,
    _check_promoted,
    _check_serving,
    _check_too_noisy,
)


def case_of(state: TrialState, settings: Settings) -> Case:
    """The trial with the intervals that the checks look at."""
    found = state.corrections
    serving = estimate(state.serving, state.frozen, found) if settings.compare_serving else None
    return Case(state, settings, found, estimate(state.baseline, state.frozen, found), serving)


def _first(checks: tuple[Check, ...], case: Case) -> Verdict | None:
    for check in checks:
        verdict = check(case)
        if verdict is not None:
            return verdict
    return None


def _proven(case: Case, comparison: Comparison, known: Estimate | None) -> bool:
    """Faster, and in no range of batch proven slower."""
    return _faster(case, comparison, known) and losing_band(comparison, case.state.frozen, case.found) is None


def _faster(case: Case, comparison: Comparison, known: Estimate | None) -> bool:
    return not lacking(case.state, case.settings, comparison, known, case.baseline)


def missing(state: TrialState, settings: Settings) -> str:
    """What a promotion still lacks, as the object of a sentence; "" if nothing does."""
    return _missing(case_of(state, settings))


def _missing(case: Case) -> str:
    state = case.state
    found = lacking(state, case.settings, state.baseline, case.baseline, case.baseline)
    if found or not case.settings.compare_serving:
        return found
    against = lacking(state, case.settings, state.serving, case.serving, case.baseline)
    return f"{against}, against what serves" if against else ""


def _cannot_reach(case: Case, goal: float, comparison: Comparison, known: Estimate) -> bool:
    """Is the ratio proven to be below `goal`?

    Short of a clear loss the more recent half must say so too, by an ordinary one-look interval (the error is
    bounded by the whole): a young pod is slow, and would retire a good drafter by its first windows.
    """
    frozen = case.state.frozen
    upper = known.upper(frozen.alpha)
    if upper >= goal:
        return False
    if upper <= CLEARLY_SLOWER:
        return True
    if comparison.whole.n < WINDOWS_TO_RETIRE:
        return False
    return estimate_recent(comparison, frozen, case.found).upper_at_one_look(frozen.alpha) < goal


def _loses_to_serving(case: Case) -> bool:
    return case.serving is not None and _cannot_reach(case, 0.0, case.state.serving, case.serving)


def _verdict(case: Case, outcome: Outcome, cause: Cause, message: str) -> Verdict:
    return Verdict(outcome, cause.value, message, summarise(case.state))
