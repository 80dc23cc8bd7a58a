"""What a promotion asks of a comparison: one list of conditions, and in words the first that is not met.

interval -> proof -> decide. People read the words while a trial runs, so that "30/30" is no riddle.
"""

from __future__ import annotations

import math

from specdeploy.judge.comparison import Comparison
from specdeploy.judge.interval import Estimate
from specdeploy.judge.settings import Settings
from specdeploy.judge.slope import batch_to_stand
from specdeploy.judge.state import TrialState
from specdeploy.judge.verdict import multiple
from specdeploy.judge.words import percent, times

CLEARLY_FASTER = math.log(1.5)
WINDOWS_OF_BASELINE = 60


def lacking(
    state: TrialState,
    settings: Settings,
    comparison: Comparison,
    known: Estimate | None,
    baseline: Estimate | None,
) -> str:
    """What keeps `comparison`, with its estimate `known`, from being proof of a faster drafter, at the k-th
    trial's share of the error and by an amount that is worth a promotion; "" if nothing does.

    `baseline` is the estimate against the baseline, whatever `comparison` is with.
    """
    more = settings.windows_needed - comparison.whole.n
    if known is None or more > 0:
        return "1 more window" if more == 1 else f"{max(1, more)} more windows"
    held = _held_back(state, baseline)
    if held:
        return held
    if known.mean < math.log1p(settings.minimum_effect):
        return f"a mean of {percent(settings.minimum_effect)} above 1"
    lower = known.lower(state.frozen.promotion_alpha)
    if comparison.raw <= 0 or lower <= 0:
        return f"a lower end above 1 at the confidence of a promotion (it is {times(math.exp(lower))})"
    return ""


def lost_at_load(state: TrialState, comparison: Comparison, known: Estimate) -> str | None:
    """The loss that is expected a little beyond the load that the trial has seen, where its gain falls with
    the load, as `0.93x at batch 45`; None where none is."""
    learned = state.frozen.learned
    batch = batch_to_stand(state.batch_high, learned.batch_high, learned.windows)
    if not batch > 0:
        return None
    expected = comparison.slope.expected(batch, comparison.whole, known.effective)
    if expected is None or expected + state.corrections.surplus >= 0:
        return None
    return f"{times(multiple(expected))} at batch {batch:.0f}"


def _held_back(state: TrialState, baseline: Estimate | None) -> str:
    """What keeps evidence from being proof, however clear it is; "" if nothing does."""
    learned = state.frozen.learned
    clear = baseline is not None and baseline.mean >= CLEARLY_FASTER
    seen = learned.windows + state.used
    if not learned.weighed and not clear and seen < WINDOWS_OF_BASELINE:
        return f"{WINDOWS_OF_BASELINE - seen} more windows of the baseline, as it is below 1.5x"
    if state.watch.baseline.mismatch(state.frozen.phi) is not None:
        return "arms that carry the same load"
    return ""
