"""The guard of output agreement: a drafter that changes answers is off traffic once its pod is ready."""

from typing import Any

import pytest

from specdeploy.api.reasons import TrialState
from specdeploy.engine.questions import QUESTION_SET, QUESTIONS
from specdeploy.judge.answers import Answers, pack, unpack
from specdeploy.rollout.agreement import to_be_heard
from tests.rollout.scenes import EAGLE, fresh, served
from tests.rollout.world import ANSWERS, Engine, World, corrupted

TWO = corrupted("json", "code")


def trying(answers: Answers | None, **guard: Any) -> World:
    """`eagle` is about to be tried, and answers like this; the rest of guards.outputAgreement."""
    more = {"guards": {"outputAgreement": guard}} if guard else {}
    world = fresh(**more)
    world.engines["eagle"].answers = answers
    return world


def stored(world: World) -> Answers:
    arm = world.typed.baseline
    return unpack(arm.answers if arm else None, QUESTION_SET)


def remember(world: World, answers: str | None) -> None:
    """Somebody has stored other answers of the baseline, or none."""
    world.status = {**world.status, "baseline": {**world.status["baseline"], "answers": answers}}


@pytest.mark.parametrize(
    ("answers", "guard", "outcome"),
    [
        (ANSWERS, {}, "Promoted"),
        (corrupted("json"), {}, "Promoted"),
        (TWO, {}, "Guarded"),
        (TWO, {"allowedPercent": 50}, "Promoted"),
        (corrupted("json"), {"allowedPercent": 0}, "Guarded"),
        (corrupted(*QUESTIONS), {"allowedPercent": 100}, "Promoted"),
        (corrupted(*QUESTIONS), {"enabled": False}, "Promoted"),
        (None, {}, "Promoted"),
        ({"json": TWO["json"]}, {}, "Guarded"),
    ],
)
def test_more_different_answers_than_allowed_end_the_trial(
    answers: Answers | None, guard: dict[str, Any], outcome: str
) -> None:
    world = trying(answers, **guard).settle()
    assert world.verdicts() == {"eagle": outcome}
    assert world.serving() == ("eagle" if outcome == "Promoted" else "baseline")


def test_a_drafter_that_is_allowed_to_be_lossy_may_answer_otherwise() -> None:
    world = trying(TWO).change(drafters=[{**EAGLE, "allowLossy": True}])
    assert world.settle().verdicts() == {"eagle": "Promoted"}


def test_the_verdict_has_an_example_and_no_window_was_needed() -> None:
    world = trying(TWO).settle()
    [verdict] = world.typed.verdicts or []
    assert (verdict.reason, verdict.windows or 0, verdict.first_window_time) == ("OutputAgreement", 0, None)
    assert verdict.message is not None
    assert "it answers 2 of 7 fixed prompts otherwise than the baseline (25 % may differ)" in verdict.message
    assert "to 'json' the baseline wrote" in verdict.message
    assert "json-3 json-4" in verdict.message
    assert " ??? json-4" in verdict.message


def test_it_is_over_in_the_pass_that_first_sees_the_pod_ready() -> None:
    world = trying(TWO).settle()
    assert [event for event in world.events if "TrialStarted" in event]
    assert not [event for event in world.events if "TrialReady" in event]


def test_a_drafter_that_serves_is_guarded_no_more() -> None:
    world = served()
    world.engines["dflash"].answers = corrupted(*QUESTIONS)
    world.run(300)
    assert world.serving() == "dflash"


def test_the_baselines_answers_are_kept_and_outlive_its_log() -> None:
    world = trying(TWO, allowedPercent=25)
    world.run(2000, lambda w: w.state == TrialState.STARTING)
    assert stored(world) == ANSWERS
    world.rotated = frozenset(p.uid for p in world.pods if p.drafter == "baseline")
    assert world.settle().verdicts() == {"eagle": "Guarded"}


def test_without_the_baselines_answers_nothing_is_compared_and_that_is_told() -> None:
    world = trying(TWO)
    world.engines["baseline"] = Engine(answers=None)
    world.run(2000, lambda w: w.typed.trial is not None and w.typed.trial.windows >= 6)
    assert "Warning: outputs were not compared: the log of pod" in (world.typed.message or "")
    assert stored(world) == {}
    assert world.settle().verdicts() == {"eagle": "Promoted"}


def test_a_trial_that_was_not_heard_is_told_and_one_that_agrees_is_not() -> None:
    for answers, told in ((None, True), (ANSWERS, False)):
        world = trying(answers)
        world.run(2000, lambda w: w.typed.trial is not None and w.typed.trial.windows >= 6)
        assert ("outputs were not compared" in (world.typed.message or "")) is told


def test_another_engine_forgets_the_old_ones_answers() -> None:
    world = served()
    world.engines["baseline"] = Engine(answers=corrupted("long"))
    world.change(engine={"args": ["--max-num-seqs=64"]}).run(60)
    assert stored(world) in ({}, corrupted("long"))
    world.settle()
    assert stored(world) == corrupted("long")


def test_what_an_edited_deployment_answers_is_not_the_baselines() -> None:
    world = fresh(paused=True)
    world.engines["baseline"] = Engine(answers=None)
    world.run(60)
    world.engines["baseline"].answers = TWO
    world.edit_deployment("baseline")
    world.run(30)
    assert stored(world) == {}


def test_answers_to_other_questions_are_replaced() -> None:
    world = served()
    remember(world, pack(TWO, "older"))
    assert stored(world) == {}
    world.run(30)
    assert stored(world) == ANSWERS


@pytest.mark.parametrize(
    ("state", "enabled", "kept", "heard"),
    [
        ("", True, True, []),
        ("", True, False, ["baseline"]),
        ("", False, False, []),
        ("Measuring", True, True, ["baseline"] * 3 + ["eagle"]),
        ("Measuring", True, False, ["baseline"] * 3 + ["eagle"]),
        ("Measuring", False, True, []),
    ],
)
def test_logs_are_read_only_when_the_answers_matter(
    state: str, enabled: bool, kept: bool, heard: list[str]
) -> None:
    world = fresh(replicas=6, guards={"outputAgreement": {"enabled": enabled}})
    if state:
        world.run(2000, lambda w: w.state == state)
    else:
        world.change(paused=True).run(60)
    if not kept:
        remember(world, None)
    seen = world.peek()
    pods = {p.uid: p.drafter for p in world.pods}
    assert [pods[p.uid] for p in to_be_heard(seen.reading.spec, world.known, seen.pods)] == heard


def test_the_youngest_pods_are_heard_first() -> None:
    world = fresh(replicas=6, paused=True).run(60)
    world.pods[2].created += 5
    remember(world, None)
    seen = world.peek()
    assert [p.uid for p in to_be_heard(seen.reading.spec, world.known, seen.pods)] == [world.pods[2].uid]


def test_pods_that_are_not_ready_or_leave_are_not_heard() -> None:
    world = fresh(replicas=6).run(2000, lambda w: w.state == "Starting")
    world.pods[0].leaves = world.now + 100
    seen = world.peek()
    found = to_be_heard(seen.reading.spec, world.known, seen.pods)
    assert {p.drafter for p in world.pods} >= {"baseline"}
    assert [p.uid for p in found] == [p.uid for p in world.pods[1:4]]
    assert all(p.ready for p in found)
    assert to_be_heard(None, world.known, seen.pods) == ()
