"""A gain that falls with the load: told by a line, followed a little way, and only where it is certain."""

import math
import random

import pytest

from specdeploy.judge import Cause, Outcome, Settings, Window, observe, start
from specdeploy.judge.learned import Learned
from specdeploy.judge.noise import Sums
from specdeploy.judge.slope import DAY_WINDOWS, Slope, batch_to_stand
from specdeploy.judge.window import BASELINE, TRIAL, PodWindow


def line(fall: float, *, count: int = 40, sd: float = 0.02, spread: float = 0.15) -> tuple[Slope, Sums]:
    """Sums of y = 0.2 + fall * (ln batch - ln 20) with noise, over batches around 20."""
    luck, slope, whole = random.Random(1), Slope(), Sums()
    for _ in range(count):
        x = luck.gauss(0, spread)
        y = 0.2 + fall * x + luck.gauss(0, sd)
        slope, whole = slope.add(20 * math.exp(x), y), whole.add(y, None)
    return slope, whole


def test_the_line_is_followed_to_a_batch_that_was_not_measured() -> None:
    slope, whole = line(-0.5)
    expected = slope.expected(40.0, whole, 40.0)
    assert expected == pytest.approx(0.2 - 0.5 * math.log(2), abs=0.03)


@pytest.mark.parametrize(
    ("fall", "more"),
    [(0.0, {}), (0.5, {}), (-0.5, {"count": 14}), (-0.5, {"spread": 0.02}), (-0.2, {"sd": 0.3})],
    ids=["flat", "rises", "few windows", "one batch", "lost in noise"],
)
def test_a_fall_that_is_not_certain_says_nothing(fall: float, more: dict[str, float]) -> None:
    slope, whole = line(fall, **more)  # type: ignore[arg-type]
    assert slope.expected(40.0, whole, float(whole.n)) is None


@pytest.mark.parametrize(
    ("learned", "windows", "batch"),
    [(0.0, 0, 45.0), (35.0, DAY_WINDOWS, 35.0), (20.0, DAY_WINDOWS, 30.0), (90.0, DAY_WINDOWS, 45.0)],
    ids=["an unknown day", "a known day", "a day below the trial", "a day far above"],
)
def test_the_batch_to_stand_is_that_of_the_day_or_half_as_much_again(
    learned: float, windows: int, batch: float
) -> None:
    assert batch_to_stand(30.0, learned, windows) == pytest.approx(batch)


def morning(fall: float, learned: Learned) -> tuple[Outcome | None, str]:
    """A trial while the load rises from batch 20 to 30; its log gain is 0.3 at first and falls with it."""
    luck, settings = random.Random(5), Settings(pod_sd=0.0)
    state = start(settings, learned)
    for index in range(60):
        batch = 20 * 1.5 ** (index / 59)
        speeds = {BASELINE: 0.0, TRIAL: 0.3 + fall * math.log(batch / 20)}
        arms = {arm: (_pod(arm, batch, y + luck.gauss(0, 0.02)),) for arm, y in speeds.items()}
        state, verdict = observe(state, Window(index, 60.0, arms), settings)
        if verdict is not None:
            return verdict.outcome, verdict.reason
    return None, ""


def _pod(name: str, batch: float, log_speed: float) -> PodWindow:
    seconds = 60.0 * batch
    return PodWindow(name, 60.0, 20.0 * seconds * math.exp(log_speed) + 40, 40.0, seconds)


def test_a_morning_gain_that_the_peak_will_eat_is_not_let_on_the_fleet() -> None:
    """Guards against a promotion at 09:16 that the peak of 10:00 makes a loss."""
    unknown = Learned(windows=200)
    assert morning(-0.6, unknown) == (Outcome.GUARDED, Cause.SLOWER_AT_LOAD)
    assert morning(-0.05, unknown) == (Outcome.PROMOTED, Cause.PROVEN_FASTER)


def test_it_serves_where_a_known_day_has_no_such_peak() -> None:
    quiet = Learned(windows=DAY_WINDOWS, batch_low=5.0, batch_high=24.0)
    assert morning(-0.6, quiet)[0] is Outcome.PROMOTED
