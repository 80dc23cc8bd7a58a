"""What may come in between while a drafter takes over: edits of the spec, an autoscaler, crashes."""

from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from specdeploy.api.reasons import TrialState
from specdeploy.rollout import Exit, Pod, Step, advance
from tests.rollout.scenes import DFLASH, EAGLE, fresh
from tests.rollout.world import World, drafter

IMAGE = {"engine": {"image": "vllm/vllm-openai-rocm:v0.34.0"}}
OTHER_N = {"drafters": [drafter("dflash", "dflash", 5)]}


def soaks(world: World) -> bool:
    """Whether `dflash` is at a step of 25 % or more, and some of its windows are compared."""
    trial = world.known.trial
    found = trial is not None and trial.drafter == "dflash" and trial.state is TrialState.PROMOTING
    return trial is not None and found and (trial.step or 0) >= 25 and trial.soaked > 2


@cache
def _taking_over(replicas: int) -> World:
    return fresh(DFLASH, replicas=replicas).run(20_000, soaks)


@cache
def _succeeding() -> World:
    world = fresh(EAGLE, replicas=8).settle()
    return world.change(drafters=[EAGLE, DFLASH]).run(20_000, soaks)


def taking_over(replicas: int = 8) -> World:
    """`dflash` takes over from the baseline and has a quarter of the serving pods."""
    world = deepcopy(_taking_over(replicas))
    assert soaks(world)
    return world


def succeeding() -> World:
    """`dflash` takes over from `eagle`, which is proven and listed, and has a quarter of the serving pods."""
    world = deepcopy(_succeeding())
    assert soaks(world)
    return world


def told_since(world: World, before: int) -> list[str]:
    """The reasons of the Events since then, and what they are about."""
    return [" ".join(event.split()[:2]) for event in world.events[before:]]


# -- edits of the spec ----------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [IMAGE, OTHER_N, {"drafters": []}], ids=["image", "n", "removed"])
def test_a_promotion_of_what_the_spec_has_left_ends_at_once_and_freezes_nothing(
    change: dict[str, Any],
) -> None:
    """No window soaked it, no guard watched it and no other trial could start: 25 hours long."""
    world = taking_over()
    revision = world.known.serving.revision if world.known.serving else ""
    world.change(**change).run(20)
    verdict = world.typed.verdict(revision)
    assert verdict is not None
    assert verdict.outcome == "Superseded"
    assert world.serving() == "baseline"
    world.run(600)
    assert revision not in {d.revision for d in world.deployments.values() if d.replicas}
    world.settle()
    assert world.serving() == ("dflash" if change.get("drafters") != [] else "baseline")


@pytest.mark.parametrize("change", [{"drafters": [EAGLE]}, {"drafters": [EAGLE, *OTHER_N["drafters"]]}])
def test_what_served_before_serves_again_when_the_drafter_that_takes_over_is_taken_out(
    change: dict[str, Any],
) -> None:
    """What was proven, and was still on most of the pods, was thrown away with it."""
    world = succeeding()
    before = len(world.events)
    world.change(**change).run(10)
    assert told_since(world, before)[:2] == ["Normal/Superseded: dflash", "Normal/NowServing: eagle"]
    assert world.serving() == "eagle"
    world.run(300)
    assert world.replicas().get("eagle", 0) >= 6
    assert next(v.outcome for v in world.typed.verdicts or [] if v.drafter == "eagle") == "Promoted"


def test_an_engine_changed_in_a_promotion_goes_back_to_what_served_until_its_heir_has_a_verdict() -> None:
    world = succeeding()
    old = world.known.trial.fallback.revision if world.known.trial and world.known.trial.fallback else ""
    world.change(**IMAGE).run(200)
    assert world.typed.serving is not None
    assert (world.serving(), world.typed.serving.revision) == ("eagle", old)
    assert world.typed.trial is not None
    assert world.typed.trial.drafter == "eagle"
    world.settle()
    assert world.serving() == "dflash"


def test_the_last_event_tells_what_serves_when_an_abort_meets_an_edit_that_took_out_what_served() -> None:
    world = succeeding().change(drafters=[DFLASH])
    world.annotate("abort")
    before = len(world.events)
    world.step()
    assert world.serving() == "baseline"
    assert told_since(world, before) == [
        "Normal/Abort: abort",
        "Normal/Aborted: dflash",
        "Normal/NowServing: baseline",
    ]


def test_an_invalid_spec_ends_no_promotion() -> None:
    world = taking_over().change(engine={"args": ["--port=1"]}).run(100)
    assert (world.serving(), world.state) == ("dflash", "Promoting")


# -- an autoscaler --------------------------------------------------------------------------------------


