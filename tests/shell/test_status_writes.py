"""The status: written when it changes, never in a loop, whatever the cluster does with it."""

import json
from typing import Any

import pytest

from specdeploy.cluster import BUDGETS, DEPLOYMENTS
from specdeploy.cluster import SPEC_DEPLOYMENTS as SPEC
from specdeploy.storing import RETRY_SECONDS, dropped
from tests.shell.stage import Stage, spec

OLD = "the CRD in the cluster has schema version 0, this operator needs 1"
CUTS = [
    {"message"},
    {"serving"},
    {"serving.since"},
    {"baseline"},
    {"baseline.trials"},
    {"engine"},
    {"engine.image"},
    {"capacity"},
    {"conditions"},
    {"conditions[].lastTransitionTime"},
    {"conditions[].observedGeneration"},
    {"observedGeneration", "selector", "replicas"},
    {"serving", "baseline", "trial", "engine", "verdicts"},
]


def status_writes(stage: Stage) -> int:
    return sum(verb == "status" for verb, _, _ in stage.cluster.writes)


def statuses(stage: Stage, kind: str) -> tuple[str, str]:
    return stage.condition(kind)[:2]


@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: " ".join(sorted(cut)))
async def test_a_crd_that_cuts_the_status_is_told_and_never_written_to_in_a_loop(cut: set[str]) -> None:
    stage = Stage(spec("dflash"), {"dflash": 1.8})
    stage.cluster.prune = frozenset(cut)
    await stage.run(12)
    before, now = status_writes(stage), stage.now
    events = len(stage.reasons())
    assert before < 16
    await stage.run(50)
    assert stage.now - now < RETRY_SECONDS
    assert status_writes(stage) <= before + 1
    assert len(stage.reasons()) <= events + 1
    assert stage.status.trial is None
    if not cut & {"conditions", "conditions[].lastTransitionTime"}:
        assert statuses(stage, "Ready") == ("False", "CRDOutdated")
        assert f"status.{min(cut)}" in stage.condition("Ready")[2]


async def test_with_a_crd_that_forgets_what_serves_the_engines_that_run_are_left_alone() -> None:
    stage = await Stage(spec("dflash"), {"dflash": 1.8}).run(150, Stage.settled)
    pods, budget = stage.replicas(), stage.cluster.one(BUDGETS, "gemma")["spec"]
    stage.cluster.prune = frozenset({"serving", "verdicts"})
    stage.cluster.edit(
        SPEC, "gemma", {"spec": {"paused": True}, "status": {"serving": None, "verdicts": None}}
    )
    stage.restart()
    await stage.run(20)
    assert stage.replicas() == pods
    assert stage.cluster.one(BUDGETS, "gemma")["spec"] == budget


async def test_when_the_crd_is_upgraded_the_operator_finds_out_by_itself() -> None:
    stage = Stage(spec("dflash"), {"dflash": 1.8})
    stage.cluster.prune = frozenset({"serving.since"})
    await stage.run(20)
    assert statuses(stage, "Ready") == ("False", "CRDOutdated")
    stage.cluster.prune = frozenset()
    stage.now += RETRY_SECONDS
    await stage.run(6)
    assert statuses(stage, "Ready") == ("True", "Serving")
    await stage.run(150, Stage.settled)
    assert stage.verdicts() == {"dflash": "Promoted"}


async def test_a_crd_of_an_older_schema_starts_no_trial_and_serving_goes_on() -> None:
    stage = Stage(spec("dflash"), {"dflash": 1.8}, crd_outdated=OLD)
    await stage.run(40)
    assert stage.condition("Ready") == ("False", "CRDOutdated", OLD)
    assert stage.replicas() == {"baseline": 4}
    stage.cluster.edit(SPEC, "gemma", {"spec": {"replicas": 2}})
    await stage.run(5)
    assert stage.replicas() == {"baseline": 2}
    stage.cluster.writes.clear()
    await stage.run(20)
    assert stage.cluster.writes == []


