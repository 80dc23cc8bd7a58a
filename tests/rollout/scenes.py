"""Worlds in a known state, made once and copied: a trial under way, a drafter that serves."""

from copy import deepcopy
from functools import cache
from typing import Any

from tests.rollout.world import Engine, World, drafter, spec

EAGLE, DFLASH, MTP = drafter("eagle"), drafter("dflash", "dflash", 7), drafter("mtp", "mtp", 1)
FAST, SLOW = Engine(speed=1.8), Engine(speed=0.4)


def fresh(*drafters: dict[str, Any], replicas: int = 4, **more: Any) -> World:
    """Nothing has happened yet; `dflash` is fast, `eagle` a little less, all others like the baseline."""
    engines = {"dflash": Engine(speed=1.8), "eagle": Engine(speed=1.4)}
    return World(spec(*(drafters or (EAGLE,)), replicas=replicas, **more), engines, tick=10.0)


@cache
def _on_trial(state: str) -> World:
    return fresh().run(2000, lambda w: w.state == state)


def on_trial(state: str) -> World:
    """`eagle` is on trial, and has just come to this state."""
    world = deepcopy(_on_trial(state))
    assert world.state == state
    return world


@cache
def _served() -> World:
    return fresh(DFLASH).settle()


def served() -> World:
    """`dflash` serves, with three of four pods."""
    world = deepcopy(_served())
    assert world.replicas() == {"baseline": 1, "dflash": 3}
    return world
