"""What the spec, and hands in the cluster, may change under a rollout; each world ends as it should."""

import ast
from collections.abc import Callable
from typing import Any

import pytest

from specdeploy.api.reasons import Condition as Kind
from specdeploy.api.status import seconds
from specdeploy.engine.revision import RENDER_VERSION
from specdeploy.rollout import Exit, plan
from tests.rollout.scenes import DFLASH, EAGLE, SLOW, fresh, on_trial, served
from tests.rollout.world import Engine, World, drafter

STATES = ("Starting", "WarmingUp", "Measuring", "Promoting")
ENGINE = {"args": ["--max-num-seqs=64"]}
# A drafter whose method this vLLM does not have.
SPARK, OLDER = drafter("dflash", "dspark", 7), {"vllmVersion": "0.20.0"}


def images(world: World) -> set[str]:
    """The revisions that have pods."""
    return {d.revision for d in world.deployments.values() if d.replicas}


def serving_revision(world: World) -> str:
    return world.typed.serving.revision if world.typed.serving else ""


# -- what serves ----------------------------------------------------------------------------------------


def test_a_serving_drafter_taken_out_of_the_spec_makes_way_for_the_baseline_pod_by_pod() -> None:
    world = served().change(drafters=[])
    world.run(20)
    assert world.serving() == "baseline"
    assert world.reason(Kind.PROGRESSING) == "Rolling"
    assert world.settle().replicas() == {"baseline": 4}


def test_a_serving_drafter_taken_out_makes_way_for_the_runner_up() -> None:
    world = fresh(DFLASH, EAGLE)
    world.settle()
    assert world.verdicts() == {"dflash": "Promoted", "eagle": "RunnerUp"}
    world.change(drafters=[EAGLE]).run(20).settle()
    assert world.replicas() == {"baseline": 1, "eagle": 3}


def test_a_drafter_that_comes_back_into_the_spec_is_tried_again() -> None:
    world = served().change(drafters=[])
    world.run(20).settle()
    world.change(drafters=[DFLASH]).run(60).settle()
    assert world.serving() == "dflash"
    assert (world.typed.verdicts or [])[0].attempt == 2


def test_a_runner_up_is_tried_again_when_nothing_better_serves() -> None:
    world = fresh(DFLASH, EAGLE)
    world.settle()
    world.change(drafters=[]).run(20).settle()
    world.change(drafters=[EAGLE]).run(60).settle()
    assert world.serving() == "eagle"


def test_a_renamed_drafter_keeps_its_verdict_and_moves_to_a_new_shape() -> None:
    world = served()
    world.change(drafters=[{**DFLASH, "name": "renamed"}])
    world.run(20).settle()
    assert world.replicas() == {"baseline": 1, "renamed": 3}
    assert sum("TrialStarted" in event for event in world.events) == 1


def test_a_serving_drafter_with_another_n_serves_on_until_the_new_one_has_its_verdict() -> None:
    world = served()
    world.change(drafters=[drafter("dflash", "dflash", 3)]).run(60)
    assert world.serving() == "dflash"
    assert world.typed.trial is not None
    assert world.typed.trial.drafter == "dflash"
    assert world.settle().replicas() == {"baseline": 1, "dflash": 3}
    assert images(world) == {d.revision for d in (world.typed.serving, world.typed.baseline) if d}


def test_a_new_shape_rolls_pod_by_pod_and_keeps_verdicts() -> None:
    world = served()
    before = world.typed.verdicts
    world.change(engine={"podTemplate": {"labels": {"team": "search"}}})
    world.run(20).settle()
    assert world.replicas() == {"baseline": 1, "dflash": 3}
    assert world.typed.verdicts == before
    assert world.typed.trial is None


# -- a change of engine ---------------------------------------------------------------------------------


def test_without_drafters_a_change_of_engine_is_a_plain_roll() -> None:
    world = fresh()
    world.change(drafters=[]).settle()
    before = images(world)
    world.change(engine=ENGINE).run(20).settle()
    assert world.replicas() == {"baseline": 4}
    assert not images(world) & before


