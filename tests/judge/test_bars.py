"""What the judge must reach on simulated trials. The limits are looser than the aim by the sampling error."""

import math
import random
from collections import Counter
from collections.abc import Callable
from statistics import median

import pytest

from specdeploy.judge import BASELINE, TRIAL, Outcome, Settings, Window
from specdeploy.judge.verdict import summarise
from tests.judge.windows import SECONDS, SPEED, judge, noisy_windows, pod

RUNS = 300
RETIRED = (Outcome.SLOWER, Outcome.NOT_WORTH_IT, Outcome.DISASTER)
NOTHING: Callable[[int], float] = lambda _: 0.0  # noqa: E731

pytestmark = pytest.mark.slow


class Cell:
    """Many trials at one true ratio: the share of each outcome, and when it came."""

    def __init__(
        self,
        ratio: float,
        *,
        windows: int = 240,
        sd: float = 0.05,
        phi: float = 0.3,
        pod_sd: float = 0.0,
        shape: Callable[[int], float] = NOTHING,
        seed: int = 1,
        runs: int = RUNS,
    ) -> None:
        rng = random.Random(seed)
        settings = Settings(pod_sd=pod_sd, deadline_seconds=windows * SECONDS)
        self.runs = runs
        self.ends: Counter[Outcome] = Counter()
        self.when: dict[Outcome, list[int]] = {outcome: [] for outcome in Outcome}
        self.covered = 0
        for _ in range(runs):
            stream = noisy_windows(rng, ratio, windows, sd=sd, phi=phi, pod_sd=pod_sd, shape=shape)
            state, verdict, looked = judge(stream, settings)
            assert verdict is not None
            self.ends[verdict.outcome] += 1
            self.when[verdict.outcome].append(looked)
            said = summarise(state)
            self.covered += said.lower is None or said.upper is None or said.lower <= ratio <= said.upper

    def share(self, *outcomes: Outcome) -> float:
        return sum(self.ends[outcome] for outcome in outcomes) / self.runs

    def median_window(self, *outcomes: Outcome) -> float:
        return median(number for outcome in outcomes for number in self.when[outcome])


@pytest.mark.parametrize("phi", [0.3, 0.6])
def test_a_drafter_worth_nothing_is_seldom_called_slower_or_promoted(phi: float) -> None:
    cell = Cell(1.0, phi=phi)
    assert cell.share(Outcome.SLOWER, Outcome.DISASTER) <= 0.05
    assert cell.share(Outcome.PROMOTED) <= 0.05
    assert cell.covered / cell.runs >= 0.94


def test_a_drafter_worth_five_percent_is_not_retired_by_noise() -> None:
    assert Cell(1.05).share(*RETIRED) <= 0.01


@pytest.mark.parametrize(("ratio", "share", "window"), [(0.90, 0.99, 31), (0.95, 0.97, 45)])
def test_a_loser_is_retired(ratio: float, share: float, window: int) -> None:
    cell = Cell(ratio)
    assert cell.share(*RETIRED) >= share
    assert cell.median_window(*RETIRED) <= window


def test_a_clear_winner_is_promoted() -> None:
    cell = Cell(1.20)
    assert cell.share(Outcome.PROMOTED) >= 0.99
    assert cell.median_window(Outcome.PROMOTED) <= 40


def test_a_disaster_is_out_in_three_windows_and_always_in_five() -> None:
    cell = Cell(0.44)
    assert cell.share(Outcome.DISASTER) == 1
    assert sum(number <= 3 for number in cell.when[Outcome.DISASTER]) / cell.runs >= 0.99
    assert max(cell.when[Outcome.DISASTER]) <= 5


@pytest.mark.parametrize("ratio", [2.2, 2.87])
def test_a_large_ratio_lies_in_its_interval(ratio: float) -> None:
    cell = Cell(ratio)
    assert cell.share(Outcome.PROMOTED) >= 0.99
    assert cell.covered / cell.runs >= 0.94


@pytest.mark.parametrize(
    ("ratio", "outcomes", "least", "most"),
    [
        (1.10, (Outcome.PROMOTED,), 0.96, 1.0),
        (0.90, RETIRED, 0.98, 1.0),
        (1.00, (Outcome.PROMOTED,), 0.0, 0.02),
        (1.00, (Outcome.SLOWER, Outcome.DISASTER), 0.0, 0.03),
    ],
)
def test_pods_that_differ_by_a_percent_decide_nothing(
    ratio: float, outcomes: tuple[Outcome, ...], least: float, most: float
) -> None:
    share = Cell(ratio, windows=120, pod_sd=0.01).share(*outcomes)
    assert least <= share <= most


@pytest.mark.parametrize("sd", [0.015, 0.05])
def test_a_young_pods_slowness_does_not_retire_a_good_drafter(sd: float) -> None:
    fading = Cell(1.05, sd=sd, windows=60, shape=lambda index: math.log(0.9) * max(0.0, 1 - index / 30))
    assert fading.share(*RETIRED) <= 0.05


def test_very_noisy_windows_make_no_disaster() -> None:
    assert Cell(1.0, sd=0.10, phi=0.6, windows=120).share(Outcome.DISASTER) <= 0.01


def test_a_tenth_fewer_arrivals_on_the_trial_promote_nothing() -> None:
    """Speed falls with the square root of demand: fewer arrivals flatter an arm that is no faster."""
    rng, promoted = random.Random(3), 0
    for _ in range(100):
        windows = []
        for index in range(120):
            demand = 24000.0 * math.exp(rng.gauss(0, 0.1))
            arms = {}
            for name, share in ((BASELINE, 1.0), (TRIAL, 0.9)):
                speed = SPEED * share**-0.5 * math.exp(rng.gauss(0, 0.03))
                arms[name] = (pod(speed, tokens=demand * share),)
            windows.append(Window(index, SECONDS, arms))
        _, verdict, _ = judge(windows, Settings(pod_sd=0.0))
        promoted += verdict is not None and verdict.outcome is Outcome.PROMOTED
    assert promoted == 0