@pytest.mark.parametrize(
    "broken",
    [
        {"trial": {"drafter": 7}},
        {"trial": "nonsense"},
        {"serving": []},
        {"verdicts": {"not": "a list"}},
        {"conditions": [{"type": "Ready"}]},
        {"requests": "x", "capacity": None, "replicas": "many"},
        {"baseline": {"revision": "x"}},
        {"engine": {"image": 3}},
    ],
    ids=json.dumps,
)
async def test_a_malformed_status_is_told_once_and_built_anew(broken: dict[str, Any]) -> None:
    stage = await Stage(spec("dflash", paused=True)).run(8)
    stage.cluster.sd()["status"].update(broken)
    await stage.run(10)
    parts = [part for part in broken if broken[part] is not None]
    assert stage.reasons().count("StatusMalformed") == len(parts)
    assert statuses(stage, "Ready") == ("True", "Serving")
    assert stage.serving() == "baseline"
    stage.cluster.writes.clear()
    await stage.run(10)
    assert stage.cluster.writes == []


async def test_a_status_that_is_no_object_at_all_is_survived() -> None:
    stage = Stage(spec())
    stage.cluster.sd()["status"] = "broken"
    await stage.run(8)
    assert statuses(stage, "Ready") == ("True", "Serving")


async def test_evidence_that_cannot_be_read_is_told_and_its_trial_measured_anew() -> None:
    stage = await Stage(spec("dflash"), {"dflash": 1.8}).run(40, Stage.measuring)
    stage.cluster.sd()["status"]["trial"]["evidence"] = "v99:unknown"
    await stage.run(150, Stage.settled)
    assert "EvidenceLost" in stage.reasons()
    assert stage.verdicts() == {"dflash": "Promoted"}


async def test_fields_of_a_newer_schema_survive_in_the_spec_and_harm_nothing() -> None:
    stage = Stage(spec(newThing={"a": 1}))
    stage.cluster.sd()["status"] = {"newMemory": {"b": 2}, "serving": None}
    await stage.run(8)
    assert stage.cluster.sd()["spec"]["newThing"] == {"a": 1}
    assert statuses(stage, "Ready") == ("True", "Serving")
    stage.cluster.writes.clear()
    await stage.run(5)
    assert stage.cluster.writes == []


@pytest.mark.parametrize(
    ("sent", "kept", "lost"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {}}, ["status.b.c"]),
        ({"a": {"b": 1}}, {}, ["status.a"]),
        ({"a": [{"b": 1, "c": 2}, {"b": 3}]}, {"a": [{"b": 1}, {"b": 3}]}, ["status.a[].c"]),
        ({"a": []}, {"a": []}, []),
        ({"a": 1}, {"a": 2, "b": 3}, []),
    ],
)
def test_what_was_dropped_is_named_by_its_path(sent: Any, kept: Any, lost: list[str]) -> None:
    assert list(dropped(sent, kept)) == lost


async def test_an_invalid_spec_serves_on_honours_replicas_and_settles() -> None:
    stage = await Stage(spec("dflash", paused=True)).run(8)
    [before] = stage.cluster.of(DEPLOYMENTS)
    stage.cluster.edit(SPEC, "gemma", {"spec": {"engine": {"args": ["--port=1"]}, "replicas": 2}})
    await stage.run(8)
    assert statuses(stage, "Ready") == ("False", "InvalidSpec")
    assert stage.replicas() == {"baseline": 2}
    [after] = stage.cluster.of(DEPLOYMENTS)
    assert after["spec"]["template"] == before["spec"]["template"]
    stage.cluster.writes.clear()
    await stage.run(10)
    assert stage.cluster.writes == []


@pytest.mark.parametrize("body", [None, [], "x", {}, {"model": 7}, {"model": "m", "drafters": "x"}])
async def test_a_spec_that_is_nonsense_is_told_and_crashes_nothing(body: Any) -> None:
    stage = Stage(spec())
    stage.cluster.sd()["spec"] = body
    await stage.run(4)
    assert statuses(stage, "Ready")[0] == "False"
