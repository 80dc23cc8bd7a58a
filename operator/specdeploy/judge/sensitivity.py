"""What a trial can find out by its deadline: before it starts, and from its own noise while it runs.

Beside decide. A trial that could not even promote a drafter of 1.5x is not worth a GPU; any other is started
and says what it can detect.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from specdeploy.judge.interval import Frozen, fixed_part, pod_term_of
from specdeploy.judge.learned import Learned
from specdeploy.judge.noise import independent_share
from specdeploy.judge.settings import Settings
from specdeploy.judge.state import TrialState, start
from specdeploy.judge.student import sequential_radius
from specdeploy.judge.verdict import multiple

ASSUMED_SD = 0.05
STICKY_SD = 0.25
WORTH_A_TRIAL = math.log(1.5)
FOUR_OF_FIVE = 0.84
PODS_BEFORE = 2.0  # 1/1 + 1/1
WINDOWS_TO_LOOK_AGAIN = 15


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """`ratio` (above 1) is promoted in four of five trials by the deadline; a speed-up below it is often left
    undecided. Infinite if the trial has too few windows. `enough`: could a drafter of 1.5x be promoted?"""

    ratio: float
    enough: bool
    sentence: str


def sensitivity(learned: Learned, settings: Settings) -> Sensitivity:
    """Before a trial of one pod beside one, from the baseline's history; without history its noise is taken
    to be 5 % a window.

    A drafter's speed depends on the text, so a trial is noisier than the baseline, by what few requests don't
    average away.
    """
    state = start(settings, learned)
    own = STICKY_SD**2 / learned.finished if learned.finished > 0 else 0.0
    sd = math.sqrt(2 * (learned.sd or ASSUMED_SD) ** 2 + own)
    windows = settings.deadline_seconds / settings.window_seconds
    share = independent_share(max(state.frozen.phi, learned.phi), int(windows))
    pods = pod_term_of(PODS_BEFORE, state.frozen, state.corrections)
    return _found(_Noise(sd, windows, share, pods), state.frozen, settings)


def sensitivity_now(state: TrialState, settings: Settings) -> Sensitivity:
    """During a trial, from its own noise and the windows that are left."""
    whole, frozen = state.baseline.whole, state.frozen
    if whole.n < 2:
        return sensitivity(frozen.learned, settings)
    left = max(0.0, settings.deadline_seconds - state.measured_seconds) / settings.window_seconds
    pods = fixed_part(state.baseline, frozen, state.corrections)
    noise = _Noise(whole.sd, whole.n + left, whole.independent(frozen.phi), pods)
    return _found(noise, frozen, settings)


class _Noise(NamedTuple):
    """sd of one window, windows by the deadline, the share of them that is independent, the fixed part."""

    sd: float
    windows: float
    independent: float
    fixed: float


def _found(noise: _Noise, frozen: Frozen, settings: Settings) -> Sensitivity:
    effective = noise.windows * noise.independent
    fewest = noise.windows >= settings.windows_needed and effective > 1
    radius = sequential_radius(effective, frozen.promotion_alpha) if fewest else math.inf
    if math.isinf(radius):
        few = f"{noise.windows:.0f} windows by the deadline are too few to promote anything"
        return Sensitivity(math.inf, False, f"{few}: set a later trial.deadlineSeconds")
    smallest = (radius + FOUR_OF_FIVE) * noise.sd / math.sqrt(effective) + noise.fixed
    ratio = multiple(max(math.log1p(settings.minimum_effect), smallest)) or math.inf
    sentence = (
        f"can detect {ratio:.3f}x by the deadline ({noise.windows:.0f} windows, noise {noise.sd:.1%} each; "
        f"pods of the same kind may differ by {math.expm1(noise.fixed):.1%})"
    )
    return Sensitivity(ratio, smallest <= WORTH_A_TRIAL, sentence)
