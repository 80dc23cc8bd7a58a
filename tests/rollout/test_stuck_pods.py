"""Pods that never leave, never come or never stay ready hold up neither the way back nor a trial's end.

One dead node, one GPU that is gone or one pod that flaps kept seven of eight pods on a drafter at 0.1x for as
long as it lasted, while status spoke of two minutes.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import cache

import pytest

from specdeploy.api.reasons import Condition as Kind
from specdeploy.api.status import instant
from specdeploy.rollout import Pod
from specdeploy.rollout.scene import scene
from specdeploy.rollout.stuck import OVERSTAY_SECONDS, UNSEEN_SECONDS, homeless, leaving, overstayed
from tests.rollout.scenes import DFLASH, EAGLE, fresh, on_trial
from tests.rollout.world import NO_GPU, Engine, World

HOUR = 3600.0


@cache
def _served(replicas: int) -> World:
    return fresh(DFLASH, replicas=replicas).settle()


def served(replicas: int = 8) -> World:
    return deepcopy(_served(replicas))


def placed(world: World) -> int:
    return sum(p.placed is not None for p in world.pods)


# -- the way back -----------------------------------------------------------------------------------------


def dead_node(world: World) -> None:
    world.lose_node("dflash")
    world.run(300)


def dead_node_of_the_baseline(world: World) -> None:
    world.lose_node("baseline")
    world.run(300)


def dead_node_on_a_full_cluster(world: World) -> None:
    world.gpus = len(world.pods)
    world.lose_node("dflash")
    world.run(300)


def gpu_gone(world: World) -> None:
    """While the way back is on its way: what leaves is not replaced in full."""
    world.watch = lambda now: setattr(now, "gpus", 7) if now.typed.rollback is not None else None


def flapping(world: World) -> None:
    world.flapping = "dflash"


@pytest.mark.parametrize("speed", [0.1, 0.85], ids=["disaster", "small-loss"])
@pytest.mark.parametrize(
    "trouble",
    [dead_node, dead_node_of_the_baseline, dead_node_on_a_full_cluster, gpu_gone, flapping],
    ids=lambda trouble: trouble.__name__,
)
def test_what_was_taken_off_is_gone_within_an_hour_whatever_one_pod_does(
    trouble: Callable[[World], None], speed: float
) -> None:
    world = served()
    world.noise = 0.02
    trouble(world)
    world.engines["dflash"].speed = speed
    world.run(2 * HOUR, lambda w: w.serving() == "baseline")
    assert world.serving() == "baseline"
    least = len(world.pods)
    for _ in range(360):
        world.step()
        least = min(least, sum(p.ready for p in world.peek().pods))
    assert world.replicas() == {"baseline": 8}
    assert least >= 5


def test_a_baseline_that_does_not_come_up_costs_no_more_than_one_group_of_pods() -> None:
    world = served()
    world.engines["dflash"].speed = 0.1
    world.run(HOUR, lambda w: w.serving() == "baseline")
    world.engines["baseline"] = Engine(never_ready=True)
    for pod in [p for p in world.pods if p.drafter == "baseline"]:
        pod.leaves = world.now
    world.run(2 * HOUR)
    assert sum(world.ready(p) for p in world.pods) >= 5


def test_no_node_for_any_baseline_pod_costs_no_more_than_one_group_of_pods() -> None:
    """It would, for a selector that no node has: what is missing then is no place."""
    world = served(16)
    world.engines["dflash"].speed = 0.1
    world.run(HOUR, lambda w: w.serving() == "baseline")
    for pod in [p for p in world.pods if p.drafter == "baseline"]:
        pod.leaves = world.now
    world.unseen = "baseline"
    world.run(2 * HOUR)
    assert sum(world.ready(p) for p in world.pods) >= 11


def test_where_others_take_the_places_half_of_the_fleet_stays() -> None:
    """Each pod that leaves may lose its place to somebody else's."""
    world = served()
    world.engines["dflash"].speed = 0.1
    world.run(HOUR, lambda w: w.serving() == "baseline")

    def shrink(now: World) -> None:
        now.gpus = min(now.gpus, max(1, sum(p.placed is not None and p.leaves is None for p in now.pods)))

    world.watch = shrink
    world.run(4 * HOUR)
    assert sum(world.ready(p) for p in world.pods) >= 4
    assert world.typed.rollback is not None
    assert NO_GPU in (world.typed.message or "")


@pytest.mark.parametrize("replicas", [3, 4])
def test_a_small_fleet_goes_back_although_a_gpu_is_gone_and_keeps_a_ready_pod(replicas: int) -> None:
    world = served(replicas)
    world.gpus = replicas
    world.lose_node("dflash")
    world.run(300)
    world.engines["dflash"].speed = 0.1
    world.watch = keeps_one
    world.run(2 * HOUR, lambda w: w.serving() == "baseline" and w.replicas() == {"baseline": replicas})
    assert world.replicas() == {"baseline": replicas}