def test_where_the_baseline_serves_a_change_of_engine_rolls_it_and_tries_every_drafter_anew() -> None:
    world = fresh(drafter("mtp"))
    world.engines["mtp"] = SLOW
    world.settle()
    assert world.verdicts() == {"mtp": "Disaster"}
    world.change(engine=ENGINE).run(60).settle()
    assert [v.outcome for v in world.typed.verdicts or []] == ["Disaster", "Disaster"]


@pytest.mark.parametrize("replicas", [1, 2])
def test_without_room_to_try_the_serving_drafter_on_the_new_engine_the_spec_wins_at_once(
    replicas: int,
) -> None:
    world = served().change(replicas=replicas)
    world.run(100)
    before = images(world)
    world.change(engine=ENGINE).run(300)
    assert not images(world) & before


def test_the_spec_wins_after_one_deadline_even_while_no_trial_may_start() -> None:
    world = served()
    world.change(paused=True, engine={**ENGINE, "startupSeconds": 600}, trial={"totalDeadlineSeconds": 1200})
    world.tick = 60
    world.run(1700)
    assert world.serving() == "dflash"
    world.run(1200)
    assert world.replicas() == {"baseline": 4}
    assert len(images(world)) == 1


@pytest.mark.parametrize("trouble", ["no-node", "refused", "edited", "no-container"])
def test_what_serves_on_an_old_engine_serves_on_while_its_heir_only_waits_for_another_trial(
    trouble: str,
) -> None:
    """A neighbour took a GPU for two minutes, and a proven drafter went from the whole fleet."""
    world = served()
    old = serving_revision(world)
    world.change(engine={**ENGINE, "startupSeconds": 60})
    world.run(200, lambda w: w.state == "Starting")
    if trouble == "no-node":
        world.gpus = 3
    elif trouble == "refused":
        world.quota = {"dflash": "exceeded quota: gpus"}
    elif trouble == "edited":
        world.run(100, lambda w: w.state == "WarmingUp")
        world.edit_deployment("baseline")
    else:
        world.engines["dflash"] = Engine(speed=1.8, never_created=True)
    world.run(300, lambda w: w.state == "RollingBack")
    outcome = str(next(iter(world.verdicts().values())))
    assert outcome == {"edited": "Aborted", "no-container": "Inconclusive"}.get(trouble, "NoCapacity")
    assert serving_revision(world) == old
    world.gpus, world.quota, world.engines["dflash"] = 1000, {}, Engine(speed=1.8)
    world.run(2000, lambda w: serving_revision(w) != old).settle()
    assert world.replicas() == {"baseline": 1, "dflash": 3}
    assert old not in images(world)
    assert sum("NowServing: baseline" in event for event in world.events) == 1


