"""What engines tell of themselves once: their answers, from their logs, and their version."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from specdeploy.answers import MOST_TRIES
from specdeploy.cluster import (
    SPEC_DEPLOYMENTS,
    ClusterError,
    Forbidden,
    Kind,
    NotFound,
    Refused,
    Unavailable,
)
from tests.shell.stage import ANSWERS, Stage, spec

WRONG = {name: text if name == "count" else "something else" for name, text in ANSWERS.items()}
OWN_IMAGE = {"image": "registry.example/team/engine:v7"}


def refusing(error: type[ClusterError]) -> Callable[[str, Kind, str], ClusterError | None]:
    return lambda verb, kind, name: error("pods/log is forbidden") if verb == "log" else None


async def test_a_drafter_that_answers_otherwise_is_guarded_before_a_window() -> None:
    stage = Stage(spec("dflash"), {"dflash": 1.8})
    stage.answers["dflash"] = WRONG
    await stage.run(60, Stage.settled)
    [verdict] = stage.status.verdicts or []
    assert (verdict.outcome, verdict.reason, verdict.windows or 0) == ("Guarded", "OutputAgreement", 0)
    assert verdict.message is not None
    assert "6 of 7 fixed prompts" in verdict.message
    assert stage.serving() == "baseline"


async def test_an_idle_object_reads_one_log_and_no_more_after_a_restart() -> None:
    stage = await Stage(spec()).run(20)
    assert len(stage.cluster.logs_read) == 1
    stage.restart()
    await stage.run(20)
    assert len(stage.cluster.logs_read) == 1


async def test_each_engine_of_a_trial_is_asked_about_once() -> None:
    stage = await Stage(spec("dflash"), {"dflash": 1.8}).run(40, Stage.measuring)
    await stage.run(10)
    read = stage.cluster.logs_read
    assert len(read) == len(set(read)) == 4


async def test_a_restarted_operator_finds_a_different_answer_in_a_log_that_it_had_not_read() -> None:
    stage = Stage(spec("dflash"), {"dflash": 1.8})
    stage.answers["dflash"] = WRONG
    stage.cluster.fault = refusing(Forbidden)
    await stage.run(40, Stage.measuring)
    stage.cluster.fault = lambda verb, kind, name: None
    stage.restart()
    await stage.run(10)
    assert stage.verdicts() == {"dflash": "Guarded"}


async def test_a_log_that_has_begun_anew_is_no_evidence() -> None:
    stage = Stage(spec("dflash"), {"dflash": 1.8})
    stage.answers = {"baseline": None, "dflash": WRONG}
    await stage.run(40, Stage.measuring)
    await stage.run(20)
    assert stage.status.verdicts is None
    assert stage.status.trial is not None
    assert "outputs were not compared" in (stage.status.message or "")
    await stage.run(200, Stage.settled)
    assert stage.verdicts() == {"dflash": "Promoted"}


async def test_without_the_right_to_read_logs_the_guard_is_unseen_and_that_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = Stage(spec("dflash"), {"dflash": 1.8})
    stage.answers["dflash"] = WRONG
    stage.cluster.fault = refusing(Forbidden)
    with caplog.at_level(logging.WARNING):
        await stage.run(40, Stage.measuring)
        await stage.run(20)
    said = [r.getMessage() for r in caplog.records if "logs of pods can't be read" in r.getMessage()]
    assert len(said) == 1
    assert "the operator may not read logs (pods/log)" in (stage.status.message or "")
    await stage.run(200, Stage.settled)
    assert stage.verdicts() == {"dflash": "Promoted"}


@pytest.mark.parametrize(
    ("error", "tries"), [(Unavailable, MOST_TRIES), (NotFound, MOST_TRIES), (Refused, 1), (Forbidden, 1)]
)
async def test_a_log_that_cannot_be_read_is_not_asked_for_for_ever(
    error: type[ClusterError], tries: int
) -> None:
    stage = Stage(spec(replicas=1))
    stage.cluster.fault = refusing(error)
    await stage.run(30)
    assert len(stage.cluster.logs_read) == tries
    assert stage.condition("Ready")[0] == "True"


async def test_a_log_that_could_not_be_read_at_first_is_read_later() -> None:
    stage = Stage(spec())
    stage.cluster.fault = refusing(Unavailable)
    await stage.run(40, lambda s: bool(s.cluster.logs_read))
    stage.cluster.fault = lambda verb, kind, name: None
    await stage.run(4)
    assert stage.status.baseline is not None
    assert stage.status.baseline.answers


def engine_status(stage: Stage) -> dict[str, Any]:
    return stage.status.engine.wire() if stage.status.engine else {}


async def test_where_nothing_else_tells_the_version_one_engine_is_asked_once() -> None:
    stage = await Stage(spec(engine=OWN_IMAGE)).run(20)
    assert engine_status(stage) == {**OWN_IMAGE, "vllmVersion": "0.33.0"}
    stage.restart()
    await stage.run(20)
    assert stage.versions == ["0.33.0"]


@pytest.mark.parametrize("engine", [{}, {**OWN_IMAGE, "vllmVersion": "0.31.0"}])
async def test_no_engine_is_asked_where_the_spec_or_the_tag_tells_the_version(engine: dict[str, Any]) -> None:
    stage = await Stage(spec(engine=engine)).run(20)
    assert stage.versions == []
    assert "vllmVersion" not in engine_status(stage)


async def test_an_engine_that_does_not_tell_its_version_is_not_asked_for_ever() -> None:
    stage = Stage(spec(replicas=1, engine=OWN_IMAGE), version=None)
    await stage.run(30)
    assert stage.versions == [None] * 3
    assert stage.condition("Ready")[0] == "True"


async def test_a_version_belongs_to_its_image_and_the_next_ones_engine_is_asked_anew() -> None:
    stage = await Stage(spec(engine=OWN_IMAGE)).run(20)
    stage.version = "0.34.0"
    other = {"image": "registry.example/team/engine:v8"}
    stage.cluster.edit(SPEC_DEPLOYMENTS, "gemma", {"spec": {"engine": other}})
    await stage.step()
    assert engine_status(stage) == other
    await stage.run(60)
    assert engine_status(stage) == {**other, "vllmVersion": "0.34.0"}


async def test_a_drafter_that_this_version_cannot_run_is_found_before_a_gpu_is_taken() -> None:
    stage = Stage(spec("dflash", engine=OWN_IMAGE), {"dflash": 1.8}, version="0.19.0")
    body = stage.cluster.sd()["spec"]["drafters"]
    body[0]["method"] = "dspark"
    stage.cluster.edit(SPEC_DEPLOYMENTS, "gemma", {"spec": {"drafters": body}})
    await stage.run(40)
    assert stage.verdicts() == {"dflash": "Invalid"}
    assert "TrialStarted" not in stage.reasons()
