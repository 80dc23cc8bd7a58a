"""When a step of a promotion is over: its own windows prove it, and nothing newer speaks against it.

watch (counts the windows) -> soak -> promotion (takes the next step), promotion_words (what is awaited).
"""

from specdeploy.api.spec import Spec
from specdeploy.api.status import TrialStatus
from specdeploy.judge.guard import GuardSummary, behind, guard_summary, uncovered, windows_to_see
from specdeploy.judge.guard_state import GuardState


def expected(spec: Spec, state: GuardState, soaked: int) -> int:
    """Windows after which a step is over at the latest if it is faster in them: those asked for; where they
    have proven nothing, as many as the guard needs to see a loss of 10 % at the noise of now, no more than a
    trial may measure."""
    least = max(1, spec.promotion.soak_windows)
    if soaked < least:
        return least
    longest = spec.trial.deadline_seconds // spec.trial.window_seconds
    return max(least, min(longest, windows_to_see(state)))


def unsoaked(spec: Spec, state: GuardState, trial: TrialStatus) -> str | None:
    """What the soak of a step still needs; None where it is over. The first step has none but its trial."""
    if not trial.soak:
        return None
    if trial.soaked < spec.promotion.soak_windows:
        return f"soak {trial.soaked} of {spec.promotion.soak_windows} windows compared"
    summary, soaked = guard_summary(state), f"soak {trial.soaked} windows"
    latest = expected(spec, state, trial.soaked)
    if not _proven(summary, late=trial.soaked >= latest):
        late = trial.soaked >= latest
        rest = "it waits until it is faster" if late else f"at window {latest} its mean decides"
        return f"{soaked}: not yet proven at this step ({_figures(summary)}); {rest}"
    newest = summary.newest
    if newest is not None and newest.ratio <= 1:
        return f"{soaked}: its newest {newest.windows} windows are at {newest.ratio:.2f}x"
    return None


def _proven(summary: GuardSummary, *, late: bool) -> bool:
    """Faster by the interval of the step's own windows; late, by their mean."""
    if summary.lower is not None and summary.lower > 1:
        return True
    return late and summary.ratio is not None and summary.ratio > 1


def _figures(summary: GuardSummary) -> str:
    if summary.ratio is None:
        return "nothing measured"
    if summary.lower is None or summary.upper is None:
        return f"{summary.ratio:.2f}x"
    return f"{summary.ratio:.2f}x [{summary.lower:.2f}, {summary.upper:.2f}]"


def unmeasured(state: GuardState, shares: tuple[float, ...]) -> str | None:
    """Ranges of load without proof, for want of which no more than half of the pods get the drafter."""
    missing = uncovered(state, shares)
    if not missing:
        return None
    return (
        f"it stays at that until a mean batch of {' and '.join(missing)}, where a fifth or more of the day's "
        "work is, was measured beside the baseline"
    )


def losing(state: GuardState, shares: tuple[float, ...]) -> str | None:
    """Ranges of load in which it is slower so far: no more than half of the pods get it."""
    slower = behind(state, shares)
    if not slower:
        return None
    return (
        f"at a mean batch of {' and '.join(slower)}, where a fifth or more of the day's work is, it is "
        "slower than the baseline: it is not let on more than half of the pods"
    )
