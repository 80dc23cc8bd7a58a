"""What follows a promotion: probation, holdback, re-checks, and the guard's alarm."""

from collections.abc import Callable
from copy import deepcopy
from functools import cache

import pytest

from specdeploy.api.reasons import Condition as Kind
from specdeploy.api.status import BaselineStatus, Verdict, instant, seconds
from tests.rollout.scenes import DFLASH, EAGLE, fresh, served
from tests.rollout.world import Engine, World

SHORT = {"probationSeconds": 600, "recheckSeconds": 3600}
DAY = 86400.0


@cache
def _between() -> World:
    world = fresh(DFLASH, baseline=SHORT)
    world.noise = 0.02
    world.engines["dflash"] = Engine(speed=1.8, acceptance=0.7)
    world.settle()
    return world.run(3000, lambda w: w.next_recheck is not None).run(60)


def between() -> World:
    """`dflash` serves with every pod; the baseline's was given back."""
    world = deepcopy(_between())
    assert world.replicas() == {"dflash": 4}
    return world


@cache
def _checking() -> World:
    return between().run(4000, World.checking).run(60)


def checking() -> World:
    """A re-check of `dflash` runs, with a pod for the baseline."""
    world = deepcopy(_checking())
    assert world.replicas() == {"baseline": 1, "dflash": 3}
    return world


def arm(world: World) -> BaselineStatus:
    assert world.typed.baseline is not None
    return world.typed.baseline


def verdict(world: World) -> Verdict:
    return (world.typed.verdicts or [])[0]


def over(world: World) -> World:
    return world.run(20000, lambda w: not w.checking())


def protected(world: World) -> tuple[str, str]:
    found = world.condition(Kind.PROTECTED)
    return found.status, found.reason


@pytest.mark.parametrize(
    ("make", "answer", "words"),
    [
        (lambda: fresh(drafters=[]).run(60), ("True", "BaselineServes"), "The baseline serves."),
        (served, ("True", "Holdback"), "In probation until 2027-01-16T08:"),
        (between, ("True", "BetweenChecks"), "Its next re-check is at 2027-01-15T0"),
        (checking, ("True", "Checking"), "It is checked against the baseline since 2027-01-15T0"),
        (lambda: served().change(replicas=0).run(60), ("Unknown", "ScaledToZero"), "dflash serves"),
        (
            lambda: served().change(replicas=1).run(60),
            ("False", "TooFewReplicas"),
            "Not protected: the only pod",
        ),
        (
            lambda: between().change(paused=True).run(4000),
            ("False", "Paused"),
            "Not protected: a re-check of dflash is due since",
        ),
        (
            lambda: between().change(replicas=1).run(4000),
            ("False", "TooFewReplicas"),
            "a re-check needs 2 replicas (there are 1); scale up.",
        ),
        (
            lambda: served().change(engine={"args": ["--max-num-seqs=64"]}).run(10),
            ("False", "OtherEngine"),
            "Not protected: dflash runs on an engine that the spec asks for no more",
        ),
    ],
)
def test_the_condition_and_the_sentence_say_how_what_serves_is_protected(
    make: Callable[[], World], answer: tuple[str, str], words: str
) -> None:
    world = make()
    assert protected(world) == answer
    assert words in (world.typed.message or "")


def test_evidence_is_fresh_for_an_hour_and_no_traffic_is_no_evidence() -> None:
    world = served()
    world.traffic = False
    world.run(3500)
    assert protected(world) == ("True", "Holdback")
    world.run(300)
    assert protected(world) == ("False", "NoEvidence")
    assert "traffic on both arms is needed" in (world.typed.message or "")
    world.traffic = True
    world.run(60)
    assert protected(world) == ("True", "Holdback")