@pytest.mark.parametrize("every", [300, 900])
def test_edits_of_the_engine_that_follow_each_other_do_not_put_off_the_end_of_the_old_one(every: int) -> None:
    """Edited once a day, a model was served on an old image for ever: each edit began the time anew."""
    world = served()
    old, since = serving_revision(world), world.now
    world.traffic = False  # no heir is ever proven
    for number in range(1, 3600 // every):
        args = [f"--max-num-seqs={number}"]
        world.change(engine={"args": args, "startupSeconds": 600}, trial={"totalDeadlineSeconds": 1200})
        world.run(every, lambda w: serving_revision(w) != old)
    assert world.serving() == "baseline"
    moved = world.typed.serving
    assert moved is not None
    assert 1800 <= seconds(moved.since) - since <= 1830


def test_an_engine_that_was_taken_back_has_all_its_time_when_it_is_left_again() -> None:
    world = served()
    old, trial = serving_revision(world), {"totalDeadlineSeconds": 1200}
    world.traffic = False
    for engine in (
        {**ENGINE, "startupSeconds": 600},
        {"startupSeconds": 600},
        {**ENGINE, "startupSeconds": 600},
    ):
        world.change(engine=engine, trial=trial).run(1000)
    assert serving_revision(world) == old
    assert world.run(900).serving() == "baseline"


def test_a_second_change_of_engine_tries_the_drafter_on_the_last_one() -> None:
    world = served()
    world.change(engine=ENGINE).run(200)
    assert world.state == "Measuring"
    world.change(engine={"args": ["--max-num-seqs=32"]}).run(100)
    assert world.serving() == "dflash"
    world.settle()
    assert world.replicas() == {"baseline": 1, "dflash": 3}
    assert [v.outcome for v in (world.typed.verdicts or [])[:2]] == ["Promoted", "Superseded"]


def test_an_engine_that_is_taken_back_finds_what_served_on_it() -> None:
    world = served()
    before = images(world)
    world.change(engine=ENGINE).run(200)
    world.change(engine={}).run(60).settle()
    assert world.replicas() == {"baseline": 1, "dflash": 3}
    assert images(world) == before


def test_an_engine_that_cannot_run_at_all_takes_no_more_than_one_pod() -> None:
    world = fresh()
    world.change(drafters=[]).settle()
    ready = [d.template for d in world.deployments.values()]
    world.change(engine=ENGINE)
    world.run(10)
    world.engines["baseline"] = Engine(never_ready=False, load=1e9)
    for pod in world.pods:  # those that run go on running
        if pod.template in ready:
            pod.placed = -1e12
    world.run(3700)
    up = [p for p in world.pods if world.ready(p)]
    assert len(up) == 3
    assert "startupSeconds" in world.condition(Kind.PROGRESSING).message


def test_a_serving_drafter_on_an_old_engine_that_crashes_makes_way_at_once() -> None:
    world = served()
    world.change(engine=ENGINE, paused=True).run(60)
    world.engines["dflash"] = Engine(crash=Exit(1, "Error", "ValueError: gone"))
    world.run(200)
    assert world.serving() == "baseline"
    world.run(100)
    assert world.replicas() == {"baseline": 4}


@pytest.mark.parametrize(
    "change", [ENGINE, {"podTemplate": {"labels": {"team": "search"}}}], ids=["engine", "shape"]
)
def test_after_a_reversed_promotion_the_baseline_follows_what_the_spec_became_meanwhile(
    change: dict[str, Any],
) -> None:
    """The baseline of before the promotion served for ever, and edits of the spec did nothing."""
    world = on_trial("Promoting").run(30)
    before = set(world.deployments)
    world.change(engine=change)
    world.engines["eagle"] = Engine(crash=Exit(1, "Error", "ValueError: gone"))
    world.run(20).settle(600)
    assert world.serving() == "baseline"
    assert world.replicas() == {"baseline": 4}
    assert not before & {d.template for d in world.deployments.values() if d.replicas}
    serving, baseline = world.typed.serving, world.typed.baseline
    assert serving is not None
    assert baseline is not None
    assert (serving.revision, serving.template) == (baseline.revision, baseline.template)


# -- another check ---------------------------------------------------------------------------------------


def test_a_check_that_newly_refuses_what_serves_takes_nothing_off_and_is_told_once() -> None:
    """An upgrade of the operator, or a corrected vllmVersion, would have rolled a fleet of proven engines."""
    world = fresh(SPARK).settle()
    pods, verdicts = {p.uid for p in world.pods}, world.typed.verdicts
    world.change(engine=OLDER).run(300)
    assert "dflash serves on although a check refuses it now: spec.drafters[0]" in " ".join(world.events)
    assert sum("ServingInvalid" in event for event in world.events) == 1
    assert ({p.uid for p in world.pods}, world.typed.verdicts) == (pods, verdicts)
    assert world.reason(Kind.READY) == "Serving"
    assert "A check refuses it now: spec.drafters[0]" in str(world.typed.message)
    world.change(engine={**OLDER, "args": ["--max-num-seqs=64"]}).run(300)
    assert world.replicas() == {"baseline": 4}
    assert sum("TrialStarted" in event for event in world.events) == 1


def test_a_finding_that_is_gone_is_told_no_more() -> None:
    world = fresh(SPARK).settle().change(engine=OLDER).run(60)
    world.change(engine={}).run(60)
    assert world.serving() == "dflash"
    assert "A check refuses" not in str(world.typed.message)


# -- replicas -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("replicas", [0, 1, 2, 7])
def test_replicas_may_change_in_every_state_and_back_and_the_drafter_is_proven_in_the_end(
    state: str, replicas: int
) -> None:
    world = on_trial(state).change(replicas=replicas)
    world.run(90)
    assert sum(world.replicas().values()) == replicas
    world.change(replicas=4).run(30).settle()
    assert world.replicas() == {"baseline": 1, "eagle": 3}
    assert world.verdicts() == {"eagle": "Promoted"}


@pytest.mark.parametrize("replicas", [0, 1, 2, 3])
def test_a_serving_drafter_keeps_its_place_through_every_number_of_replicas(replicas: int) -> None:
    world = served().change(replicas=replicas)
    world.run(60)
    assert world.serving() == "dflash"
    assert sum(world.replicas().values()) == replicas
    world.change(replicas=4).run(60)
    assert world.replicas() == {"baseline": 1, "dflash": 3}
    assert world.typed.trial is None


def test_a_trial_that_does_not_fit_beside_its_baseline_waits_and_says_what_it_needs() -> None:
    world = fresh(replicas=3, baseline={"replicas": 3}, trial={"replicas": 3})
    world.run(60)
    assert world.state == "WaitingForCapacity"
    assert "a trial needs 4 replicas (there are 3)" in str(world.typed.message)


def test_a_trial_of_two_pods_begins_when_both_are_ready() -> None:
    world = fresh(DFLASH, trial={"replicas": 2})
    world.run(1000, lambda w: w.state == "WarmingUp")
    assert world.replicas() == {"baseline": 2, "dflash": 2}
    assert world.settle().serving() == "dflash"


# -- hands in the cluster -------------------------------------------------------------------------------


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("name", ["baseline", "eagle"])
def test_a_deployment_deleted_by_hand_is_made_anew(state: str, name: str) -> None:
    world = on_trial(state)
    world.run(60 if state == "Starting" else 5, lambda w: name in w.replicas())
    world.delete_deployment(name)
    world.run(60).settle()
    assert world.replicas() == {"baseline": 1, "eagle": 3}
    assert world.verdicts() == {"eagle": "Promoted"}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("name", ["baseline", "eagle"])
def test_a_pod_deleted_by_hand_costs_nothing_but_time(state: str, name: str) -> None:
    world = on_trial(state)
    world.run(60 if state == "Starting" else 0, lambda w: any(p.drafter == name for p in w.pods))
    world.delete_pod(name)
    world.run(60).settle()
    assert world.replicas() == {"baseline": 1, "eagle": 3}
    assert world.verdicts() == {"eagle": "Promoted"}


def test_a_trial_whose_pod_is_replaced_keeps_its_evidence_and_says_so() -> None:
    world = on_trial("Measuring").run(150)
    trial = world.typed.trial
    assert trial is not None
    world.delete_pod("eagle")
    world.run(15)
    assert "PodReplaced: its pod is not ready, the evidence is kept" in str(world.typed.message)
    now = world.typed.trial
    assert now is not None
    assert now.windows == trial.windows > 5
    world.run(60)
    later = world.typed.trial
    assert later is not None
    assert later.windows > trial.windows
    assert later.reason is None


@pytest.mark.parametrize("name", ["baseline", "dflash"])
def test_what_serves_is_made_anew_when_its_deployment_is_deleted(name: str) -> None:
    world = served()
    world.delete_deployment(name)
    world.run(60)
    assert world.replicas() == {"baseline": 1, "dflash": 3}
    assert world.typed.trial is None


@pytest.mark.parametrize(("name", "replicas"), [("baseline", 9), ("eagle", 0), ("eagle", 3), ("baseline", 0)])
def test_replicas_written_by_somebody_else_are_put_right_and_told_once(name: str, replicas: int) -> None:
    world = on_trial("Measuring")
    live = next(d for d in world.deployments.values() if d.drafter == name)
    live.replicas, live.manager = replicas, "kubectl-scale"
    notes = []
    for _ in range(8):
        notes += plan(world.observe(), world.typed).notes
        world.step()
    assert world.replicas() == {"baseline": 3, "eagle": 1}
    assert len(notes) == 1
    assert notes[0].startswith(f"kubectl-scale set replicas of {live.name} to {replicas}; put right to ")


@pytest.mark.parametrize("name", ["baseline", "dflash"])
def test_no_trial_starts_beside_an_edited_arm_that_serves_and_a_retry_makes_it_anew(name: str) -> None:
    world = served() if name == "dflash" else fresh(DFLASH, paused=True).run(60)
    world.edit_deployment(name)
    before = next(d for d in world.deployments.values() if d.drafter == name)
    world.change(drafters=[DFLASH, EAGLE] if name == "dflash" else [EAGLE], paused=False).run(300)
    assert world.state == "-"
    assert world.reason(Kind.TRIALING) == "TemplateEdited"
    assert f"somebody edited Deployment {before.name}, which serves" in str(world.typed.message)
    assert "specdeploy.dev/retry" in str(world.typed.message)
    world.annotate("retry")
    least = 4

    def watch(now: World) -> None:
        nonlocal least
        least = min(least, sum(now.ready(p) for p in now.pods))

    world.watch = watch
    world.run(200, lambda w: w.state == "Starting")
    assert (world.state, least) == ("Starting", 3)
    assert before.name not in {d.name for d in world.deployments.values() if d.replicas}
    assert sum("ArmRemade" in event for event in world.events) == 1
    world.settle()
    assert "eagle" in world.verdicts()


@pytest.mark.parametrize("state", ["Starting", "WarmingUp", "Measuring"])
def test_a_trial_whose_serving_baseline_is_edited_ends_without_a_judgement(state: str) -> None:
    """A drafter that is far slower stayed for a day: no window counted."""
    world = on_trial(state)
    world.engines["eagle"] = Engine(speed=0.3)
    world.edit_deployment("baseline")
    world.run(60)
    [verdict] = world.typed.verdicts or []
    assert (verdict.outcome, verdict.reason) == ("Aborted", "TemplateEdited")
    assert world.replicas() == {"baseline": 4}
    world.annotate("retry")
    world.run(600)
    assert world.verdicts() == {"eagle": "Disaster"}


@pytest.mark.parametrize("name", ["baseline", "eagle"])
def test_an_edited_arm_that_does_not_serve_is_made_anew_by_a_new_attempt(name: str) -> None:
    world = served().change(drafters=[DFLASH, EAGLE])
    world.run(600, lambda w: w.state == "Measuring")
    world.edit_deployment(name)
    world.run(100, lambda w: w.state == "Measuring" and (w.typed.trial and w.typed.trial.attempt) == 2)
    assert not any(d.edited for d in world.deployments.values())
    assert world.settle().verdicts()["eagle"] == "RunnerUp"


def test_a_retry_makes_nothing_from_a_spec_that_is_wrong() -> None:
    world = served()
    world.edit_deployment("dflash")
    before = set(world.deployments)
    world.change(engine={"args": ["--port=1"]})
    world.annotate("retry")
    world.run(60)
    assert set(world.deployments) == before
    assert not any("ArmRemade" in event for event in world.events)


def test_a_retry_moves_nothing_where_nothing_was_edited() -> None:
    world = served()
    before = set(world.deployments)
    world.annotate("retry")
    world.run(60)
    assert set(world.deployments) == before


# -- a spec that is wrong -------------------------------------------------------------------------------

WRONG: tuple[Callable[[World], object], ...] = (
    lambda w: w.change(engine={"args": ["--port=1"]}),
    lambda w: w.change(engine="none"),
)


@pytest.mark.parametrize("wrong", WRONG, ids=["owned-flag", "unreadable"])
@pytest.mark.parametrize("state", STATES)
def test_while_the_spec_is_wrong_nothing_moves_but_replicas_are_honoured(
    state: str, wrong: Callable[[World], object]
) -> None:
    world = on_trial(state)
    world.run(10)
    before = world.replicas()
    wrong(world)
    world.run(200)
    assert world.replicas()["baseline"] == before["baseline"]
    assert sum(world.replicas().values()) == 4
    assert world.state == state
    assert world.reason(Kind.READY) == "InvalidSpec"
    world.change(replicas=2).run(60)
    assert sum(world.replicas().values()) == 2
    world.change(replicas=4, engine={}).run(60).settle()
    assert world.replicas() == {"baseline": 1, "eagle": 3}


@pytest.mark.parametrize("wrong", WRONG, ids=["owned-flag", "unreadable"])
@pytest.mark.parametrize(
    ("speed", "outcome"), [(1.0, "Inconclusive"), (1.8, "RunnerUp")], ids=["undecided", "proven"]
)
def test_the_total_deadline_acts_while_the_spec_is_wrong_and_what_is_proven_counts(
    wrong: Callable[[World], object], speed: float, outcome: str
) -> None:
    """An unreadable spec switched the deadline off: the trial kept its pod for ever."""
    world = fresh(trial={"totalDeadlineSeconds": 2000})
    world.engines["eagle"] = Engine(speed=speed)
    world.run(2000, lambda w: w.state == "Measuring")
    world.annotations = {"specdeploy.dev/paused": "true"}  # else it is promoted as it is proven
    world.run(400 if outcome == "RunnerUp" else 50)
    wrong(world)
    world.run(2100)
    assert world.verdicts() == {"eagle": outcome}
    assert (world.typed.verdicts or [])[0].reason == "TotalDeadline"
    assert world.replicas() == {"baseline": 4}


def test_what_serves_goes_on_while_the_spec_is_wrong_from_the_start_nothing_is_made() -> None:
    world = served().change(engine={"args": ["--port=1"]})
    world.run(60)
    assert world.replicas() == {"baseline": 1, "dflash": 3}
    nothing = fresh(engine={"args": ["--port=1"]})
    nothing.run(60)
    assert nothing.replicas() == {}
    assert nothing.reason(Kind.READY) == "InvalidSpec"


@pytest.mark.parametrize(
    "bad",
    [
        {"name": "bad", "method": "eagle3", "model": "org/bad", "numSpeculativeTokens": 0},
        {
            "name": "bad",
            "method": "eagle3",
            "model": "org/bad",
            "numSpeculativeTokens": 3,
            "options": {"x": 1},
        },
        {"name": "bad", "method": "eagle3", "numSpeculativeTokens": 3},
        {"name": "bad", "method": "no-such", "numSpeculativeTokens": 3},
        {"name": "bad"},
        {**EAGLE, "name": "bad"},
    ],
    ids=["zero", "unknown-key", "no-model", "no-method", "nothing", "twin"],
)
def test_an_invalid_drafter_gets_its_verdict_once_and_holds_up_no_other(bad: dict[str, Any]) -> None:
    world = fresh(EAGLE, bad, DFLASH)
    world.settle()
    assert world.verdicts() == {"bad": "Invalid", "eagle": "Promoted", "dflash": "Promoted"} or (
        world.verdicts() == {"bad": "Invalid", "eagle": "RunnerUp", "dflash": "Promoted"}
    )
    assert world.serving() == "dflash"
    assert sum("/Invalid" in event for event in world.events) == 1
    assert world.reason(Kind.READY) == "Serving"
    world.change(drafters=[EAGLE, DFLASH]).step()
    assert "bad" not in world.verdicts()


def test_many_unreadable_drafters_are_told_once_each() -> None:
    world = fresh(*({"name": f"bad{i}"} for i in range(31)), DFLASH)
    world.settle()
    assert world.serving() == "dflash"
    assert sum("/Invalid" in event for event in world.events) == 31


def test_a_drafter_that_becomes_invalid_under_its_trial_ends_it() -> None:
    world = on_trial("Measuring")
    world.change(drafters=[{**EAGLE, "numSpeculativeTokens": 0}])
    world.run(60)
    assert world.state == "-"
    assert {str(v.outcome) for v in world.typed.verdicts or []} == {"Superseded", "Invalid"}
    assert world.replicas() == {"baseline": 4}


# -- a status that is wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "part",
    ["serving", "baseline", "trial", "verdicts", "requests", "conditions", "capacity", "engine", "message"],
)
@pytest.mark.parametrize("garbage", [7, [{"drafter": {}}], "x" * 9999])
def test_a_part_of_status_that_cannot_be_read_is_told_and_built_anew(part: str, garbage: object) -> None:
    world = on_trial("Promoting")
    world.status = {**world.status, part: garbage}
    world.step()
    assert any(f"StatusMalformed: status.{part}" in event for event in world.events)
    told = len(world.events)
    world.run(20)
    assert not any("StatusMalformed" in event for event in world.events[told:])


