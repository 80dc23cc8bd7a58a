"""What a baseline of several pods tells of how much two pods of a kind differ."""

import math
import random
from statistics import fmean

import pytest

from specdeploy.judge import (
    Settings,
    Window,
)
from specdeploy.judge.history import learn, remember
from tests.judge.histories import SETTINGS, alone, arm_of, learned, taught
from tests.judge.windows import SPEED, noise, pod


def test_pods_that_differ_are_told_from_noise() -> None:
    rng = random.Random(2)
    differing = {"a": -0.05, "b": -0.01, "c": 0.02, "d": 0.04}
    known = learned(arm_of(differing, index, rng) for index in range(500))
    squares = math.fsum(offset**2 for offset in differing.values())
    assert known.pod_freedom == 11
    assert known.pod_sd == pytest.approx(math.sqrt((8 * 0.01**2 + squares) / 11), rel=0.1)
    alike = learned(arm_of(dict.fromkeys("abcd", 0.0), index, rng) for index in range(500))
    assert alike.pod_freedom == 11
    assert alike.pod_sd == pytest.approx(math.sqrt(8 * 0.01**2 / 11), rel=0.15)


def test_noise_that_lasts_in_a_pod_is_no_offset() -> None:
    """Four pods, alike but for spells of 20 windows: their means over 150 windows still differ by chance."""
    found = []
    for seed in range(25):
        rng = random.Random(seed)
        streams = [noise(rng, 0.05, 0.9) for _ in range(4)]
        windows = (
            alone(i, *(pod(SPEED * math.exp(next(each)), name=f"p{k}") for k, each in enumerate(streams)))
            for i in range(150)
        )
        found.append(learned(windows).pod_sd ** 2)
    assert math.sqrt(fmean(found)) < 0.0115


def test_a_pod_that_gets_more_requests_is_not_a_slower_pod() -> None:
    rng = random.Random(3)

    def arm(index: int) -> Window:
        day_log = rng.gauss(0, 0.2)
        pods = []
        for name, share in (("a", 0.1), ("b", -0.1)):
            d = day_log + share
            pods.append(pod(SPEED * math.exp(-0.5 * d), name=name, tokens=24000 * math.exp(d)))
        return alone(index, *pods)

    history = taught(arm(index) for index in range(3000))
    assert learn(history, SETTINGS).pod_sd < 0.011


@pytest.mark.parametrize(
    ("pods", "windows", "sd", "freedom"),
    [(1, 100, 0.02, 8), (2, 29, 0.02, 8), (2, 30, math.sqrt(8 / 9) * 0.02, 9), (100, 30, None, 16)],
)
def test_pods_followed_for_thirty_windows_teach(
    pods: int, windows: int, sd: float | None, freedom: int
) -> None:
    each = tuple(pod(name=f"p{number}") for number in range(pods))
    known = learned((alone(i, *each) for i in range(windows)), Settings(pod_sd=0.02))
    assert known.pod_freedom == freedom
    assert sd is None or known.pod_sd == pytest.approx(sd)


def test_the_pod_sd_is_at_least_half_a_percent() -> None:
    alike = (alone(i, pod(name="a"), pod(name="b")) for i in range(100))
    assert learned(alike, Settings(pod_sd=0.001)).pod_sd == 0.005


def test_a_new_pod_takes_the_place_of_one_that_has_gone() -> None:
    def arm(index: int, first: int) -> Window:
        return alone(index, *(pod(name=f"p{number}") for number in range(first, first + 8)))

    history = taught([arm(index, 0) for index in range(100)])
    followed = {each.key for each in history.offsets.pods}
    for index in range(100, 159):
        history = remember(history, arm(index, 4), SETTINGS)
    assert {each.key for each in history.offsets.pods} == followed
    for index in range(159, 160):
        history = remember(history, arm(index, 4), SETTINGS)
    kept = {each.key for each in history.offsets.pods}
    assert len(kept) == 8
    assert len(kept & followed) == 4


def test_a_name_given_twice_in_a_window_counts_once() -> None:
    history = taught(alone(index, pod(), pod(55.0)) for index in range(40))
    followed = [each for each in history.offsets.pods if each.key]
    assert [each.windows for each in followed] == [40]
