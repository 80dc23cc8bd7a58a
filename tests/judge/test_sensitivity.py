"""What a trial can find out by its deadline, before it starts and while it runs."""

import math
import random

import pytest

from specdeploy.judge import Learned, Outcome, Settings, sensitivity, sensitivity_now, start
from tests.judge.windows import WATCHED, judge, noisy_windows

QUIET = Learned(windows=1440, sd=0.015, phi=0.3, finished=60.0)


@pytest.mark.parametrize(
    ("learned", "settings", "low", "high"),
    [
        (QUIET, Settings(), 1.04, 1.06),
        # one pod beside one may differ by 3.3 %; without that term the goal of 3 % is in reach
        (QUIET, Settings(pod_sd=0.0), 1.03, 1.03),
        (QUIET, Settings(pod_sd=0.0, minimum_effect=0.08), 1.08, 1.08),
        # nothing is known: 5 % is assumed
        (Learned(), Settings(), 1.06, 1.09),
        (QUIET._replace(sd=0.2), Settings(), 1.13, 1.20),
        # few requests: acceptance sticks to the text
        (QUIET._replace(finished=2.0), Settings(), 1.08, 1.11),
        (QUIET, Settings(attempt=30), 1.045, 1.06),
        (QUIET, Settings(deadline_seconds=1800.0), 1.07, 1.10),
    ],
)
def test_the_smallest_effect_is_known_before_a_trial(
    learned: Learned, settings: Settings, low: float, high: float
) -> None:
    found = sensitivity(learned, settings)
    assert low - 1e-9 <= found.ratio <= high + 1e-9
    assert found.enough
    assert f"can detect {found.ratio:.3f}x by the deadline" in found.sentence
    assert "pods of the same kind may differ by" in found.sentence


@pytest.mark.parametrize(
    ("learned", "settings"),
    [
        (QUIET._replace(sd=1.2), Settings()),
        (QUIET, Settings(deadline_seconds=60.0 * 29)),
        (QUIET, Settings(pod_sd=0.15)),
        (QUIET._replace(phi=0.95), Settings(deadline_seconds=60.0 * 60)),
    ],
)
def test_a_trial_that_could_not_promote_one_and_a_half_times_is_refused(
    learned: Learned, settings: Settings
) -> None:
    assert not sensitivity(learned, settings).enough


def test_an_effect_of_that_size_is_promoted_in_most_trials() -> None:
    settings = Settings(pod_sd=0.0, deadline_seconds=3600.0)
    rng, ratio = random.Random(2), sensitivity(Learned(windows=60, sd=0.05), settings).ratio
    promoted = 0
    for _ in range(60):
        _, verdict, _ = judge(noisy_windows(rng, ratio, 60), settings)
        promoted += verdict is not None and verdict.outcome is Outcome.PROMOTED
    assert promoted >= 40


def test_a_running_trial_tells_it_by_its_own_noise() -> None:
    settings = Settings(pod_sd=0.0)
    ratios = []
    for sd in (0.02, 0.10):
        state, _, _ = judge(list(noisy_windows(random.Random(1), 1.05, 15, sd=sd)), settings)
        ratios.append(sensitivity_now(state, settings).ratio)
    assert ratios[0] < 1.05 < ratios[1]
    assert sensitivity_now(start(settings, QUIET), settings) == sensitivity(QUIET, settings)


def test_a_hopelessly_noisy_trial_gives_its_gpu_back_at_window_fifteen() -> None:
    def ended(ratio: float, sd: float) -> tuple[str, int]:
        wild = noisy_windows(random.Random(4), ratio, 240, sd=sd, phi=0.0)
        _, verdict, looked = judge(wild, Settings(pod_sd=0.12), WATCHED)
        return (verdict.reason if verdict else "", looked)

    assert ended(1.1, 0.2) == ("TooNoisy", 15)
    assert ended(1.1, 0.02)[0] != "TooNoisy"
    # what it sees is far above what it can detect
    assert ended(2.5, 0.1)[0] == "ProvenFaster"


def test_too_few_windows_are_said_to_be_too_few() -> None:
    found = sensitivity(QUIET, Settings(deadline_seconds=600.0))
    assert math.isinf(found.ratio)
    assert "10 windows by the deadline are too few" in found.sentence