@pytest.mark.parametrize("part", ["serving", "baseline", "trial", "verdicts"])
@pytest.mark.parametrize("state", STATES)
def test_the_drafter_is_proven_in_the_end_whatever_part_of_status_was_lost(state: str, part: str) -> None:
    world = on_trial(state)
    world.status = {**world.status, part: 7}
    world.run(60).settle()
    assert world.serving() == "eagle"
    assert world.replicas() == {"baseline": 1, "eagle": 3}


@pytest.mark.parametrize("evidence", ["", "garbage", "AAAAAAAAAEA="])
def test_evidence_that_cannot_be_read_starts_the_measurement_again(evidence: str) -> None:
    world = on_trial("Measuring").run(100)
    world.status = {**world.status, "trial": {**world.status["trial"], "evidence": evidence}}
    world.run(30)
    assert sum("EvidenceLost" in event for event in world.events) == 1
    assert world.settle().serving() == "eagle"


# -- another version of the operator --------------------------------------------------------------------


def rendered_by_another_version(world: World) -> None:
    """Every Deployment, and the status, as an operator with another RENDER_VERSION would have left them."""
    text = str(world.status)
    for template in list(world.deployments):
        live = world.deployments.pop(template)
        other = f"o{template[1:]}"
        live.template, live.render_version = other, 0
        world.deployments[other] = live
        for pod in world.pods:
            pod.template = other if pod.template == template else pod.template
        text = text.replace(template, other)
    world.status = ast.literal_eval(text)


