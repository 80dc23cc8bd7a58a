"""A trial, window by window: the judge's entry points.

observe() reads the window, feeds the alarms with whatever can be measured and the comparisons with what is
evidence, and asks `decide`. Everything it remembers is in the state it returns, so a caller that saves the
state after each window goes on after a restart as if nothing had happened.
"""

from __future__ import annotations

import math

from specdeploy.judge.arm import Arm
from specdeploy.judge.assess import Reading, Use, enough_traffic, read
from specdeploy.judge.comparison import Comparison
from specdeploy.judge.decide import decide, decide_alarms, decide_deadline
from specdeploy.judge.settings import Settings
from specdeploy.judge.state import REASONS, TrialState, Unreached
from specdeploy.judge.verdict import Summary, Verdict, multiple, summarise
from specdeploy.judge.window import BASELINE, SERVING, TRIAL, Reason, Window

LARGEST_INDEX = 2**53
UNREACHED_WINDOWS = 3


def observe(state: TrialState, window: Window, settings: Settings) -> tuple[TrialState, Verdict | None]:
    """Takes in one window; gives the next state and the verdict, if the trial ends with it. Never raises.

    A window that `assess` would extend is counted as skipped here. One whose index is not above the last
    one's changes nothing but the count.
    """
    if not state.last_index < window.index < LARGEST_INDEX:
        return _count_skipped(state, Reason.OUT_OF_ORDER), None
    reading = read(window, settings)
    state = _watch(state._replace(last_index=window.index), reading)
    if reading.use.use is Use.USED:
        state = _add_evidence(state, window, reading)
        return state, decide(state, settings)
    state = _count_skipped(state, _reason(state, reading))
    return state, decide_alarms(state, settings)


def expire(state: TrialState, settings: Settings) -> Verdict:
    """The verdict when the trial must end now: what is proven by then, else not promoted."""
    return decide_deadline(state, settings)


def summary(state: TrialState) -> Summary:
    """How the trial stands, for status, metrics and pictures."""
    return summarise(state)


def window_ratio(window: Window, settings: Settings) -> float | None:
    """The trial's speed as a multiple of the baseline's in one window, for pictures; None where it can't be
    measured. Raw, and of pods too young for evidence, too: a disaster is over before they are old."""
    found = _log_ratio(read(window, settings))
    return None if found is None else multiple(found)


def _log_ratio(reading: Reading) -> float | None:
    """Trial against baseline by all pods ready for a window; None without traffic on both."""
    arms = reading.young
    if not arms or not arms[TRIAL].pods or not arms[BASELINE].pods or not enough_traffic(arms):
        return None
    return arms[TRIAL].log_speed - arms[BASELINE].log_speed


def _watch(state: TrialState, reading: Reading) -> TrialState:
    """The disaster lane and the guards, which look at every window that has data."""
    arms = reading.young
    if not arms:
        return state
    trial, baseline = arms[TRIAL], arms[BASELINE]
    ratio = _log_ratio(reading)
    lane = state.lane if ratio is None else state.lane.add(ratio, state.frozen.disaster_sd)
    return state._replace(
        lane=lane, queue=state.queue.add(trial, baseline), unreached=_unreached(state, reading)
    )


def _unreached(state: TrialState, reading: Reading) -> Unreached:
    """An arm without ready pods is not counted: there is nothing that could be reached."""
    reached = {name: arm.first_tokens > 0 for name, arm in reading.young.items()}
    if all(reached.values()):
        return Unreached()
    counts = state.unreached._asdict()
    for name, arm in reading.young.items():
        if reached[name]:
            counts[name] = 0
        elif arm.trouble is not Reason.NO_DATA and any(reached.values()):
            counts[name] += 1
    return Unreached(**counts)


def _add_evidence(state: TrialState, window: Window, reading: Reading) -> TrialState:
    trial, baseline, serving = reading.warm[TRIAL], reading.warm[BASELINE], reading.warm.get(SERVING)
    batch = math.exp(baseline.log_batch)
    first = not state.used
    return state._replace(
        seen=state.seen + 1,
        last_reason=-1,
        measured_seconds=state.measured_seconds + window.seconds,
        batch_low=batch if first else min(batch, state.batch_low),
        batch_high=batch if first else max(batch, state.batch_high),
        baseline=_compare(state.baseline, window.index, trial, baseline),
        serving=_compare(state.serving, window.index, trial, serving) if serving else state.serving,
    )


def _compare(comparison: Comparison, index: int, trial: Arm, other: Arm) -> Comparison:
    return comparison.add(
        index,
        ratio=trial.log_speed - other.log_speed,
        load=trial.log_rate - other.log_rate,
        inverse_pods=1 / trial.pods + 1 / other.pods,
    )


def _reason(state: TrialState, reading: Reading) -> Reason:
    """The reason of a skipped window; an arm that nobody reaches is told from a quiet hour by its history."""
    reason = reading.use.reason or Reason.NO_DATA
    if reason is Reason.NO_TRAFFIC and max(state.unreached) >= UNREACHED_WINDOWS:
        return Reason.ARM_NOT_REACHED
    return reason


def _count_skipped(state: TrialState, reason: Reason) -> TrialState:
    position = REASONS.index(reason)
    skipped = list(state.skipped)
    skipped[position] += 1
    return state._replace(seen=state.seen + 1, skipped=tuple(skipped), last_reason=position)
