"""One sentence a verdict, with the numbers: what was measured, over how many windows, at which batch, what
was done."""

from __future__ import annotations

import math

from specdeploy.judge.assess import ADVICE
from specdeploy.judge.interval import pod_term
from specdeploy.judge.sensitivity import sensitivity_now
from specdeploy.judge.settings import Settings
from specdeploy.judge.state import TrialState
from specdeploy.judge.verdict import Ratio, Summary, multiple, summarise
from specdeploy.judge.words import percent, times


def promoted(state: TrialState, settings: Settings) -> str:
    asked = percent(settings.minimum_effect)
    summary = summarise(state)
    return (
        f"{_measured(summary)}: proven faster (the lower end is above 1), and its mean above the "
        f"{asked} asked for, promoted{_unproven(summary)}"
    )


def runner_up(state: TrialState, why: str) -> str:
    return f"{_measured(summarise(state))}: faster than the baseline but {why}, kept as runner-up"


def slower(state: TrialState) -> str:
    return f"{_measured(summarise(state))}: slower than the baseline, rolled back"


def not_worth_it(state: TrialState, why: str) -> str:
    return f"{_measured(summarise(state))}: {why}, rolled back"


def slower_in_band(state: TrialState, band: str) -> str:
    return f"{_measured(summarise(state))}: faster on the whole, but slower {band}, rolled back"


def slower_at_load(state: TrialState, expected: str) -> str:
    """`expected`: the loss to come, with its batch."""
    return (
        f"{_measured(summarise(state))}: faster so far, but its gain falls with the load and {expected} is "
        "expected, rolled back"
    )


def disaster(state: TrialState) -> str:
    ratio = times(multiple(state.watch.lane.mean))
    evidence = f" (evidence at batch {_batch(summarise(state))})" if state.used else ""
    return (
        f"{ratio} the baseline's decode speed over the last {state.watch.lane.windows} windows: "
        f"far slower, rolled back{evidence}"
    )


def guarded(state: TrialState, veto: str) -> str:
    return f"{_measured(summarise(state))}; {veto}" if state.used else veto


def too_noisy(state: TrialState, settings: Settings) -> str:
    ratio, windows = (
        sensitivity_now(state, settings).ratio,
        settings.deadline_seconds / settings.window_seconds,
    )
    provable = "nothing" if math.isinf(ratio) else f"only {ratio:.2f}x or more"
    return (
        f"{_measured(summarise(state))}: at a noise of {percent(state.baseline.whole.sd)} a window, and with "
        f"pods that may differ by {_pods(state)}, {provable} could be proven in the {windows:.0f} windows "
        "until the deadline, not promoted; set a longer trial.windowSeconds or a later trial.deadlineSeconds"
    )


def inconclusive(state: TrialState, missing: str = "") -> str:
    """`missing`: what a promotion lacked."""
    summary = summarise(state)
    if not state.used:
        return (
            f"no window was evidence by the deadline ({_skipped(summary)}), not promoted; {_advice(summary)}"
        )
    lacked = f" (it lacks {missing})" if missing else ""
    return (
        f"{_measured(summary)}: nothing is proven by the deadline{lacked}, not promoted; "
        f"pods of the same kind may differ by {_pods(state)}, so more pods can decide smaller effects"
    )


def _pods(state: TrialState) -> str:
    return f"{math.expm1(pod_term(state.baseline, state.frozen, state.corrections)):.1%}"


def _unproven(summary: Summary) -> str:
    if not summary.uncovered:
        return ""
    ranges = " and ".join(summary.uncovered)
    return (
        f"; not yet measured at batch {ranges}, where much of the day's load runs: stops at half of the pods "
        "until it is"
    )


def _measured(summary: Summary) -> str:
    against_baseline = Ratio(summary.ratio, summary.lower, summary.upper)
    parts = f"{_with_interval(against_baseline)} the baseline's decode speed"
    if summary.serving is not None:
        parts += f" and {_with_interval(summary.serving)} that of what serves"
    parts += f" over {summary.windows_used} windows at batch {_batch(summary)}"
    if summary.stragglers:
        pods = "1 pod is" if summary.stragglers == 1 else f"{summary.stragglers} pods are"
        parts += f", {pods} 15% or more off the others of the arm"
    return f"{parts} ({_skipped(summary)})" if summary.skipped else parts


def _batch(summary: Summary) -> str:
    low, high = f"{summary.batch_low:.1f}", f"{summary.batch_high:.1f}"
    return low if low == high else f"{low} to {high}"


def _with_interval(ratio: Ratio) -> str:
    if ratio.lower is None or ratio.upper is None:
        return times(ratio.ratio)
    return f"{times(ratio.ratio)} [{ratio.lower:.3f}, {ratio.upper:.3f}]"


def _skipped(summary: Summary) -> str:
    if not summary.skipped:
        return "no window was seen"
    counts = ", ".join(f"{count} {reason.value}" for reason, count in summary.skipped.items())
    return f"skipped: {counts}"


def _advice(summary: Summary) -> str:
    if not summary.skipped:
        return "check that the pods are ready"
    most = max(summary.skipped, key=lambda reason: summary.skipped[reason])
    return ADVICE[most]