def test_a_new_renderer_restarts_nothing_that_runs() -> None:
    world = served()
    rendered_by_another_version(world)
    pods = {p.uid for p in world.pods}
    world.run(300)
    assert {p.uid for p in world.pods} == pods


def test_a_new_renderer_leaves_a_trial_under_way_as_it_is() -> None:
    world = on_trial("Measuring").run(100)
    before = world.typed.trial
    rendered_by_another_version(world)
    pods = {p.uid for p in world.pods}
    world.run(100)
    now = world.typed.trial
    assert {p.uid for p in world.pods} == pods
    assert before is not None
    assert now is not None
    assert now.windows > before.windows


@pytest.mark.parametrize("state", ["served", "baseline"])
def test_before_the_next_trial_the_baseline_is_rendered_as_the_trial_will_be(state: str) -> None:
    world = served() if state == "served" else fresh().change(drafters=[]).settle()
    rendered_by_another_version(world)
    world.change(drafters=[DFLASH, EAGLE] if state == "served" else [EAGLE])
    world.run(2000, lambda w: w.state == "Measuring")
    arm = world.typed.baseline
    assert arm is not None
    assert world.deployments[arm.template].render_version == RENDER_VERSION
    assert sum("BaselineRefreshed" in event for event in world.events) == 1
