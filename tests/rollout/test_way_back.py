"""The way back after an alarm: how many pods leave at a time, and that it survives a kill."""

from copy import deepcopy

import pytest

from specdeploy.rollout.way_back import at_a_time
from tests.rollout.scenes import DFLASH, fresh
from tests.rollout.world import World


@pytest.mark.parametrize(
    ("replicas", "loss", "pods"),
    [
        (8, 0.0, 1),
        (8, 0.1, 1),
        (8, 0.24, 1),
        (8, 0.25, 2),
        (8, 0.9, 2),
        (10, 0.1, 1),
        (20, 1 - 0.9, 2),
        (100, 0.1, 10),
        (100, 0.9, 25),
        (3, 0.9, 1),
        (1, 0.9, 1),
        (0, 0.9, 1),
    ],
)
def test_so_many_pods_leave_at_a_time_as_the_loss_is_worth_a_quarter_at_most(
    replicas: int, loss: float, pods: int
) -> None:
    assert at_a_time(replicas, loss) == pods


def serves_with_every_pod(replicas: int = 9) -> World:
    world = fresh(DFLASH, replicas=replicas)
    world.noise = 0.02
    return world.settle()


def alarmed(world: World) -> World:
    world.engines["dflash"].speed = 0.4
    return world.run(600, lambda w: w.serving() == "baseline")


def back(world: World, *, dies: bool = False) -> int:
    """The fewest ready pods on the way back of `world`."""
    least = len(world.pods)
    for _ in range(200):
        world.step(dies="between" if dies and world.passes % 3 == 0 else "")
        least = min(least, sum(world.ready(p) for p in world.pods))
        if world.idle() and world.replicas() == {"baseline": 9}:
            break
    return least


def test_a_fleet_far_below_one_goes_back_two_of_nine_pods_at_a_time_and_no_more() -> None:
    world = alarmed(serves_with_every_pod())
    rollback = world.typed.rollback
    assert rollback is not None
    assert (rollback.drafter, rollback.pods) == ("dflash", 2)
    assert any("its pods leave 2 at a time, about" in event for event in world.events)
    assert "was taken off at" in str(world.typed.message)
    began = world.now
    assert back(world) == 7
    assert world.replicas() == {"baseline": 9}
    assert world.typed.rollback is None
    assert rollback.seconds is not None
    assert world.now - began <= rollback.seconds + 60


def test_the_pace_survives_an_operator_that_dies_again_and_again() -> None:
    world = deepcopy(alarmed(serves_with_every_pod()))
    assert back(world, dies=True) == 7
    assert world.replicas() == {"baseline": 9}


def test_scaled_down_on_the_way_back_a_quarter_is_one_of_what_is_left() -> None:
    world = alarmed(serves_with_every_pod())
    world.change(replicas=4).run(60)
    least = 4
    for _ in range(60):
        world.step()
        least = min(least, sum(world.ready(p) for p in world.pods))
    assert least == 3
    assert world.replicas() == {"baseline": 4}


def test_what_serves_shows_beforehand_how_long_its_way_back_would_take() -> None:
    world = serves_with_every_pod()
    serving = world.typed.serving
    assert serving is not None
    assert serving.pod_seconds == 30
    assert serving.rollback_seconds == 8 * 30
    assert "taking it back would take about 4 min" in str(world.typed.message)


def test_the_alarms_verdict_carries_the_newest_ratio_and_its_windows() -> None:
    world = alarmed(serves_with_every_pod())
    verdict = next(v for v in world.typed.verdicts or [] if v.reason == "GuardAlarm")
    assert verdict.ratio is not None
    assert float(verdict.ratio) == pytest.approx(0.4, rel=0.1)
    assert (verdict.windows, verdict.lower, verdict.upper) == (3, None, None)
