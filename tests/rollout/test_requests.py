"""Verbs by annotation: executed once, in order, never by an old object."""

import pytest

from specdeploy.api.status import MAX_REQUESTS, instant
from tests.rollout.scenes import DFLASH, EAGLE, on_trial, served
from tests.rollout.world import START, World


def asked(world: World, verb: str, value: str) -> str:
    """What came of an annotation, as status tells it."""
    world.annotations = {**world.annotations, f"specdeploy.dev/{verb}": value}
    world.step()
    return next(r.result for r in world.typed.requests or [] if (r.verb, r.value) == (verb, value))


@pytest.mark.parametrize("state", ["Starting", "WarmingUp", "Measuring"])
def test_an_abort_ends_the_trial_in_every_state_that_has_pods(state: str) -> None:
    world = on_trial(state)
    assert asked(world, "abort", instant(world.now)) == "the trial of eagle ends"
    assert world.verdicts() == {"eagle": "Aborted"}
    assert "eagle" not in world.replicas()
    assert world.settle().replicas() == {"baseline": 4}


def test_an_abort_ends_a_trial_that_waits() -> None:
    world = on_trial("Measuring").change(replicas=1)
    world.run(60)
    assert world.state == "WaitingForCapacity"
    asked(world, "abort", instant(world.now))
    assert world.verdicts() == {"eagle": "Aborted"}
    assert world.change(replicas=4).run(100).state == "-"


def test_an_abort_reverses_a_promotion_and_what_served_before_serves_again() -> None:
    world = on_trial("Promoting")
    assert asked(world, "abort", instant(world.now)) == "the promotion of eagle is reversed"
    assert (world.state, world.serving()) == ("RollingBack", "baseline")
    assert world.settle().replicas() == {"baseline": 4}
    assert world.verdicts() == {"eagle": "Aborted"}


def test_an_abort_does_not_stop_what_serves_with_every_pod() -> None:
    world = served()
    assert asked(world, "abort", instant(world.now)) == "nothing to abort"
    assert world.settle().serving() == "dflash"


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("now", "not executed: not understood"),
        ("2027-01-15T08:01:00", "not executed: not understood"),
        ("/eagle", "not executed: not understood"),
        ("\U0001f4a5" * 400, "not executed: not understood"),
        (instant(START - 1), "not executed: stale"),
        ("2097-01-15T08:00:00Z", "not executed: its time is in the future"),
        (instant(START + 60) + "/dflash", "not executed: no drafter 'dflash' is listed"),
        (instant(START + 60) + "/eagle", "the trial of eagle ends"),
        ("2027-01-15T09:01:00+01:00", "the trial of eagle ends"),
    ],
)
def test_the_value_of_an_abort(value: str, result: str) -> None:
    world = on_trial("Measuring")
    world.annotations = {"specdeploy.dev/abort": value}
    world.step()
    [request] = world.typed.requests or []
    assert request.result.startswith(result)
    assert (world.state == "RollingBack") is (not result.startswith("not "))


def test_an_annotation_that_stays_is_executed_and_told_once() -> None:
    world = on_trial("Measuring")
    world.annotate("abort")
    world.run(600)
    assert sum("Normal/Abort:" in event for event in world.events) == 1
    assert len(world.typed.requests or []) == 1


def test_a_garbage_value_is_told_once() -> None:
    world = on_trial("Measuring")
    world.annotations = {"specdeploy.dev/abort": "please"}
    world.run(100)
    assert sum("Warning/Abort:" in event for event in world.events) == 1


def test_an_older_order_than_the_last_executed_one_is_stale_whatever_came_in_between() -> None:
    world = on_trial("Measuring")
    first = instant(world.now)
    asked(world, "abort", first)
    for second in range(12):  # more than are remembered
        asked(world, "retry", instant(START + 100 + second))
    assert asked(world, "abort", instant(START + 10)).startswith("not executed: stale")
    world.annotations = {"specdeploy.dev/abort": first}
    before = world.typed.requests
    world.step()
    assert world.typed.requests == before
    assert len(before or []) <= MAX_REQUESTS


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (instant(START) + "/dflash", instant(START) + "/eagle"),
        ("2027-01-15T08:00:00.100001Z/dflash", "2027-01-15T08:00:00.100002Z/eagle"),
        ("2027-01-15T08:00:00.9Z/eagle", instant(START + 1) + "/eagle"),
        (instant(START + 500) + "/dflash", instant(START + 200) + "/eagle"),
        (instant(START + 500), instant(START + 201)),
    ],
    ids=["one-second", "microseconds", "next-second", "clock-ahead", "clock-ahead-for-all"],
)
@pytest.mark.parametrize("verb", ["abort", "retry"])
def test_an_order_that_follows_another_one_at_once_is_executed(verb: str, first: str, second: str) -> None:
    """The second of two in one second was stale, and after an order from a clock that is ahead by five
    minutes every right one for as long: an abort, too."""
    world = on_trial("Measuring").change(drafters=[EAGLE, DFLASH])
    asked(world, verb, first)
    world.run(200 - (world.now - START))
    assert not asked(world, verb, second).startswith("not executed")


def test_an_order_that_was_given_before_one_of_a_clock_that_is_ahead_was_executed_is_stale() -> None:
    world = on_trial("Measuring").run(200)
    asked(world, "retry", instant(world.now + 300))
    assert asked(world, "retry", instant(START + 10)).startswith("not executed: stale")


def test_abort_and_retry_in_one_pass_try_the_drafter_again() -> None:
    world = on_trial("Measuring")
    world.annotate("abort")
    world.annotate("retry")
    world.run(30)
    assert [e.split(":")[0] for e in world.events if "Abort" in e or "Retry" in e or "Started" in e] == [
        "Normal/TrialStarted",
        "Normal/Abort",
        "Normal/Aborted",
        "Normal/Retry",
        "Normal/TrialStarted",
    ]
    assert world.typed.trial is not None
    assert world.typed.trial.attempt == 2


def test_a_retry_names_what_it_frees() -> None:
    world = on_trial("Measuring")
    asked(world, "abort", instant(world.now))
    world.settle()
    assert asked(world, "retry", instant(world.now) + "/eagle") == "eagle may be tried again"
    assert world.run(30).state != "-"


def test_a_retry_without_anything_to_free_says_so() -> None:
    world = on_trial("Measuring")
    assert asked(world, "retry", instant(world.now)) == "done: nothing was quarantined"
    assert world.state == "Measuring"


def test_an_abort_works_while_the_spec_is_invalid() -> None:
    world = on_trial("Measuring").change(engine={"args": ["--port=1"]})
    asked(world, "abort", instant(world.now))
    world.run(60)
    assert world.verdicts() == {"eagle": "Aborted"}
    assert world.replicas() == {"baseline": 4}
