"""A trial, window by window: the judge's entry points.

observe() reads the window, feeds what looks at every window with whatever can be measured and the comparisons
with what is evidence, and asks `decide`. Everything it remembers is in the state it returns, so a caller that
saves the state after each window goes on after a restart as if nothing had happened.
"""

from __future__ import annotations

import math

from specdeploy.judge.arm import Arm
from specdeploy.judge.assess import USED, Reading, Use, read
from specdeploy.judge.balance import Balance
from specdeploy.judge.comparison import Comparison
from specdeploy.judge.decide import decide, decide_alarms, decide_deadline
from specdeploy.judge.disaster import Lane
from specdeploy.judge.evidence import compare_at
from specdeploy.judge.guards import warnings as guards_warn
from specdeploy.judge.guards import watch as watch_guards
from specdeploy.judge.interval import Frozen
from specdeploy.judge.settings import Settings
from specdeploy.judge.state import NO_GUARDS, REASONS, TrialState, Unreached, Watch
from specdeploy.judge.verdict import Summary, Verdict, multiple, summarise
from specdeploy.judge.window import (
    BASELINE,
    LARGEST_INDEX,
    SERVING,
    TRIAL,
    Reason,
    Window,
    newest,
    tell_only_speed,
)

UNREACHED_WINDOWS = 3
ALL_REACHED = Unreached()


def observe(state: TrialState, window: Window, settings: Settings) -> tuple[TrialState, Verdict | None]:
    """Takes in one window; gives the next state and the verdict, if the trial ends with it. Never raises.

    A window that `assess` would extend is counted as skipped here. One whose index is not above the last
    one's changes nothing but the count, unless it is far below: then the clock went back, and windows count
    from there on.
    """
    if not state.last_index < window.index < LARGEST_INDEX:
        last = newest(state.last_index, window.index)
        return _skip(state, last, state.watch, Reason.OUT_OF_ORDER), None
    reading = read(window, settings)
    watch = _watch(state, reading, settings) if reading.young else state.watch
    told = watch.guards is not state.watch.guards
    reason = _reason(state, watch, reading)
    if reason is None:
        state = _add_evidence(state, watch, window, reading)
        return state, decide(state, settings, told=told)
    state = _skip(state, window.index, watch, reason)
    return state, decide_alarms(state, settings, told=told)


def expire(state: TrialState, settings: Settings) -> Verdict:
    """The verdict when the trial must end now: what is proven by then, else not promoted."""
    return decide_deadline(state, settings)


def summary(state: TrialState) -> Summary:
    """How the trial stands, for status, metrics and pictures."""
    return summarise(state)


def warnings(state: TrialState, settings: Settings) -> tuple[str, ...]:
    """Sentences on what is to be shown to people and decides nothing."""
    return guards_warn(state.watch.guards, settings.limits)


def window_ratio(window: Window, settings: Settings) -> float | None:
    """The trial's speed as a multiple of the baseline's in one window, for pictures; None where it can't be
    measured. Raw, and of pods too young for evidence, too: a disaster is over before they are old."""
    reading = read(window, settings)
    if not reading.traffic or not reading.young[TRIAL].pods or not reading.young[BASELINE].pods:
        return None
    return multiple(reading.young[TRIAL].log_speed - reading.young[BASELINE].log_speed)


def _watch(state: TrialState, reading: Reading, settings: Settings) -> Watch:
    """The part of the state that looks at every window with data, by all pods ready for a window."""
    old = state.watch
    _, _, arms, pods, traffic = reading
    trial, baseline, other = arms[TRIAL], arms[BASELINE], arms.get(SERVING)
    lane, balance, serving, surplus = old.lane, old.baseline, old.serving, old.surplus
    if trial.pods and traffic:
        if baseline.pods:
            balance = balance.add(trial, baseline)
            lane = _raise_lane(lane, trial, baseline, balance, state.frozen)
            surplus = surplus if trial.more is None else surplus.add(trial, baseline)
        if other is not None and other.pods:
            serving = serving.add(trial, other)
    guards = old.guards
    if guards is not NO_GUARDS or not tell_only_speed(pods[TRIAL]):
        guards = watch_guards(guards, pods[TRIAL], pods[BASELINE], settings.limits)
    return Watch(
        lane,
        guards,
        ALL_REACHED if reading.use is USED else _unreached(old.unreached, reading),
        balance,
        serving,
        surplus,
        old.trial_pods if trial.pods < 2 else old.trial_pods.add(trial),
        old.baseline_pods if baseline.pods < 2 else old.baseline_pods.add(baseline),
    )


def _raise_lane(lane: Lane, trial: Arm, baseline: Arm, balance: Balance, frozen: Frozen) -> Lane:
    """Raw speed, unless the trial got another share of the load: that is not its doing."""
    ratio = trial.log_speed - baseline.log_speed
    if frozen.weight and balance.load.mismatched(frozen.phi):
        ratio = compare_at(math.exp(baseline.log_batch), trial, baseline, frozen).y
    return lane.add(ratio, frozen.disaster_sd)


def _unreached(before: Unreached, reading: Reading) -> Unreached:
    """An arm without ready pods is not counted: there is nothing that could be reached."""
    reached = [name for name, arm in reading.young.items() if arm.first_tokens > 0]
    counts = before._asdict()
    for name, arm in reading.young.items():
        if name in reached:
            counts[name] = 0
        elif arm.trouble is not Reason.NO_DATA and reached:
            counts[name] += 1
    return Unreached(**counts)


def _reason(state: TrialState, watch: Watch, reading: Reading) -> Reason | None:
    """Why the window is no evidence; None if it is. An arm that nobody reaches is told from a quiet hour, and
    a mismatch from noise, by what came before."""
    use = reading.use
    if use.use is not Use.USED:
        reason = use.reason or Reason.NO_DATA
        unreached = reason is Reason.NO_TRAFFIC and max(watch.unreached) >= UNREACHED_WINDOWS
        return Reason.ARM_NOT_REACHED if unreached else reason
    mismatch = watch.baseline.mismatch(state.frozen.phi)
    if mismatch is None and SERVING in reading.young:
        return watch.serving.mismatch(state.frozen.phi)
    return mismatch


def _add_evidence(state: TrialState, watch: Watch, window: Window, reading: Reading) -> TrialState:
    frozen, seconds, _, seen, skipped, _, low, high, _, comparison, serving = state
    arms, index = reading.warm, window.index
    baseline = arms[BASELINE]
    batch = math.exp(baseline.log_batch)
    first = comparison.whole.n == 0
    return TrialState(
        frozen,
        seconds + window.seconds,
        index,
        seen + 1,
        skipped,
        -1,
        batch if first or batch < low else low,
        batch if first or batch > high else high,
        watch,
        comparison.add(index, compare_at(batch, arms[TRIAL], baseline, frozen), batch),
        _compare_serving(serving, reading, frozen, index, batch) if SERVING in arms else serving,
    )


def _compare_serving(
    comparison: Comparison, reading: Reading, frozen: Frozen, index: int, batch: float
) -> Comparison:
    arms = reading.warm
    return comparison.add(index, compare_at(batch, arms[TRIAL], arms[SERVING], frozen), batch)


def _skip(state: TrialState, index: int, watch: Watch, reason: Reason) -> TrialState:
    position = REASONS.index(reason)
    skipped = list(state.skipped)
    skipped[position] += 1
    return state._replace(
        last_index=index, seen=state.seen + 1, skipped=tuple(skipped), last_reason=position, watch=watch
    )
