"""Killed anywhere, it comes out the same; nothing is written while nothing changes; no clock is missed."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdeploy.api.findings import read_status
from specdeploy.rollout import Exit, Plan, advance, plan
from specdeploy.rollout.quiet import loud
from tests.rollout.scenes import DFLASH, EAGLE, MTP, SLOW, fresh, on_trial, served
from tests.rollout.world import Engine, World

CRASH = Exit(1, "Error", "ValueError: gone")


def rollout_of_three() -> World:
    world = fresh(MTP, EAGLE, DFLASH)
    world.engines["mtp"] = SLOW
    return world


def crashing() -> World:
    world = fresh(EAGLE, DFLASH)
    world.engines["eagle"] = Engine(crash=CRASH)
    return world


def new_engine() -> World:
    return served().change(engine={"args": ["--max-num-seqs=64"]})


def rechecked() -> World:
    """Promoted in steps; the baseline's pod is given back at once, and a check is soon due."""
    baseline = {"probationSeconds": 0, "recheckSeconds": 300}
    world = fresh(DFLASH, replicas=6, baseline=baseline, promotion={"soakWindows": 1})
    world.noise = 0.01
    return world


def decaying() -> World:
    """The same; the check finds it slower."""
    world = rechecked()

    def decay(now: World) -> None:
        if now.checking():
            now.engines["dflash"] = Engine(speed=0.8)

    world.watch = decay
    return world


def outcome(world: World) -> tuple[object, ...]:
    verdicts = [(v.drafter, v.revision, v.attempt, v.outcome) for v in world.typed.verdicts or []]
    return world.serving(), world.replicas(), verdicts


def run_with_kills(world: World, dies: Callable[[], str]) -> World:
    for _ in range(2000):
        world.step(dies=dies())
        if world.idle() and world.passes > 20:
            return world.run(30)
    raise AssertionError("it does not come to an end")


@pytest.mark.parametrize("make", [rollout_of_three, crashing, new_engine], ids=lambda make: make.__name__)
@pytest.mark.parametrize("seed", range(2))
def test_killed_between_status_and_children_at_random_passes_it_comes_to_the_same_end(
    make: Callable[[], World], seed: int
) -> None:
    luck = random.Random(seed)
    whole = run_with_kills(make(), lambda: "")
    killed = run_with_kills(make(), lambda: luck.choice(["", "before", "between"]))
    assert outcome(killed) == outcome(whole)


@pytest.mark.parametrize(("make", "last"), [(rechecked, "Kept"), (decaying, "Slower")])
@pytest.mark.parametrize("kind", ["before", "between"])
def test_killed_in_every_third_pass_of_a_recheck_it_comes_to_the_same_end(
    make: Callable[[], World], last: str, kind: str
) -> None:
    """In a check every window is stored: else it would begin anew with every restart."""
    world = make()
    for number in range(1000):
        world.step(dies=kind if number % 3 == 0 else "")
        found = world.typed.baseline
        if found is not None and found.last_check is not None:
            break
    assert found is not None
    assert found.last_check == last
    world.watch = None
    world.run(300)
    assert world.serving() == ("dflash" if last == "Kept" else "baseline")
    assert sum(world.replicas().values()) in (5, 6)


@pytest.mark.parametrize("kind", ["before", "between"])
def test_killed_in_every_other_pass_it_comes_to_the_same_end(kind: str) -> None:
    turns = [0]

    def dies() -> str:
        turns[0] += 1
        return kind if turns[0] % 2 else ""

    assert outcome(run_with_kills(rollout_of_three(), dies)) == outcome(
        run_with_kills(rollout_of_three(), lambda: "")
    )


@pytest.mark.parametrize("state", ["Starting", "WarmingUp", "Measuring", "Promoting"])
def test_only_status_is_remembered_and_evidence_survives_bit_for_bit(state: str) -> None:
    """Decided from the objects in memory and from their JSON, the next ten passes are the same, but for the
    quiet parts, which are stored later."""
    world = on_trial(state)
    memory = world.typed
    for _ in range(10):
        seen = world.peek()
        from_memory = advance(seen, memory)
        from_status = advance(seen, read_status(world.status)[0])
        assert loud(from_memory.status) == loud(from_status.status)
        memory = from_memory.status
        world.step()