def test_with_an_eighth_of_the_pods_the_holdback_stays_for_good_and_no_check_is_needed() -> None:
    world = fresh(DFLASH, replicas=8, baseline=SHORT).settle()
    world.run(5000)
    assert (arm(world).retention, arm(world).until, world.next_recheck) == ("Always", None, None)
    assert world.replicas() == {"baseline": 1, "dflash": 7}
    world.change(replicas=4).run(5000)
    assert arm(world).retention == "Always"
    assert world.replicas() == {"baseline": 1, "dflash": 3}


def test_the_specs_own_word_takes_the_holdback_away_and_brings_it_back() -> None:
    world = fresh(DFLASH, baseline={**SHORT, "retention": "Always"}).settle().run(1000)
    assert world.replicas() == {"baseline": 1, "dflash": 3}
    world.change(baseline={**SHORT, "retention": "Trials"}).run(60)
    assert world.replicas() == {"dflash": 4}
    assert world.next_recheck is not None
    world.change(baseline={**SHORT, "retention": "Always"}).run(60)
    assert world.replicas() == {"baseline": 1, "dflash": 3}
    assert world.next_recheck is None


def test_what_the_guard_takes_off_is_quarantined_for_a_day_then_for_two() -> None:
    world = fresh(DFLASH, promotion={"steps": [100]})
    world.noise = 0.02
    for attempt in (1, 2):
        world.engines["dflash"].speed = 1.8
        world.run(20000, lambda w: w.serving() == "dflash").settle()
        world.engines["dflash"].speed = 0.85
        world.run(2000, lambda w: w.serving() == "baseline")
        found = verdict(world)
        assert (found.outcome, found.reason, found.attempt) == ("Slower", "GuardAlarm", attempt)
        assert seconds(found.retry_time or "") - seconds(found.time) == attempt * DAY
        assert "has become slower than the baseline" in (found.message or "")
        world.annotate("retry")
        world.run(10)


def test_an_alarm_under_a_pause_takes_what_serves_off_all_the_same() -> None:
    world = served()
    world.noise = 0.02
    world.change(paused=True)
    world.engines["dflash"].speed = 0.8
    world.run(3000, lambda w: w.serving() == "baseline")
    assert verdict(world).reason == "GuardAlarm"
    world.run(300)
    assert world.replicas() == {"baseline": 4}


def test_a_check_that_finds_it_faster_gives_the_pod_back_and_names_the_next_one() -> None:
    world = over(checking()).run(60)
    assert (arm(world).last_check, world.replicas()) == ("Kept", {"dflash": 4})
    assert float(arm(world).last_ratio or 0) == pytest.approx(1.8, rel=0.05)
    assert world.next_recheck is not None
    assert world.slot_free


def test_an_alarm_in_a_check_is_what_the_check_has_found() -> None:
    world = between()
    world.engines["dflash"].speed = 0.8
    world.run(5000, lambda w: w.serving() == "baseline").settle()
    assert (arm(world).last_check, arm(world).check) == ("Slower", None)
    assert world.replicas() == {"baseline": 4}


@pytest.mark.parametrize(
    ("disturb", "words"),
    [
        (lambda w: w.change(replicas=1), "replicas is 1"),
        (lambda w: setattr(w, "traffic", False), "trial.totalDeadlineSeconds"),
        (lambda w: w.engines.update(baseline=Engine(never_created=True)), "its container did not run"),
    ],
    ids=["scaled", "no traffic", "never up"],
)
def test_a_check_that_can_not_be_made_ends_undecided_and_what_serves_is_kept(
    disturb: Callable[[World], object], words: str
) -> None:
    world = between()
    world.change(engine={"startupSeconds": 600}, trial={**world.spec["trial"], "totalDeadlineSeconds": 2000})
    world.run(4000, World.checking)
    disturb(world)
    over(world)
    assert (arm(world).last_check, world.serving()) == ("Undecided", "dflash")
    assert any(words in event for event in world.events if event.startswith("Normal/RecheckEnded"))
    assert protected(world)[0] != "True"


