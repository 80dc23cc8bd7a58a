"""The guard after promotion, window by window: is what serves still no slower than the baseline?

trial -> guard -> rollout. guard() reads each window by the rules of a trial, with the serving arm in the
trial's place, and feeds the detector; a window without baseline pods feeds only the watch for drift. A
re-check (start_check, check_outcome) continues all of it: to begin anew on the same question would be
peeking.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from specdeploy.judge import bands
from specdeploy.judge.arm import LARGEST_COUNTER, Arm
from specdeploy.judge.assess import Reading, Use, enough_traffic, read
from specdeploy.judge.detector import ALARM, KEEP, windows_to_alarm
from specdeploy.judge.evidence import compare_at
from specdeploy.judge.guard_report import (
    NEWEST_WINDOWS,
    Alarm,
    CheckOutcome,
    CheckResult,
    GuardSummary,
    Newest,
    behind,
    drifted,
    guard_summary,
    measured,
    slower,
)
from specdeploy.judge.guard_state import (
    Drift,
    GuardState,
    Stretch,
    Terms,
    begin,
    pack_guard,
    unpack_guard,
    untold,
)
from specdeploy.judge.guards import Guards, Limits, veto, watch
from specdeploy.judge.noise import bounded
from specdeploy.judge.settings import Settings
from specdeploy.judge.state import TrialState
from specdeploy.judge.verdict import Cause
from specdeploy.judge.window import BASELINE, LARGEST_INDEX, SERVING, TRIAL, PodWindow, Window, newest

__all__ = [
    "Alarm",
    "CheckOutcome",
    "CheckResult",
    "GuardState",
    "GuardSummary",
    "Newest",
    "behind",
    "check_outcome",
    "drifted",
    "guard",
    "guard_summary",
    "pack_guard",
    "start_check",
    "start_guard",
    "uncovered",
    "unpack_guard",
    "windows_to_see",
]

RUN_CHECKS = 20
HOUR_WINDOWS = 60
RISING = 10 / ALARM


def start_guard(trial: TrialState, settings: Settings) -> GuardState:
    """The guard of what a trial has proven: its weight, pods, noise, bands and guards beside speed are the
    trial's.

    Drift should bring a re-check forward for nothing no more than once in twenty of them.
    """
    frozen, found = trial.frozen, trial.corrections
    terms = Terms(
        alpha=1 - settings.confidence,
        phi=frozen.phi,
        weighed=frozen.learned.weighed,
        weight=frozen.weight,
        weight_se=frozen.learned.weight_se,
        surplus=found.surplus,
        pod_sd=found.pod_sd,
        pod_freedom=found.pod_freedom,
        untold=untold(trial.baseline, found.pod_sd, frozen.phi),
        batch_low=frozen.learned.batch_low,
        batch_high=frozen.learned.batch_high,
        run_windows=RUN_CHECKS * settings.recheck_seconds / settings.window_seconds,
    )
    # Harm half proven goes on being proven; a window without pods parts the guard's first from the trial's.
    return begin(trial.baseline, terms, watch(trial.watch.guards, (), (), settings.limits))


def guard(state: GuardState, window: Window, settings: Settings) -> tuple[GuardState, Alarm | None]:
    """Takes in one window with the arms "baseline" and "serving"; gives the next state, and the alarm as long
    as it is on.

    A window that is no evidence is neither good nor bad. One whose index is not above the last one's changes
    nothing, unless it is far below: the clock went back, and windows count from there on. Never raises.
    """
    if not state.last_index < window.index < LARGEST_INDEX:
        state = state._replace(last_index=newest(state.last_index, window.index))
        return state, _alarm(state, settings.limits)
    serving, baseline = window.arms.get(SERVING, ()), window.arms.get(BASELINE, ())
    # What serves is read in the trial's place, and there is no third arm.
    two = Window(window.index, window.seconds, {BASELINE: baseline, TRIAL: serving}, window.obstacle)
    reading = read(two, _without_serving(settings) if settings.compare_serving else settings)
    state = state._replace(
        last_index=window.index, seen=state.seen + 1, guards=_beside_speed(state.guards, reading, settings)
    )
    if reading.use.use is Use.USED:
        drift = _learn(state, reading.warm[TRIAL], serving)
        state = _compare(state, reading.warm[TRIAL], reading.warm[BASELINE], drift)
    elif window.obstacle is None and not baseline and _busy(reading):
        state = state._replace(drift=_watch(state, reading.warm[TRIAL], serving))
    return state, _alarm(state, settings.limits)


def start_check(state: GuardState) -> GuardState:
    """Begins a re-check, or the soak of a promotion's step: its interval is made of its own windows, all else
    goes on."""
    drift = state.drift
    run = state.terms.run_windows
    fresh = drift._replace(acceptance=drift.acceptance.checked(run), speed=drift.speed.checked(run))
    return state._replace(stretch=Stretch(), drift=fresh)


def check_outcome(state: GuardState, deadline_windows: int) -> CheckOutcome | None:
    """What the re-check has found by now; None while it must go on.

    `deadline_windows` are windows that could be compared: a re-check without traffic is the caller's to end.
    """
    if state.detector.alarmed:
        return CheckOutcome(CheckResult.SLOWER, slower(state))
    known = state.terms.estimate(state.stretch.comparison)
    if known is not None and known.lower(state.terms.alpha) > 0:
        return CheckOutcome(CheckResult.KEPT, f"{measured(state)}: still faster than the baseline, kept")
    if state.stretch.whole.n >= deadline_windows:
        text = f"{measured(state)}: neither proven faster nor found slower by the end of the re-check, kept"
        return CheckOutcome(CheckResult.UNDECIDED, text)
    return None


def windows_to_see(state: GuardState, ratio: float = 0.90) -> int:
    """Comparable windows in which the guard finds a lasting `ratio` (above 0) in 9 of 10 cases, at the noise
    and with the pods of now; at most 10,000, which is never."""
    penalty = 0.0 if state.terms.weight else state.penalty
    value = math.log(ratio) + state.terms.kappa(state.inverse_pods) + penalty
    return windows_to_alarm(value, state.detector.noise.variance)


def uncovered(state: GuardState, shares: tuple[float, ...]) -> tuple[str, ...]:
    """Ranges of batch with a fifth or more of the day's request-seconds (`shares`, by BANDS) and fewer than
    10 windows behind the proof, of the trial and the guard together."""
    return bands.uncovered(state.proven, shares)


@lru_cache(maxsize=16)
def _without_serving(settings: Settings) -> Settings:
    return replace(settings, compare_serving=False)


def _beside_speed(guards: Guards, reading: Reading, settings: Settings) -> Guards:
    if not reading.young:
        return guards
    pods = reading.young_pods
    return watch(guards, pods[TRIAL], pods[BASELINE], settings.limits)


def _busy(reading: Reading) -> bool:
    return bool(reading.warm) and reading.warm[TRIAL].pods > 0 and enough_traffic(reading.warm)


def _compare(state: GuardState, serving: Arm, baseline: Arm, drift: Drift) -> GuardState:
    terms, index = state.terms, state.last_index
    batch = math.exp(baseline.log_batch)
    evidence = compare_at(batch, serving, baseline, terms.frozen)
    # Not clipped by its spread, as a trial's are: a loss must not be taken for an outlier. The cap of the
    # detector's step bounds what one window can do.
    value = bounded(evidence.y) + terms.surplus
    penalty = 0.0
    if evidence.load:
        state = _add_load(state, bounded(evidence.load))
        penalty = state.penalty
    detector = state.detector.add(index, value + terms.kappa(evidence.inverse_pods) + penalty)
    rising = bands.NO_BANDS if detector.evidence < RISING else bands.add_to_band(state.rising, batch, value)
    return state._replace(
        detector=detector,
        inverse_pods=evidence.inverse_pods,
        hour=state.hour + (value - state.hour) / min(state.compared + 1, HOUR_WINDOWS),
        newest=state.newest + (value - state.newest) / min(state.compared + 1, NEWEST_WINDOWS),
        proven=bands.add_to_band(state.proven, batch, value - terms.surplus),
        rising=rising,
        stretch=state.stretch.add(index, evidence, batch),
        drift=drift,
        compared=state.compared + 1,
    )


def _add_load(state: GuardState, load: float) -> GuardState:
    """A window that was not moved to equal load, by which its ratio may be off."""
    raw = state.raw + 1
    return state._replace(raw=raw, load=state.load + (load - state.load) * max(1 / raw, 1 - KEEP))


def _learn(state: GuardState, serving: Arm, pods: Sequence[PodWindow]) -> Drift:
    acceptance, speed, last_index = state.drift
    adjacent = state.last_index == last_index + 1
    share = _acceptance(pods)
    if share is not None:
        acceptance = acceptance.learn(share, adjacent=adjacent)
    if state.terms.weighed:
        speed = speed.learn(_speed_at_demand(state, serving), adjacent=adjacent)
    return Drift(acceptance, speed, state.last_index)


def _watch(state: GuardState, serving: Arm, pods: Sequence[PodWindow]) -> Drift:
    acceptance, speed, last_index = state.drift
    share = _acceptance(pods)
    if share is not None:
        acceptance = acceptance.watch(share)
    if state.terms.weighed:
        speed = speed.watch(_speed_at_demand(state, serving))
    return Drift(acceptance, speed, last_index)


def _speed_at_demand(state: GuardState, serving: Arm) -> float:
    """Log speed with demand taken out by its learned weight; without one it would follow the hour."""
    weight = state.terms.weight
    return (1 - weight) * serving.log_speed + weight * serving.log_rate


def _acceptance(pods: Sequence[PodWindow]) -> float | None:
    """Accepted draft tokens as a share of all; None where nothing sensible is told."""
    drafted = accepted = 0.0
    for pod in pods:
        if pod.draft_tokens is None or pod.accepted_tokens is None or pod.restarts:
            continue
        if 0 <= pod.accepted_tokens <= pod.draft_tokens <= LARGEST_COUNTER:
            drafted += pod.draft_tokens
            accepted += pod.accepted_tokens
    return accepted / drafted if drafted > 0 else None


def _alarm(state: GuardState, limits: Limits) -> Alarm | None:
    if state.detector.alarmed:
        return Alarm(Cause.GUARD_ALARM.value, slower(state), guard_summary(state))
    found = veto(state.guards, limits)
    if found is None:
        return None
    return Alarm(found.cause, found.message, guard_summary(state))