def step_of(world: World) -> tuple[str, int | None]:
    return world.state, world.known.trial.step if world.known.trial else None


@pytest.mark.parametrize("steps", [(0,), (1,), (2,), (0, 1), (2, 0, 1)])
@pytest.mark.parametrize("lasting", [60, 1200])
def test_pods_that_an_autoscaler_takes_away_for_a_while_make_no_step_the_last(
    steps: tuple[int, ...], lasting: float
) -> None:
    """With one or two replicas a quarter of them is all: the promotion was complete, and when the pods came
    back they were all the drafter's."""
    world = taking_over(16)
    for replicas in steps:
        world.change(replicas=replicas).run(lasting)
        assert step_of(world) == ("Promoting", 25)
    before = len(world.events)
    world.change(replicas=16)

    def watch(now: World) -> None:
        whole = any("gets 15 of 15" in event for event in now.events[before:])
        assert whole or now.replicas().get("dflash", 0) <= 8

    world.watch = watch
    world.run(200).settle()
    assert world.replicas() == {"baseline": 1, "dflash": 15}
    assert any("gets 8 of 15 serving pods" in event for event in world.events)


def test_fewer_pods_for_longer_than_a_trial_may_last_are_the_whole_fleet() -> None:
    """Else a service that has become small would stay in its promotion, and have no re-check, for ever."""
    world = fresh(DFLASH, replicas=16, trial={"totalDeadlineSeconds": 3600}).run(20_000, soaks)
    world.change(replicas=2).run(600)
    assert (
        "1 of 1 serving pods now; they are all since there are fewer: it waits for more pods, until"
        in str(world.typed.message)
    )
    world.run(2600)
    assert step_of(world) == ("Promoting", 25)
    world.run(600)
    assert world.typed.trial is None
    assert world.replicas() == {"baseline": 1, "dflash": 1}


def test_a_drafter_whose_trial_has_all_the_pods_that_serve_is_promoted_at_once() -> None:
    world = fresh(DFLASH, replicas=2).settle()
    assert world.replicas() == {"baseline": 1, "dflash": 1}
    assert sum("PromotionComplete" in event for event in world.events) == 1


# -- crashes --------------------------------------------------------------------------------------------

KILLED, LEFT, CRASHED = (
    Exit(137, "OOMKilled", ""),
    Exit(0, "Completed", ""),
    Exit(1, "Error", "ValueError: no"),
)


@cache
def _at_half() -> World:
    return fresh(DFLASH, replicas=16).run(
        20_000, lambda w: w.replicas().get("dflash") == 8 and all(w.ready(p) for p in w.pods)
    )


def with_pods(count: int, **update: Any) -> Step:
    """A pass in which so many of the eight promoted pods are so."""
    world = deepcopy(_at_half())
    seen = world.peek()
    mine = [p for p in seen.pods if "dflash" in p.name]
    assert (len(mine), world.state) == (8, "Promoting")

    def changed(pod: Pod) -> Pod:
        return replace(pod, **update) if pod in mine[:count] else pod

    return advance(replace(seen, pods=tuple(map(changed, seen.pods)), window=None), world.known)


UP: dict[str, Any] = {"restarts": 1}
LOADS: dict[str, Any] = {"restarts": 1, "ready": False, "started": False}
LOOPS: dict[str, Any] = {**LOADS, "restarts": 3, "waiting": ("CrashLoopBackOff", "back-off")}
LATE: dict[str, Any] = {**LOADS, "restarts": 0, "running_since": 1.0}


@pytest.mark.parametrize(
    ("count", "state", "ended", "outcome"),
    [
        (1, UP, KILLED, "Promoted"),
        (1, UP, LEFT, "Promoted"),
        (8, UP, KILLED, "Promoted"),
        (1, LOADS, KILLED, "Promoted"),
        (3, LOADS, CRASHED, "Promoted"),
        (4, LOADS, CRASHED, "Unhealthy"),
        (1, LOOPS, CRASHED, "Inconclusive"),
        (4, LOOPS, CRASHED, "Unhealthy"),
        (1, LATE, None, "Inconclusive"),
        (4, LATE, None, "Unhealthy"),
    ],
)
def test_a_crash_of_a_pod_or_a_few_does_not_end_a_promotion_with_a_quarantine(
    count: int, state: dict[str, Any], ended: Exit | None, outcome: str
) -> None:
    """One pod of 16 that was killed once took a proven drafter off all of them, for good."""
    step = with_pods(count, **state, exit=ended)
    [verdict] = step.status.verdicts or []
    assert verdict.outcome == outcome
    assert (verdict.retry_time is None) is (outcome != "Inconclusive")
    assert step.status.serving is not None
    assert step.status.serving.name == ("dflash" if outcome == "Promoted" else "baseline")