def test_a_baseline_pod_that_no_node_takes_is_given_back() -> None:
    world = between().run(4000, World.checking)
    world.gpus = 3
    over(world)
    assert arm(world).last_check == "Undecided"
    assert any("no node takes the baseline's pod" in event for event in world.events)


def test_acceptance_that_falls_brings_a_check_forward() -> None:
    world = fresh(DFLASH, baseline={"probationSeconds": 2000, "recheckSeconds": 2 * int(DAY)})
    world.noise = 0.02
    world.engines["dflash"] = Engine(speed=1.8, acceptance=0.7)
    world.settle()
    world.run(4000, lambda w: w.next_recheck is not None).run(600)
    assert not world.checking()
    world.engines["dflash"].acceptance = 0.6
    world.run(3000, World.checking)
    assert "acceptance of draft tokens has fallen" in (world.typed.message or "")
    assert arm(world).early_checks == [instant(world.now - world.tick)]
    assert arm(over(world)).last_check == "Kept"


def test_a_trial_brings_its_own_baseline_and_counts_as_a_check() -> None:
    world = between()
    due = world.next_recheck
    world.engines["eagle"] = Engine(speed=1.4)
    world.change(drafters=[DFLASH, EAGLE]).run(1500, lambda w: len(w.verdicts()) == 2).settle()
    assert world.verdicts()["eagle"] == "RunnerUp"
    assert world.replicas() == {"dflash": 4}
    assert arm(world).last_check == "Kept"
    assert world.next_recheck != due


def test_no_trial_starts_under_a_check_and_it_starts_when_the_check_has_ended() -> None:
    world = checking()
    world.change(drafters=[DFLASH, EAGLE]).run(20)
    assert world.reason(Kind.TRIALING) == "Checking"
    over(world).run(120)
    assert world.typed.trial is not None
    assert world.typed.trial.drafter == "eagle"


def test_a_baseline_that_somebody_edits_in_a_check_is_made_anew() -> None:
    world = checking()
    world.edit_deployment("baseline")
    world.run(30)
    assert not any(d.edited for d in world.deployments.values())
    over(world)
    assert arm(world).last_check == "Kept"


def test_windows_of_another_length_begin_the_history_and_the_guard_anew() -> None:
    world = served().run(1000)
    before = world.known
    world.change(trial={**world.spec["trial"], "windowSeconds": 20, "deadlineSeconds": 1200}).run(200)
    after = world.known
    assert before.baseline is not None
    assert after.baseline is not None
    assert after.baseline.window_seconds == 20
    assert after.baseline.history != before.baseline.history
    assert protected(world) == ("True", "Holdback")


def test_what_another_operator_has_promoted_is_guarded_from_now_on() -> None:
    world = served()
    world.noise = 0.02
    world.status = deepcopy(world.status)
    world.status["serving"].pop("guard")
    for part in ("retention", "until", "history", "windowSeconds"):
        world.status["baseline"].pop(part)
    world.run(300)
    assert protected(world) == ("True", "Holdback")
    world.engines["dflash"].speed = 0.8
    world.run(2000, lambda w: w.serving() == "baseline")
    assert verdict(world).reason == "GuardAlarm"


def test_a_guard_that_can_not_be_read_is_told_and_begins_anew() -> None:
    world = served()
    world.status = {**world.status, "serving": {**world.status["serving"], "guard": "v99"}}
    world.run(60)
    assert [
        e for e in world.events if e.startswith("Warning/EvidenceLost: the guard over dflash starts again")
    ]
    assert protected(world) == ("True", "Holdback")


WRONG = {
    "same-engine": {"podTemplate": {"labels": {"specdeploy.dev/name": "x"}}},
    "another": {"args": ["--port=1"]},
}


