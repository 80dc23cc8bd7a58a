"""Whole rollouts through the real reconciler, killed and disturbed on the way."""

import pytest

from specdeploy.cluster import BUDGETS, DEPLOYMENTS, EVENTS, PODS, SERVICES, Conflict, Kind, Unavailable
from specdeploy.cluster import SPEC_DEPLOYMENTS as SPEC
from tests.fake_cluster import Killed
from tests.shell.stage import KEY, START, Stage, exported, spec

STEPS = 150


def a_fast_one() -> Stage:
    return Stage(spec("dflash"), {"dflash": 1.8})


def a_disaster() -> Stage:
    return Stage(spec("dflash"), {"dflash": 0.3})


def outcome(stage: Stage) -> tuple[object, ...]:
    return stage.verdicts(), stage.serving(), stage.replicas(), stage.status.trial


async def test_one_that_wins_is_promoted_and_one_that_is_a_disaster_is_taken_away() -> None:
    stage = Stage(spec("fast", "bad"), {"fast": 1.8, "bad": 0.3})
    await stage.run(STEPS, lambda s: s.settled() and len(s.verdicts()) == 2)
    await stage.run(10)
    assert stage.verdicts() == {"fast": "Promoted", "bad": "Disaster"}
    assert stage.serving() == "fast"
    assert stage.replicas() == {"baseline": 1, "fast": 3}
    assert stage.condition("Ready")[:2] == ("True", "Serving")
    assert stage.reasons() == [
        "NowServing", "TrialStarted", "TrialReady", "Promoted", "PromotionStep", "PromotionComplete",
        "TrialStarted", "TrialReady", "Disaster",
    ]  # fmt: skip
    ratio = next(v.ratio for v in stage.status.verdicts or [] if v.drafter == "fast")
    assert ratio is not None
    assert 1.7 < float(ratio) < 1.9


async def test_a_settled_object_costs_no_write_however_often_it_is_looked_at() -> None:
    stage = await a_fast_one().run(STEPS, Stage.settled)
    await stage.run(5)
    stage.cluster.writes.clear()
    await stage.run(100)
    stage.restart()
    await stage.run(100)
    assert stage.cluster.writes == []
    assert stage.now > START + 1000


async def test_pods_never_number_more_than_replicas() -> None:
    stage = a_fast_one()
    for _ in range(STEPS):
        await stage.step()
        assert sum(d["spec"]["replicas"] for d in stage.cluster.of(DEPLOYMENTS)) <= 4


async def told_writes(stage: Stage) -> list[tuple[str, str, str]]:
    await stage.run(STEPS, Stage.settled, seconds=10.0)
    return stage.cluster.writes


@pytest.mark.parametrize("make", [a_fast_one, a_disaster])
async def test_killed_at_any_write_it_goes_on_with_the_same_trial_and_comes_to_the_same_end(make) -> None:  # type: ignore[no-untyped-def]
    wanted = make()
    writes = await told_writes(wanted)
    for number in interesting(writes):
        stage = make()
        stage.cluster.crash_after = number
        with pytest.raises(Killed):
            await stage.run(STEPS, seconds=10.0)
        before = stage.status.trial
        stage.restart()
        await stage.look()
        after = stage.status.trial
        if before is not None and before.evidence is not None and after is not None:
            assert (after.revision, after.attempt, after.start_time) == (
                before.revision, before.attempt, before.start_time,
            )  # fmt: skip
            assert after.windows >= before.windows
        await stage.run(STEPS, Stage.settled, seconds=10.0)
        assert outcome(stage) == outcome(wanted), f"killed before write {number}: {writes[number]}"
        verdict = (stage.status.verdicts or [])[0]
        assert verdict.attempt == 1


def interesting(writes: list[tuple[str, str, str]]) -> list[int]:
    """Every write but the third and further status writes in a row: those are one window each, all alike."""
    verbs = ["", "", *(verb for verb, _, _ in writes)]
    return [n for n in range(len(writes)) if verbs[n : n + 3] != ["status"] * 3]


async def test_a_conflict_on_every_window_of_a_trial_loses_none_of_them() -> None:
    """Somebody else writes the object just before each of our status writes: the same window is judged in
    the next pass."""
    calm, disturbed = a_fast_one(), a_fast_one()
    turns = {"n": 0}

    def disturb(verb: str, kind: Kind, name: str) -> Conflict | None:
        turns["n"] += verb == "status"
        return Conflict("the object has been modified") if verb == "status" and turns["n"] % 2 else None

    disturbed.cluster.fault = disturb
    for stage in (calm, disturbed):
        await stage.run(40, Stage.measuring)
        await stage.run(16)
    assert turns["n"] > 10
    assert calm.status.trial is not None
    assert disturbed.status.trial is not None
    assert disturbed.status.trial.evidence == calm.status.trial.evidence
    assert disturbed.status.trial.skipped == calm.status.trial.skipped