@pytest.mark.parametrize("state", ["WarmingUp", "Measuring"])
def test_a_window_that_is_seen_twice_is_judged_once(state: str) -> None:
    world = on_trial(state).run(30)
    seen = world.observe()
    while seen.window is None:
        world.follow()
        seen = world.observe()
    once = advance(seen, world.typed).status
    assert advance(seen, once).status.trial == once.trial


# -- nothing changes, nothing is written --------------------------------------------------------------------


def too_small() -> World:
    return on_trial("Measuring").change(replicas=1).run(100)


def capacity_lost() -> World:
    world = on_trial("Starting")
    world.gpus = 3
    return world.run(300)


def never_ready() -> World:
    world = fresh().change(drafters=[])
    world.engines["baseline"] = Engine(never_ready=True)
    return world.run(4000)


def waiting_for_a_slot() -> World:
    world = fresh()
    world.slot_free = False
    return world.run(100)


def annotated_with_garbage() -> World:
    world = served()
    world.annotations = {"specdeploy.dev/abort": "please", "specdeploy.dev/retry": "2001-01-01T00:00:00Z"}
    return world.run(20)


QUIET: tuple[Callable[[], World], ...] = (
    served,
    lambda: served().change(engine={"args": ["--port=1"]}).run(20),
    lambda: served().change(replicas=0).run(60),
    too_small,
    capacity_lost,
    never_ready,
    waiting_for_a_slot,
    annotated_with_garbage,
)


@pytest.mark.parametrize(
    "make", QUIET, ids=["served", "invalid", "zero", "small", "lost", "never", "slot", "garbage"]
)
def test_a_quiet_object_has_the_same_status_until_the_next_check(make: Callable[[], World]) -> None:
    world = make()
    seen = world.observe()
    asked = advance(seen, world.typed).next_check or world.now + 3600
    for later in (world.now, world.now + 1, asked - 1):
        step = advance(replace(seen, now=max(world.now, later), window=None), world.typed)
        assert step.status.wire() == world.status
        assert not step.events
    assert plan(seen, world.typed) == Plan(available=plan(seen, world.typed).available)


def test_a_settled_object_without_traffic_is_not_written_for_a_day() -> None:
    world = fresh().change(drafters=[]).settle()
    world.traffic = False
    world.tick = 600
    world.run(600)
    before = world.writes
    world.run(86400)
    assert world.writes == before


def test_under_traffic_a_settled_object_is_written_four_times_an_hour_and_only_its_quiet_parts() -> None:
    world = served()
    world.tick = 60
    before, stored = world.writes, world.typed
    world.run(4 * 3600)
    assert loud(world.typed) == loud(stored)
    assert world.typed != stored
    assert 12 <= world.writes - before <= 16


def test_what_somebody_else_has_stored_is_not_covered_by_what_is_remembered() -> None:
    world = served().run(100)
    assert world.kept is not None
    assert world.known != world.typed
    world.status = {**world.status, "baseline": {**world.status["baseline"], "trials": 7}}
    assert world.known == world.typed


# -- no clock is missed ---------------------------------------------------------------------------------


def no_capacity() -> World:
    world = on_trial("Starting")
    world.gpus = 3
    return world


def slow_start() -> World:
    world = fresh(engine={"startupSeconds": 600})
    world.engines["eagle"] = Engine(never_ready=True)
    return world


def quiet() -> World:
    world = fresh(trial={"totalDeadlineSeconds": 1500})
    world.traffic = False
    return world


def paused_with_a_new_engine() -> World:
    return served().change(
        paused=True,
        engine={"args": ["--max-num-seqs=64"], "startupSeconds": 60},
        trial={"totalDeadlineSeconds": 1500},
    )


CLOCKS: tuple[Callable[[], World], ...] = (
    no_capacity,
    slow_start,
    quiet,
    paused_with_a_new_engine,
    lambda: fresh(trial={"warmupSeconds": 300}),
)


