"""Whole rollouts, told as a person would see them.

`UPDATE_GOLDEN=1 pytest tests/rollout` writes them anew.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specdeploy.rollout import Exit
from tests.rollout.world import Engine, World, corrupted, drafter, spec

GOLDEN = Path(__file__).parent / "golden"

EAGLE, DFLASH, MTP = drafter("eagle"), drafter("dflash", "dflash", 7), drafter("mtp", "mtp", 1)
BAD_CHECKPOINT = Exit(
    1,
    "Error",
    "ValueError: There is no module or parameter named 'model' in Eagle3Model\n"
    "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n",
)


def promoted() -> World:
    world = World(spec(DFLASH), {"dflash": Engine(speed=1.8)})
    return world.settle()


def disaster() -> World:
    return World(spec(EAGLE), {"eagle": Engine(speed=0.4)}).settle()


def answers_otherwise() -> World:
    world = World(spec(EAGLE), {"eagle": Engine(speed=1.8, answers=corrupted("json", "code", "count"))})
    return world.settle()


def unhealthy() -> World:
    return World(spec(EAGLE, replicas=2), {"eagle": Engine(crash=BAD_CHECKPOINT)}).settle()


def runner_up_is_fallen_back_to() -> World:
    world = World(spec(DFLASH, EAGLE), {"dflash": Engine(speed=1.8), "eagle": Engine(speed=1.4)})
    world.settle()
    world.note("the engines of dflash begin to crash")
    world.engines["dflash"] = Engine(crash=Exit(0, "Completed", "EngineDeadError: EngineCore died"))
    return world.run(120).settle()


def no_capacity() -> World:
    world = World(spec(EAGLE), {"eagle": Engine(speed=1.5)}, gpus=4)
    world.run(1000, lambda w: w.state == "Starting")
    world.note("somebody else takes the GPU that is given free")
    world.gpus = 3
    world.run(330)
    world.note("the GPU is back")
    world.gpus = 4
    return world.run(2000, lambda w: w.serving() == "eagle").settle()


def engine_changed_under_a_serving_drafter() -> World:
    world = World(spec(DFLASH), {"dflash": Engine(speed=1.8)}).settle()
    world.note("the spec asks for another engine")
    world.change(engine={"args": ["--max-num-seqs=64"]})
    return world.run(60).settle()


def engine_changed_and_the_drafter_not_proven_on_it() -> World:
    world = World(spec(DFLASH), {"dflash": Engine(speed=1.8)}).settle()
    world.note("the spec asks for another engine, on which the drafter is slow")
    world.change(engine={"args": ["--max-num-seqs=64"]})
    world.engines["dflash"] = Engine(speed=0.4)
    return world.run(60).settle()


def scaled_to_0_1_2_and_back_in_a_trial() -> World:
    world = World(spec(EAGLE), {"eagle": Engine(speed=1.5)})
    world.run(1000, lambda w: "10/30" in str(w.typed.trial and w.typed.trial.summary))
    for replicas in (0, 1, 2, 4):
        world.note(f"replicas: {replicas}")
        world.change(replicas=replicas).run(90)
    return world.settle()


def aborted_and_retried() -> World:
    world = World(spec(EAGLE), {"eagle": Engine(speed=1.5)})
    world.run(1000, lambda w: w.state == "Measuring")
    world.note("specdeploy.dev/abort")
    world.annotate("abort")
    world.run(120)
    world.note("specdeploy.dev/retry")
    world.annotate("retry")
    return world.run(60).settle()


def undecided_without_traffic() -> World:
    world = World(spec(EAGLE, trial={"totalDeadlineSeconds": 1200}), {"eagle": Engine(speed=1.5)})
    world.traffic = False
    return world.settle()


def paused() -> World:
    world = World(spec(EAGLE), {"eagle": Engine(speed=1.5)})
    world.run(1000, lambda w: w.state == "Measuring")
    world.note("spec.paused: true")
    world.change(paused=True).run(500)
    world.note("spec.paused: false")
    return world.change(paused=False).run(20).settle()


def steady(*, replicas: int = 4, **more: Any) -> World:
    """One drafter, engines with little noise; a short soak, probation and time between re-checks."""
    baseline = {"probationSeconds": 600, "recheckSeconds": 3600, **more.pop("baseline", {})}
    world = World(
        spec(DFLASH, replicas=replicas, baseline=baseline, **more), {"dflash": Engine(speed=1.8)}, tick=10.0
    )
    world.noise = 0.02
    return world


def serving_since_long(**more: Any) -> World:
    """Promoted, its probation over."""
    world = steady(**more).settle()
    return world.run(20000, lambda w: w.next_recheck is not None).run(60)


def promoted_in_steps() -> World:
    return steady(replicas=8).settle()


def slower_while_promoting() -> World:
    world = steady(replicas=8).run(2000, lambda w: w.replicas().get("dflash") == 4)
    world.run(100)
    world.note("dflash becomes slower than the baseline")
    world.engines["dflash"].speed = 0.85
    return world.run(60).settle()


def decays_while_it_serves() -> World:
    world = steady(replicas=8).settle()
    world.note("dflash becomes slower than the baseline")
    world.engines["dflash"].speed = 0.9
    return world.run(2000, lambda w: w.serving() == "baseline").settle()


def falls_back_to_the_runner_up_when_the_guard_alarms() -> World:
    world = steady(replicas=8).change(drafters=[DFLASH, EAGLE])
    world.engines["eagle"] = Engine(speed=1.4)
    world.settle()
    world.note("dflash becomes slower than the baseline")
    world.engines["dflash"].speed = 0.8
    return world.run(2000, lambda w: w.serving() == "eagle").settle()


def rechecked_and_kept() -> World:
    world = serving_since_long()
    return world.run(4000, World.checking).run(2000, lambda w: not w.checking()).run(60)


def rechecked_and_slower() -> World:
    world = serving_since_long()
    world.note("dflash becomes slower than the baseline, and nothing runs beside it")
    world.engines["dflash"].speed = 0.85
    return world.run(4000, World.checking).run(2000, lambda w: w.serving() == "baseline").settle()


def rechecked_and_undecided() -> World:
    world = serving_since_long(trial={"deadlineSeconds": 400})
    world.note("dflash becomes as fast as the baseline")
    world.engines["dflash"].speed = 1.0
    return world.run(4000, World.checking).run(2000, lambda w: not w.checking()).run(60)


def recheck_waits_for_the_end_of_a_pause() -> World:
    world = serving_since_long()
    world.note("spec.paused: true")
    world.change(paused=True).run(4000)
    world.note(f"{world.typed.message}")
    world.note("spec.paused: false")
    return world.change(paused=False).run(30, World.checking)


def proven_at_night_it_waits_for_the_day_at_half_of_the_pods() -> World:
    world = steady(replicas=8, paused=True)
    world.load = 4.0
    world.run(1200)
    world.note("the night begins, and the trial with it")
    world.load = 1.0
    world.change(paused=False).run(4000, lambda w: w.replicas().get("dflash") == 4).run(900)
    world.note(f"{world.typed.message}")
    world.note("the day begins")
    world.load = 4.0
    return world.run(60).settle()


def no_traffic_during_the_soak() -> World:
    world = steady(replicas=4).run(
        2000, lambda w: "Promoting 5/" in str(w.typed.trial and w.typed.trial.summary)
    )
    world.note("traffic ends")
    world.traffic = False
    world.run(1800)
    world.note(f"{world.typed.message}")
    world.note("traffic is back")
    world.traffic = True
    return world.run(60).settle()


def far_slower_while_it_serves() -> World:
    world = steady(replicas=8).settle()
    world.note("dflash becomes far slower than the baseline")
    world.engines["dflash"].speed = 0.5
    return world.run(2000, lambda w: w.serving() == "baseline").settle()


def faster_at_night_and_slower_by_day_it_stays_at_half_of_the_pods() -> World:
    world = steady(replicas=8, paused=True, trial={"totalDeadlineSeconds": 3600})
    world.load = 4.0
    world.run(1200)
    world.note("the night begins, and the trial with it")
    world.load = 1.0
    world.change(paused=False).run(4000, lambda w: w.replicas().get("dflash") == 4).run(300)
    world.note("the day begins, and dflash is a little slower")
    world.load, world.engines["dflash"].speed = 4.0, 0.98
    world.run(140)
    world.note(f"{world.typed.message}")
    return world.run(8000, lambda w: w.serving() == "baseline").settle()


def aborted_while_promoting() -> World:
    world = steady(replicas=8).run(2000, lambda w: w.replicas().get("dflash") == 4)
    world.note("specdeploy.dev/abort")
    world.annotate("abort")
    return world.run(60).settle()


def paused_while_promoting() -> World:
    world = steady(replicas=8).run(2000, lambda w: w.replicas().get("dflash") == 2)
    world.note("spec.paused: true")
    world.change(paused=True).run(1000)
    world.note(f"{world.typed.message}")
    world.note("spec.paused: false")
    return world.change(paused=False).run(60).settle()


STORIES: tuple[Callable[[], World], ...] = (
    promoted,
    disaster,
    answers_otherwise,
    unhealthy,
    runner_up_is_fallen_back_to,
    no_capacity,
    engine_changed_under_a_serving_drafter,
    engine_changed_and_the_drafter_not_proven_on_it,
    scaled_to_0_1_2_and_back_in_a_trial,
    aborted_and_retried,
    undecided_without_traffic,
    paused,
    promoted_in_steps,
    slower_while_promoting,
    decays_while_it_serves,
    falls_back_to_the_runner_up_when_the_guard_alarms,
    rechecked_and_kept,
    rechecked_and_slower,
    rechecked_and_undecided,
    recheck_waits_for_the_end_of_a_pause,
    proven_at_night_it_waits_for_the_day_at_half_of_the_pods,
    no_traffic_during_the_soak,
    paused_while_promoting,
    far_slower_while_it_serves,
    faster_at_night_and_slower_by_day_it_stays_at_half_of_the_pods,
    aborted_while_promoting,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_a_rollout_goes_as_told(story: Callable[[], World]) -> None:
    world = story()
    text = "\n".join([*world.transcript, f"        {world.typed.message}", ""])
    golden = GOLDEN / f"{story.__name__}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()
