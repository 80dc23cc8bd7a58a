"""How many trials run at once in the cluster."""

import asyncio

import pytest

from specdeploy.api.reasons import TrialState
from specdeploy.api.status import Serving, Status, TrialStatus
from specdeploy.cluster import SPEC_DEPLOYMENTS as SPEC
from specdeploy.cluster import Conflict, Kind, Object
from specdeploy.slots import TrialSlots, holds_pod
from tests.shell.stage import KEY, Stage, spec

A, B = ("ns", "a"), ("ns", "b")
OTHER = ("default", "llama")
MOMENT = "2026-01-01T00:00:00Z"


def in_state(state: TrialState, fallback: Serving | None = None) -> Status:
    trial = TrialStatus(
        drafter="d",
        revision="r",
        template="t",
        attempt=1,
        state=state,
        start_time=MOMENT,
        state_time=MOMENT,
        fallback=fallback,
    )
    return Status(trial=trial)


BORROWING = {TrialState.STARTING, TrialState.WARMING_UP, TrialState.MEASURING, TrialState.ROLLING_BACK}


@pytest.mark.parametrize("state", list(TrialState))
def test_a_trial_holds_a_slot_as_long_as_it_borrows_a_pod(state: TrialState) -> None:
    assert holds_pod(in_state(state)) is (state in BORROWING)


def test_a_promotion_that_is_reversed_holds_no_slot() -> None:
    before = Serving(name="baseline", revision="r0", template="t0", since=MOMENT)
    assert not holds_pod(in_state(TrialState.ROLLING_BACK, fallback=before))


def test_after_a_restart_every_trial_that_borrows_a_pod_has_its_slot_again() -> None:
    slots = TrialSlots(2)
    objects: list[Object] = [
        {"metadata": {"namespace": "ns", "name": state}, "status": in_state(state).wire()}
        for state in TrialState
    ]
    slots.prime([*objects, {"metadata": {"namespace": "ns", "name": "new"}}])
    assert len(slots) == len(BORROWING)  # none is taken away from what runs already
    assert not slots.free(("ns", "new"))


def test_the_last_slot_is_taken_once() -> None:
    slots = TrialSlots(1)
    assert slots.free(A)
    assert slots.free(B)
    assert slots.take(A)
    assert slots.take(A)
    assert not slots.take(B)
    slots.note(A, holds=False)
    assert slots.take(B)


async def test_two_passes_at_once_never_start_more_trials_than_allowed() -> None:
    stage = Stage(spec("dflash"), {"dflash": 1.8}, max_trials=1)
    stage.cluster.put(SPEC, "default", {"metadata": {"name": "llama"}, "spec": stage.spec})
    for _ in range(10):
        await asyncio.gather(stage.look(KEY), stage.look(OTHER))
        stage.follow()
        statuses = [Status.model_validate(sd["status"]) for sd in stage.cluster.of(SPEC)]
        assert sum(holds_pod(status) for status in statuses) <= 1
    states = sorted(status.trial.state for status in statuses if status.trial)
    assert states[-1] == TrialState.WAITING_FOR_SLOT


async def test_a_promotion_that_is_stuck_leaves_its_slot_to_the_next_object() -> None:
    stage = Stage(spec("dflash"), {"dflash": 1.8}, max_trials=1)
    await stage.run(100, lambda s: s.serving() == "dflash")
    stage.cluster.put(SPEC, "default", {"metadata": {"name": "llama"}, "spec": stage.spec})
    for _ in range(20):
        await stage.look(OTHER)
        stage.follow()
    promoting, started = (Status.model_validate(sd["status"]).trial for sd in stage.cluster.of(SPEC))
    assert promoting is not None
    assert promoting.state is TrialState.PROMOTING
    assert started is not None
    assert started.state in BORROWING


async def test_a_slot_whose_trial_could_not_be_stored_is_given_back() -> None:
    stage = Stage(spec("dflash"), {"dflash": 1.8}, max_trials=1)
    disturbed = []

    def pause_meanwhile(verb: str, kind: Kind, name: str) -> Conflict | None:
        """A person pauses the object in the moment in which its trial is about to be stored."""
        if verb != "status" or len(stage.slots) == 0 or disturbed:
            return None
        disturbed.append(name)
        stage.cluster.edit(SPEC, name, {"spec": {"paused": True}})
        return Conflict("the object has been modified")

    stage.cluster.fault = pause_meanwhile
    await stage.run(10)
    assert disturbed == ["gemma"]
    assert stage.status.trial is None
    assert len(stage.slots) == 0