@pytest.mark.parametrize("make", CLOCKS, ids=["capacity", "startup", "deadline", "succession", "warm-up"])
def test_woken_only_by_changes_and_by_the_asked_next_check_it_does_the_same_at_the_same_time(
    make: Callable[[], World],
) -> None:
    polled, lazy = make(), make()
    for world in (polled, lazy):
        world.windows = False
    polled.run(2000)
    lazy.run_lazily(2000)
    assert lazy.transcript == polled.transcript
    assert lazy.passes < polled.passes / 2


def test_a_trial_that_waits_for_its_turn_looks_again_by_itself() -> None:
    world = fresh()
    world.slot_free = False
    world.windows = False
    world.run_lazily(120)
    assert world.state == "WaitingForSlot"
    assert "waits for its turn" in str(world.typed.message)
    world.slot_free = True
    world.run_lazily(60)
    assert world.state != "WaitingForSlot"


# -- invariants over random worlds --------------------------------------------------------------------------

HAPPENINGS = (
    "nothing",
    "scale",
    "pod",
    "deployment",
    "engine",
    "drafters",
    "kill",
    "abort",
    "retry",
    "pause",
)


def asks_for_no_more_than_replicas(world: World) -> None:
    """After a pass that was killed the children may still be as the last replicas asked."""
    if not world.died:
        assert sum(d.replicas for d in world.deployments.values()) <= world.spec["replicas"]


@settings(max_examples=6, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from(HAPPENINGS), st.integers(0, 5), st.integers(1, 8)), max_size=9))
def test_whatever_happens_the_pods_asked_for_never_exceed_replicas_and_the_end_is_settled(
    story: list[tuple[str, int, int]],
) -> None:
    world = fresh(MTP, EAGLE, DFLASH)
    world.engines["mtp"] = SLOW
    world.watch = asks_for_no_more_than_replicas
    for happening, number, passes in story:
        happen(world, happening, number)
        for turn in range(passes):
            world.step(dies="before" if happening == "kill" and turn % 2 else "")
    world.annotations.pop("specdeploy.dev/paused", None)
    world.change(replicas=4, drafters=[MTP, EAGLE, DFLASH])
    world.annotate("retry")
    world.run(60)
    world.settle()
    assert world.serving() == "dflash"
    assert world.replicas() == {"baseline": 1, "dflash": 3}


def happen(world: World, happening: str, number: int) -> None:
    names = [d.drafter for d in world.deployments.values() if d.replicas]
    if happening == "scale":
        world.change(replicas=number)
    elif happening == "pod" and any(p.leaves is None for p in world.pods):
        world.delete_pod(next(p.drafter for p in reversed(world.pods) if p.leaves is None))
    elif happening == "deployment" and names:
        world.delete_deployment(names[number % len(names)])
    elif happening == "engine":
        world.change(engine={"args": [f"--max-num-seqs={number + 1}"]})
    elif happening == "drafters":
        world.change(drafters=[MTP, EAGLE, DFLASH][: number % 4])
    elif happening in ("abort", "retry"):
        world.annotate(happening)
    elif happening == "pause":
        world.annotations = {**world.annotations, "specdeploy.dev/paused": str(number % 2 == 0).lower()}


@pytest.mark.parametrize(("replicas", "drain"), [(2, 10.0), (3, 0.0), (4, 0.0), (4, 60.0), (8, 10.0)])
def test_through_whole_rollouts_at_most_one_pod_is_missing_and_never_one_too_many(
    replicas: int, drain: float
) -> None:
    world = fresh(MTP, EAGLE, DFLASH, replicas=replicas)
    world.engines["mtp"] = SLOW
    world.drain = drain
    world.run(60)

    def whole(now: World) -> None:
        ready = [p for p in now.pods if now.ready(p)]
        here = [p for p in now.pods if p.leaves is None]
        assert replicas - 1 <= len(ready)
        assert len(here) <= replicas
        trial = now.typed.trial
        on_trial = trial.template if trial and trial.state not in ("Promoting", "RollingBack") else None
        assert any(p.template != on_trial for p in ready)

    world.watch = whole
    world.run(4000, World.idle)
    # With two replicas there is no room for a trial beside a serving drafter and its baseline.
    assert world.serving() == ("dflash" if replicas > 2 else "eagle")
    world.change(drafters=[]).run(20).settle()
    assert world.replicas() == {"baseline": replicas}
