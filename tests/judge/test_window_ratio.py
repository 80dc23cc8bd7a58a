"""One window as a ratio, for pictures: raw, and of pods too young for evidence, too."""

import pytest

from specdeploy.judge import Obstacle, PodWindow, Reason, Settings, Window, window_ratio

SETTINGS = Settings(window_seconds=60.0, warmup_seconds=300.0)


def pod(speed: float, *, tokens: float = 6000.0, age: float = 1000.0) -> PodWindow:
    first = 20.0 if tokens else 0.0
    return PodWindow("p", 60.0, tokens + first, first, tokens / speed if tokens else 0.0, ready_seconds=age)


def ratio(trial: PodWindow | None, baseline: PodWindow, obstacle: Obstacle | None = None) -> float | None:
    arms = {"baseline": (baseline,), **({"trial": (trial,)} if trial else {})}
    return window_ratio(Window(0, 60.0, arms, obstacle), SETTINGS)


@pytest.mark.parametrize("age", [1000.0, 130.0])
@pytest.mark.parametrize("speed", [10.0, 26.4, 60.0, 108.0])
def test_the_ratio_of_a_window_is_that_of_the_speeds(speed: float, age: float) -> None:
    assert ratio(pod(speed, age=age), pod(60.0, age=age)) == pytest.approx(speed / 60.0)


@pytest.mark.parametrize(
    ("trial", "obstacle"),
    [
        (None, None),
        (pod(60.0, age=70.0), None),
        (pod(60.0, tokens=0.0), None),
        (pod(60.0), Obstacle(Reason.NO_DATA, "no data")),
    ],
    ids=["no-pod", "too-young", "idle", "no-data"],
)
def test_a_window_in_which_an_arm_cannot_be_measured_has_none(
    trial: PodWindow | None, obstacle: Obstacle | None
) -> None:
    assert ratio(trial, pod(60.0), obstacle) is None
