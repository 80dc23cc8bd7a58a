"""Every condition with every reason it can have, each one reached by a world."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from specdeploy.api.reasons import Condition as Kind
from specdeploy.rollout import Exit, advance
from tests.rollout.scenes import DFLASH, EAGLE, MTP, fresh, on_trial, served
from tests.rollout.world import Engine, World

R, A, P, T, M = Kind.READY, Kind.AVAILABLE, Kind.PROGRESSING, Kind.TRIALING, Kind.METRICS_AVAILABLE


def taken() -> World:
    world = served()
    world.taken = ("Service gemma belongs to Deployment web and is not taken over; delete it",)
    return world.run(20)


def outdated() -> World:
    world = served().change(drafters=[DFLASH, EAGLE])
    world.crd_outdated = "the CRD in the cluster has schema version 1"
    return world.run(20)


def failing() -> World:
    world = served()
    world.engines["dflash"] = Engine(crash=Exit(1, "Error", "ValueError: gone"))
    return world.run(20)


def unplaced() -> World:
    world = fresh()
    world.gpus = 1
    return world.run(60)


QUOTA = 'pods "gemma" is forbidden: exceeded quota: gpus'


def forbidden() -> World:
    world = fresh()
    world.quota = {"baseline": QUOTA}
    return world.run(60)


def stuck_promotion(**trouble: str) -> World:
    """A promotion whose next pod does not come, as the trouble says."""
    world = on_trial("Promoting")
    if "quota" in trouble:
        world.quota = {"eagle": trouble["quota"]}
    else:
        world.gpus = 3
    return world.run(100)


def unready() -> World:
    world = served()
    seen = world.observe()
    pods = tuple(replace(p, ready=False, started=True) for p in seen.pods)
    world.status = advance(replace(seen, pods=pods), world.typed).status.wire()
    return world


def refused() -> World:
    world = served()
    serving = world.typed.serving
    assert serving is not None
    world.refused = {serving.template: "spec.template: Invalid value"}
    return world.run(10)


def unscraped() -> World:
    world = served()
    world.unreadable = {"gemma-dflash-p1": "timed out after 3 s"}
    return world.run(20)


def rolling() -> World:
    return served().change(drafters=[]).run(20)


def lost() -> World:
    world = on_trial("Starting")
    world.gpus = 3
    return world.run(300)


def no_slot() -> World:
    world = fresh()
    world.slot_free = False
    return world.run(60)


@pytest.mark.parametrize(
    ("make", "kind", "status", "reason", "words"),
    [
        (served, R, "True", "Serving", "4 of 4 pods are ready"),
        (lambda: on_trial("Measuring"), R, "True", "Serving", "pods are ready"),
        (lambda: served().change(replicas=0).run(30), R, "True", "ScaledToZero", "replicas is 0"),
        (lambda: fresh().run(10), R, "False", "Starting", "0 of 4 pods are ready; engines load"),
        (unready, R, "False", "TooFewReady", "pods that were ready are not"),
        (failing, R, "False", "EngineFailing", '"ValueError: gone"'),
        (unplaced, R, "False", "Unschedulable", "Insufficient amd.com/gpu"),
        (forbidden, R, "False", "PodsRefused", QUOTA),
        (forbidden, A, "False", "PodsRefused", QUOTA),
        (lambda: served().change(engine={"args": ["--port=1"]}).run(10), R, "False", "InvalidSpec", "--port"),
        (lambda: served().change(engine=7).run(10), R, "False", "InvalidSpec", "spec.engine"),
        (refused, R, "False", "InvalidSpec", "the API server refused a Deployment"),
        (taken, R, "False", "NameTaken", "belongs to Deployment web"),
        (outdated, R, "False", "CRDOutdated", "schema version"),
        (served, A, "True", "Serving", "4 pods answer"),
        (lambda: served().change(replicas=0).run(30), A, "False", "ScaledToZero", "replicas is 0"),
        (lambda: fresh().run(10), A, "False", "Starting", "no pod answers"),
        (lost, A, "False", "CapacityLost", "given back after a trial"),
        (served, P, "False", "Settled", "every pod"),
        (rolling, P, "True", "Rolling", "baseline serves"),
        (lambda: stuck_promotion(quota=QUOTA), P, "True", "Rolling", QUOTA),
        (stuck_promotion, P, "True", "Rolling", "finds no node: 0/1 nodes: Insufficient amd.com/gpu"),
        (lambda: on_trial("Starting"), T, "True", "Starting", "eagle, attempt 1"),
        (lambda: on_trial("WarmingUp"), T, "True", "WarmingUp", "eagle"),
        (lambda: on_trial("Measuring"), T, "True", "Measuring", "eagle"),
        (lambda: on_trial("Promoting"), T, "True", "Promoting", "eagle"),
        (no_slot, T, "True", "WaitingForSlot", "TooManyTrials"),
        (lambda: fresh(replicas=1).run(60), T, "True", "WaitingForCapacity", "TooFewReplicas"),
        (served, T, "False", "NoCandidate", "every listed drafter has its verdict"),
        (lost, T, "False", "NoCandidate", "eagle is tried again at 2027-"),
        (lambda: served().change(drafters=[]).run(60), T, "False", "NoDrafters", "lists none"),
        (lambda: fresh(paused=True).run(60), T, "False", "Paused", "paused"),
        (lambda: fresh().run(10), T, "False", "NotReady", "waiting until what serves is ready"),
        (taken, T, "False", "NameTaken", "belongs to Deployment web"),
        (outdated, T, "False", "CRDOutdated", "schema version"),
        (lambda: served().change(engine=7).run(10), T, "False", "InvalidSpec", "the spec is invalid"),
        (served, M, "True", "Readable", "counters"),
        (lambda: fresh().run(10), M, "Unknown", "NotYetRead", "no window"),
        (unscraped, M, "False", "ScrapeFailed", "timed out after 3 s"),
    ],
)
def test_a_condition_and_its_reason(
    make: Callable[[], World], kind: Kind, status: str, reason: str, words: str
) -> None:
    found = make().condition(kind)
    assert (found.status, found.reason) == (status, reason)
    assert words in found.message


def test_conditions_come_in_their_order_with_the_generation_they_were_observed_for() -> None:
    world = served().change(drafters=[]).run(10)
    assert [c.type for c in world.typed.conditions or []] == [kind.value for kind in Kind]
    assert {c.observed_generation for c in world.typed.conditions or []} == {2}


def test_a_transition_time_moves_with_its_status_only() -> None:
    world = fresh().run(10)
    before = world.condition(Kind.READY)
    world.run(10)
    assert world.condition(Kind.READY).last_transition_time == before.last_transition_time
    world.run(100)
    assert world.condition(Kind.READY).last_transition_time > before.last_transition_time


def test_pods_that_fell_are_missed_however_many_a_trial_may_borrow() -> None:
    world = fresh(DFLASH, replicas=8, trial={"replicas": 3}).settle()
    seen = world.observe()
    fallen = [replace(p, ready=False, started=True) for p in seen.pods[:2]]
    for pods, status in (((*fallen, *seen.pods[2:]), "False"), ((fallen[0], *seen.pods[1:]), "True")):
        ready = advance(replace(seen, pods=pods), world.typed).status.condition(Kind.READY)
        assert ready is not None
        assert ready.status == status


@pytest.mark.parametrize("borrowed", [1, 2, 3])
def test_ready_does_not_depend_on_a_trial_at_any_moment_of_a_rollout(borrowed: int) -> None:
    world = fresh(EAGLE, DFLASH, MTP, replicas=8, trial={"replicas": borrowed}).run(40)
    world.engines["mtp"] = Engine(speed=0.4)
    reasons = set()
    for _ in range(450):
        world.step()
        reasons.add(world.reason(Kind.READY))
    assert reasons == {"Serving"}
    assert len(world.verdicts()) == 3


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (served, "dflash serves at 1.8"),
        (lambda: fresh().run(10), "Starting: 0 of 4 pods are ready; engines load. The baseline serves."),
        (lambda: on_trial("Starting"), "eagle is given a borrowed pod; its engine starts."),
        (lambda: on_trial("WarmingUp"), "its speed counts from 2027-01-15T08:"),
        (lambda: on_trial("Measuring").run(150), "promoted from window 30 on if proven, undecided after "),
        (
            lambda: on_trial("Promoting"),
            "takes over in steps: 2 of 3 serving pods now; they move one by one.",
        ),
        (
            lambda: stuck_promotion(quota=QUOTA),
            "they move one by one. Held up: pods of Deployment gemma-eagle-",
        ),
        (stuck_promotion, "they move one by one. Held up: pod gemma-eagle-"),
        (lost, "No trial: eagle is tried again at 2027-01-15T08:"),
        (lambda: fresh(replicas=1).run(60), "a trial needs 2 replicas (there are 1); scale up."),
        (lambda: served().change(engine=7).run(10), "InvalidSpec: spec.engine"),
    ],
)
def test_the_sentence_says_what_is_going_on(make: Callable[[], World], words: str) -> None:
    assert words in str(make().typed.message)