async def test_a_status_write_whose_answer_is_lost_counts_its_window_once() -> None:
    calm, disturbed = a_fast_one(), a_fast_one()
    await calm.run(40, Stage.measuring)
    await disturbed.run(40, Stage.measuring)
    real = disturbed.cluster.replace_status

    async def answer_is_lost(*args: object) -> object:
        await real(*args)  # type: ignore[arg-type]
        raise Conflict("the network broke after the write")

    disturbed.cluster.replace_status = answer_is_lost  # type: ignore[method-assign, assignment]
    for stage in (calm, disturbed):
        await stage.run(8)
    assert calm.status.trial is not None
    assert disturbed.status.trial is not None
    assert disturbed.status.trial.evidence == calm.status.trial.evidence


async def test_a_decision_is_told_although_its_children_could_not_be_written() -> None:
    stage = a_fast_one()

    def no_service(verb: str, kind: Kind, name: str) -> Unavailable | None:
        return Unavailable("no") if (verb, kind) == ("apply", SERVICES) else None

    stage.cluster.fault = no_service
    await stage.look()
    assert stage.reasons() == ["NowServing"]


async def test_an_event_that_cannot_be_posted_stops_nothing() -> None:
    stage = a_fast_one()
    stage.cluster.fault = lambda verb, kind, name: Unavailable("no") if kind is EVENTS else None
    await stage.run(STEPS, Stage.settled)
    assert stage.verdicts() == {"dflash": "Promoted"}


async def test_a_pod_deleted_by_hand_is_replaced_and_the_trial_keeps_its_evidence() -> None:
    stage = await a_fast_one().run(40, Stage.measuring)
    before = stage.status.trial
    assert before is not None
    for name in ("dflash", "baseline"):
        stage.cluster.remove(PODS, stage.pods_of(name)[0]["metadata"]["name"])
        await stage.run(2)
        after = stage.status.trial
        assert after is not None
        assert (after.start_time, after.attempt) == (before.start_time, 1)
        assert after.windows >= before.windows
    await stage.run(STEPS, Stage.settled)
    assert stage.verdicts() == {"dflash": "Promoted"}


@pytest.mark.parametrize(
    ("replicas", "pods", "reason"),
    [(0, {}, "ScaledToZero"), (1, {"baseline": 1}, "Serving"), (2, None, "Serving")],
)
async def test_scaled_by_hand_in_a_trial_and_back_nothing_is_lost(
    replicas: int, pods: dict[str, int] | None, reason: str
) -> None:
    stage = await a_fast_one().run(40, Stage.measuring)
    stage.cluster.edit(SPEC, "gemma", {"spec": {"replicas": replicas}})
    await stage.run(12)
    assert sum(stage.replicas().values()) == replicas
    assert pods is None or stage.replicas() == pods
    assert stage.condition("Ready")[:2] == ("True", reason)
    stage.cluster.edit(SPEC, "gemma", {"spec": {"replicas": 4}})
    await stage.run(STEPS, lambda s: s.serving() == "dflash" and s.settled())
    assert stage.verdicts() == {"dflash": "Promoted"}
    assert stage.replicas() == {"baseline": 1, "dflash": 3}


async def test_an_object_that_is_deleted_is_forgotten_and_its_namesake_starts_anew() -> None:
    stage = await a_fast_one().run(40, Stage.measuring)
    assert len(stage.slots) == 1
    stage.cluster.remove(SPEC, "gemma")
    assert await stage.look() is None
    assert len(stage.slots) == 0
    assert b"gemma" not in exported(stage)
    for kind in (DEPLOYMENTS, PODS):
        for child in stage.cluster.of(kind):
            stage.cluster.remove(kind, child["metadata"]["name"])
    stage.cluster.remove(SERVICES, "gemma")
    stage.cluster.remove(BUDGETS, "gemma")
    stage.cluster.put(SPEC, "default", {"metadata": {"name": "gemma"}, "spec": stage.spec})
    await stage.run(STEPS, Stage.settled)
    assert stage.verdicts() == {"dflash": "Promoted"}


async def test_an_object_that_is_being_deleted_is_left_alone() -> None:
    stage = await a_fast_one().run(3)
    stage.cluster.edit(SPEC, "gemma", {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
    stage.cluster.writes.clear()
    assert await stage.look() is None
    assert stage.cluster.writes == []


async def test_a_name_that_never_was_is_no_error() -> None:
    stage = a_fast_one()
    assert await stage.look(("default", "nobody")) is None
    assert await stage.look(KEY) is not None
