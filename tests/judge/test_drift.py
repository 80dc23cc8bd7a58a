"""What moved while no baseline ran: seldom told by noise, soon told by a shift."""

import os
import random
from itertools import islice
from statistics import median

import pytest

from specdeploy.judge.drift import LEARN_WINDOWS, Cusum
from tests.judge.windows import noise

FULL = int(os.environ.get("SPECDEPLOY_RUNS", "0")) >= 1000
SIGNALS = 2
RUN_WINDOWS = 20 * 1440.0


def learnt(stream: random.Random | None, phi: float = 0.3, windows: int = LEARN_WINDOWS) -> Cusum:
    values = noise(stream or random.Random(1), 0.05, phi)
    signal = Cusum()
    for number, value in enumerate(islice(values, windows)):
        signal = signal.learn(0.7 + value, adjacent=number > 0)
    return signal


def windows_until_moved(signal: Cusum, rng: random.Random, shift: float, phi: float, most: int) -> int | None:
    """Windows at `shift` sd until it is told; None if it is not."""
    values = noise(rng, 0.05, phi)
    for number in range(1, most + 1):
        signal = signal.watch(0.7 + 0.05 * shift + next(values))
        if signal.moved(RUN_WINDOWS):
            return number
    return None


@pytest.mark.parametrize(("shift", "way"), [(3.0, 1), (-3.0, -1)])
def test_a_shift_is_told_with_its_direction(shift: float, way: int) -> None:
    signal = learnt(None)
    for value in islice(noise(random.Random(2), 0.05, 0.3), 30):
        signal = signal.watch(0.7 + 0.05 * shift + value)
    assert signal.moved(RUN_WINDOWS) == way


def test_the_mean_since_the_shift_is_told() -> None:
    signal = learnt(None)
    for _ in range(20):
        signal = signal.watch(0.4)
    assert signal.mean_since(-1) == pytest.approx(0.4)
    for _ in range(60):
        signal = signal.watch(0.9)
    assert signal.mean_since(1) == pytest.approx(0.9)


def test_more_checks_may_be_brought_forward_where_they_come_more_often() -> None:
    signal = learnt(None)
    assert signal.limit(1200.0) < 0.8 * signal.limit(RUN_WINDOWS)


def test_what_is_hardly_known_tells_nothing() -> None:
    signal = learnt(None, windows=59)
    for _ in range(100):
        signal = signal.watch(9.0)
    assert signal == learnt(None, windows=59)
    assert signal.moved(RUN_WINDOWS) == 0


def test_no_more_is_learnt_than_the_first_windows() -> None:
    signal = learnt(None)
    assert signal.learn(9.0, adjacent=True) == signal


def test_what_has_not_moved_stays_known_in_a_check_and_what_has_moved_is_learnt_anew() -> None:
    signal = learnt(None).watch(0.8)
    assert signal.up > 0
    assert signal.checked(RUN_WINDOWS) == learnt(None)
    for _ in range(20):
        signal = signal.watch(0.4)
    assert signal.moved(RUN_WINDOWS) == -1
    assert signal.checked(RUN_WINDOWS) == Cusum()


@pytest.mark.parametrize(("phi", "most"), [(0.0, 15), (0.3, 25), (0.6, 45)])
def test_a_shift_of_two_standard_deviations_is_told_soon(phi: float, most: int) -> None:
    rng = random.Random(4)
    found = [windows_until_moved(learnt(rng, phi), rng, -2.0, phi, 3000) or 3000 for _ in range(30)]
    assert median(found) <= most


@pytest.mark.slow
@pytest.mark.parametrize("phi", [0.0, 0.3, 0.6, 0.9])
def test_noise_brings_a_check_forward_once_in_twenty_days_at_most(phi: float) -> None:
    rng, runs, most = random.Random(5), 60 if FULL else 6, 30_000
    found = [windows_until_moved(learnt(rng, phi), rng, 0.0, phi, most) for _ in range(runs)]
    watched = sum(most if number is None else number for number in found)
    alarms = sum(number is not None for number in found)
    # Each of the two signals may have half of what both may have together; 3 standard errors for the luck.
    expected = watched / (SIGNALS * RUN_WINDOWS)
    assert alarms <= expected + 3 * expected**0.5
