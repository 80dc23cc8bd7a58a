"""A drafter that was proven becomes slow while it serves: the guard finds it, with baseline pods beside it
and, where they were given back, in a re-check."""

import re

import pytest

from tests.cluster.live.conftest import Stage
from tests.cluster.live.journal import Status, condition, moment, trial_state, verdict
from tests.cluster.live.objects import FADING, WINDOW_SECONDS, stop_clients

DRAFTER = FADING["name"]
DAY = 86400.0
# The guard needs three windows at least, after the one that the change cut, and with all pods warm.
MOST_WINDOWS = 8


def rolled_back(stage: Stage, name: str) -> Status:
    """The status in which the baseline serves again."""
    return stage.journal.wait(
        name,
        lambda s: verdict(s, DRAFTER).get("outcome") == "Slower",
        seconds=420,
        what="the drafter is taken off",
    )


@pytest.mark.parametrize("name", ["fades", "checked"])
def test_a_drafter_that_became_slow_while_it_served_is_rolled_back_with_numbers(
    stage: Stage, name: str
) -> None:
    before = stage.journal.wait(
        name,
        lambda s: verdict(s, DRAFTER).get("outcome") == "Promoted" and not trial_state(s),
        seconds=300,
        what="a promotion",
    )
    assert before["serving"]["name"] == DRAFTER
    found = rolled_back(stage, name)
    ended = verdict(found, DRAFTER)
    assert (ended["reason"], ended["attempt"]) == ("GuardAlarm", 1)
    assert moment(ended["retryTime"]) - moment(ended["time"]) == pytest.approx(DAY, abs=2)
    assert found["serving"]["name"] == "baseline"
    told = [text for text in stage.events(name, "Slower") if text.startswith(DRAFTER)]
    assert re.search(r"\d+ windows compared", told[0]), told
    assert re.search(r"0\.\d+x", told[0]), told


@pytest.mark.parametrize("name", ["fades", "checked"])
def test_the_way_back_ends_with_the_baseline_on_every_pod_and_no_request_has_failed(
    stage: Stage, name: str
) -> None:
    rolled_back(stage, name)
    stage.journal.wait(name, back_on_the_baseline, seconds=120, what="the way back")
    clients = stop_clients(stage.kubectl, name)
    assert clients["requests"] > 100
    assert (clients["failed"], clients["failures"]) == (0, {})


def back_on_the_baseline(status: Status) -> bool:
    settled = condition(status, "Progressing").get("status") == "False"
    return bool(verdict(status, DRAFTER).get("outcome") == "Slower") and settled


def protections(stage: Stage, name: str) -> list[str]:
    """Reasons of the condition Protected in their order, each time it changed."""
    reasons = [condition(s, "Protected").get("reason", "") for s in stage.journal.history(name)]
    return [now for before, now in zip(["", *reasons], reasons, strict=False) if now != before]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fades", ["BaselineServes", "Holdback", "TakenOff", "BaselineServes"]),
        (
            "checked",
            ["BaselineServes", "Holdback", "BetweenChecks", "Checking", "TakenOff", "BaselineServes"],
        ),
    ],
)
def test_people_see_how_what_serves_is_protected(stage: Stage, name: str, expected: list[str]) -> None:
    rolled_back(stage, name)
    assert protections(stage, name)[: len(expected)] == expected
    found = [condition(s, "Protected") for s in stage.journal.history(name)]
    assert {c["reason"] for c in found if c.get("status") not in ("True", None)} == {"TakenOff"}


def test_baseline_pods_are_given_back_after_probation_and_borrowed_again_for_a_recheck(stage: Stage) -> None:
    ended = rolled_back(stage, "checked")
    assert ended["baseline"]["lastCheck"] == "Slower"
    (given,) = stage.events("checked", "BaselineGivenBack")
    assert given.startswith(f"probation of {DRAFTER} is over: the baseline's pods serve, the next re-check")
    (started,) = stage.events("checked", "RecheckStarted")
    assert started.startswith(f"{DRAFTER} is compared with the baseline anew, because it was due")
    apart = [s for s in stage.journal.history("checked") if condition(s, "Protected").get("reason")]
    due = next(s["baseline"]["nextCheckTime"] for s in apart if s["baseline"].get("nextCheckTime"))
    began = next(s["baseline"]["check"]["startTime"] for s in apart if s["baseline"].get("check"))
    assert 0 <= moment(began) - moment(due) <= 5


def test_the_guard_needs_few_windows(stage: Stage) -> None:
    ended = verdict(rolled_back(stage, "fades"), DRAFTER)
    assert moment(ended["time"]) - stage.faded["fades"] <= MOST_WINDOWS * WINDOW_SECONDS
