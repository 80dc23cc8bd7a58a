"""A clock that was ahead for some minutes blinds neither guard nor judge once it is right again.

Windows are numbered by the clock. Those after a step back were taken for old ones, until time had caught up:
12 h for a clock that was 12 h ahead, with `Protected` True all along.
"""

from collections.abc import Callable

import pytest

from specdeploy.api.reasons import Condition as Kind
from specdeploy.api.status import seconds
from tests.rollout.scenes import DFLASH, EAGLE, fresh, on_trial, served
from tests.rollout.world import Engine, World

HOUR = 3600.0


def told(world: World) -> list[str]:
    return [event for event in world.events if "ClockWentBack" in event]


@pytest.mark.parametrize("ahead", [60.0, HOUR, 12 * HOUR])
def test_a_drafter_that_becomes_slow_after_a_step_back_is_taken_off_in_time(ahead: float) -> None:
    world = served()
    world.clock_ahead(ahead, 600).run(100)
    assert len(told(world)) == (ahead > 60)
    world.engines["dflash"] = Engine(speed=0.3)
    began = world.now
    world.run(HOUR, lambda w: w.serving() == "baseline")
    assert world.serving() == "baseline"
    assert world.now - began < 300


@pytest.mark.parametrize("state", ["WarmingUp", "Measuring"])
def test_a_disaster_after_a_step_back_is_off_traffic_in_time(state: str) -> None:
    world = on_trial(state)
    world.clock_ahead(6 * HOUR, 20).run(20)
    assert len(told(world)) == 1
    world.engines["eagle"] = Engine(speed=0.05)
    began = world.now
    world.run(HOUR, lambda w: bool(w.typed.verdicts))
    assert world.verdicts() == {"eagle": "Disaster"}
    assert world.now - began < 120


@pytest.mark.parametrize("state", ["Starting", "WarmingUp", "Measuring", "Promoting"])
def test_a_trial_under_which_the_clock_steps_back_is_proven_all_the_same(state: str) -> None:
    world = on_trial(state)
    world.clock_ahead(6 * HOUR, 20)
    world.run(2 * HOUR, World.idle)
    assert world.replicas() == {"baseline": 1, "eagle": 3}


def test_after_a_step_back_nothing_is_said_to_have_been_compared_in_the_future() -> None:
    world = served()
    world.clock_ahead(12 * HOUR, 600)
    world.traffic = False
    world.run(1.2 * HOUR)
    assert world.reason(Kind.PROTECTED) == "NoEvidence"


def test_a_quarantine_lasts_no_longer_because_the_clock_was_ahead() -> None:
    world = fresh(EAGLE)
    world.gpus = 4
    world.run(100, lambda w: w.state == "Starting")
    world.gpus = 3
    world.clock_ahead(12 * HOUR, 600)
    world.gpus = 1000
    world.run(60)
    [verdict] = world.typed.verdicts or []
    assert verdict.outcome == "NoCapacity"
    assert seconds(verdict.retry_time or "") <= world.now + 300


def recheck_due(world: World) -> float:
    return seconds(world.next_recheck or "") - world.now


def test_a_recheck_comes_no_later_because_the_clock_was_ahead() -> None:
    world = fresh(DFLASH, baseline={"probationSeconds": 600, "recheckSeconds": 3600}).settle()
    world.clock_ahead(12 * HOUR, 60).run(20)
    assert 0 < recheck_due(world) <= 3600


@pytest.mark.parametrize("make", [served, lambda: on_trial("Measuring")], ids=["served", "on-trial"])
def test_a_clock_that_is_some_seconds_off_is_not_told(make: Callable[[], World]) -> None:
    world = make()
    world.clock_ahead(30, 60).run(60)
    assert not told(world)