def keeps_one(world: World) -> None:
    assert any(world.ready(p) for p in world.pods)


# -- rolls, promotions, trials ----------------------------------------------------------------------------


def test_a_pod_that_never_leaves_stops_no_roll_and_is_named() -> None:
    world = fresh(replicas=8).change(drafters=[]).settle()
    world.lose_node("baseline")
    world.run(100)
    gone = next(p for p in world.pods if p.gone_by is not None)
    world.change(engine={"image": "vllm/vllm-openai-rocm:v0.34.0"})
    world.run(30)
    told = f"pod gemma-baseline-{gone.uid} should be gone since {instant(gone.gone_by or 0)} and is not"
    assert told in world.condition(Kind.PROGRESSING).message
    assert told in (world.typed.message or "")
    world.run(HOUR)
    assert len({d.revision for d in world.deployments.values() if d.replicas}) == 1
    assert world.reason(Kind.PROGRESSING) == "Settled"


def test_a_pod_that_never_leaves_stops_no_promotion() -> None:
    world = fresh(DFLASH, replicas=8).run(200)
    world.lose_node("baseline")
    world.run(4 * HOUR, lambda w: w.serving() == "dflash" and w.typed.trial is None)
    assert world.replicas() == {"baseline": 1, "dflash": 7}


def test_a_trial_beside_a_pod_that_never_leaves_ends_for_want_of_room() -> None:
    world = on_trial("Starting")
    world.lose_node("baseline")
    world.gpus = placed(world)
    world.run(HOUR, lambda w: bool(w.typed.verdicts))
    assert world.verdicts() == {"eagle": "NoCapacity"}


def test_a_trial_whose_pod_no_scheduler_looks_at_ends_for_want_of_room_and_says_why() -> None:
    """A wrong schedulerName: there is no condition PodScheduled, and so no word of it."""
    world = fresh(EAGLE)
    world.unseen = "eagle"
    world.run(HOUR, lambda w: bool(w.typed.verdicts))
    [verdict] = world.typed.verdicts or []
    assert verdict.outcome == "NoCapacity"
    assert "no scheduler has looked at it" in (verdict.message or "")


def test_a_serving_pod_that_no_scheduler_looks_at_is_no_engine_that_loads() -> None:
    world = fresh(EAGLE)
    world.unseen = "baseline"
    world.run(100)
    assert world.reason(Kind.READY) == "Starting"
    world.run(60)
    assert world.reason(Kind.READY) == "Unschedulable"
    assert "no scheduler has looked at it" in world.condition(Kind.READY).message


# -- one pod ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        ({}, None),
        ({"created": -UNSEEN_SECONDS}, "no scheduler has looked at it"),
        ({"created": 1 - UNSEEN_SECONDS}, None),
        ({"created": -UNSEEN_SECONDS, "node": "n1"}, None),
        ({"created": -UNSEEN_SECONDS, "terminating": True}, None),
        ({"unschedulable": "0/3 nodes"}, "0/3 nodes"),
        ({"unschedulable": "SchedulingGated: a queue holds it"}, "SchedulingGated"),
    ],
)
def test_why_a_pod_has_no_node(pod: dict[str, object], words: str | None) -> None:
    base = {"name": "p", "uid": "u", "template": "t", "created": 0.0}
    found = homeless(Pod(**{**base, **pod}), 0.0)  # type: ignore[arg-type]
    assert found == words if words is None else words in (found or "")


@pytest.mark.parametrize(
    ("pod", "waited_for", "overstays"),
    [
        ({}, False, False),
        ({"terminating": True}, True, False),
        ({"gone_by": 300.0}, True, False),
        ({"gone_by": 1 - OVERSTAY_SECONDS}, True, False),
        ({"gone_by": -OVERSTAY_SECONDS}, False, True),
    ],
    ids=["stays", "nobody-knows-until-when", "drains", "about-to-be-killed", "a-minute-late"],
)
def test_a_pod_that_leaves_is_waited_for_until_a_minute_after_its_time(
    pod: dict[str, object], waited_for: bool, overstays: bool
) -> None:
    world = fresh().run(60)
    seen = world.peek()
    base = replace(seen.pods[0], terminating="gone_by" in pod)
    known = {name: seen.now + value if name == "gone_by" else value for name, value in pod.items()}  # type: ignore[operator]
    view = scene(replace(seen, pods=(replace(base, **known),)), world.known)  # type: ignore[arg-type]
    assert leaving(view) is waited_for
    assert bool(overstayed(view)) is overstays