@pytest.mark.parametrize("engine", WRONG.values(), ids=WRONG)
def test_while_the_spec_is_wrong_the_guard_takes_off_what_is_slow_and_its_pods_go(
    engine: dict[str, object],
) -> None:
    """It was taken off in words, or not even looked at, and no pod moved."""
    world = fresh(DFLASH, replicas=8).settle().change(engine=engine).run(60)
    assert world.reason(Kind.READY) == "InvalidSpec"
    assert protected(world) == ("True", "Holdback")
    world.engines["dflash"].speed = 0.4
    world.run(600, lambda w: w.serving() == "baseline")
    assert protected(world) == ("False", "TakenOff")
    assert "Not protected: dflash was taken off, and 7 pods of it may still serve." in (
        world.typed.message or ""
    )
    world.run(600)
    assert world.replicas() == {"baseline": 8}
    assert protected(world) == ("True", "BaselineServes")


@pytest.mark.parametrize("back", [False, True], ids=["left", "left-and-back"])
def test_what_serves_on_an_engine_that_was_left_is_not_compared_while_the_spec_is_wrong(back: bool) -> None:
    world = served().change(engine={"args": ["--max-num-seqs=64"]}, paused=True).run(60)
    if back:
        world.change(engine={}).run(60)
    labels = {"podTemplate": {"labels": {"specdeploy.dev/name": "x"}}}
    world.change(engine={**({} if back else {"args": ["--max-num-seqs=64"]}), **labels}).run(60)
    assert protected(world)[1] == ("Holdback" if back else "InvalidSpec")


def test_a_promotion_under_a_spec_that_is_wrong_is_reversed_by_the_guard() -> None:
    world = fresh(DFLASH, replicas=8, promotion={"steps": [50, 100]})
    world.run(20000, lambda w: w.replicas().get("dflash", 0) >= 3).run(100)
    assert world.state == "Promoting"
    world.change(engine={"args": ["--port=1"]}).run(20)
    world.engines["dflash"].speed = 0.4
    world.run(900)
    assert world.replicas() == {"baseline": 8}
    assert verdict(world).reason == "GuardAlarm"


def test_under_an_unreadable_spec_nothing_is_compared_and_nothing_is_taken_off() -> None:
    world = served().change(engine="none").run(100)
    assert protected(world) == ("Unknown", "InvalidSpec")
    assert world.serving() == "dflash"


def test_a_recheck_looks_at_retention_anew() -> None:
    world = between().change(replicas=8).run(4000, World.checking)
    assert arm(world).retention == "Trials"
    over(world).run(60)
    assert (arm(world).retention, world.next_recheck) == ("Always", None)
    assert world.replicas() == {"baseline": 1, "dflash": 7}


def test_scaled_to_zero_in_a_promotion_the_soak_is_not_over() -> None:
    world = fresh(DFLASH, replicas=8).run(2000, lambda w: w.replicas().get("dflash") == 2)
    before = world.typed.trial
    world.change(replicas=0).run(100)
    assert world.state == "Promoting"
    assert "once there are pods" in (world.typed.message or "")
    world.change(replicas=8).run(100)
    after = world.typed.trial
    assert before is not None
    assert after is not None
    assert after.step == before.step
    assert world.replicas()["dflash"] == 2
    world.settle()
    assert world.replicas() == {"baseline": 1, "dflash": 7}


def test_an_engine_that_the_spec_has_left_is_soaked_away_from_in_time_even_without_traffic() -> None:
    world = served()
    trial = {**world.spec["trial"], "totalDeadlineSeconds": 1500}
    world.change(engine={"args": ["--max-num-seqs=64"], "startupSeconds": 60}, trial=trial)
    world.run(2000, lambda w: w.state == "Promoting").run(60)
    world.traffic = False
    world.run(400)
    assert world.state == "Promoting"
    world.run(1200).settle()
    assert world.serving() == "dflash"
    assert world.replicas() == {"baseline": 1, "dflash": 3}
    assert len({d.revision for d in world.deployments.values()}) == 2
