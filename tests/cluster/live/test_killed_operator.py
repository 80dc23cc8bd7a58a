"""An operator that is killed, in every state of a rollout and between its writes, goes on where it was."""

import pytest

from tests.cluster.live.conftest import Stage
from tests.cluster.live.journal import Status, outcomes, trial_state
from tests.cluster.live.killing import NAME, OBJECTS, Killed
from tests.cluster.live.objects import stop_clients

HOW = pytest.mark.parametrize("how", list(OBJECTS))


def ended(one: Killed, how: str) -> Status:
    """The status after all that this rollout is killed in."""
    drafters = len(OBJECTS[how]["spec"]["drafters"])
    with_check = "retention" in OBJECTS[how]["spec"].get("baseline", {})
    return one.journal.wait(
        NAME,
        lambda s: (
            len(s.get("verdicts") or []) == drafters
            and not trial_state(s)
            and bool(not with_check or s["baseline"].get("lastCheck"))
        ),
        what="every drafter judged, and checked again",
    )


@HOW
def test_it_comes_to_the_same_end_however_often_it_is_killed(stage: Stage, how: str) -> None:
    one = stage.killed[how]
    end = ended(one, how)
    print(one.operator.log.read_text())
    assert not one.plan.left, f"killed only at {one.plan.struck}"
    assert one.operator.starts > len(one.plan.struck)
    # Each restart costs a window, so a disaster may be found by the slower rule.
    assert outcomes(end).get("heavy") in (None, "Disaster", "Slower")
    assert outcomes(end)["dflash"] == "Promoted"
    assert end["serving"]["name"] == "dflash"
    clients = stop_clients(one.kubectl, NAME)
    assert clients["requests"] > 100
    assert (clients["failed"], clients["failures"]) == (0, {})


@HOW
def test_no_evidence_and_no_attempt_is_lost(stage: Stage, how: str) -> None:
    trials = [s["trial"] for s in stage.killed[how].journal.history(NAME) if s.get("trial")]
    assert {t["attempt"] for t in trials} == {1}
    for drafter in (d["name"] for d in OBJECTS[how]["spec"]["drafters"]):
        mine = [t for t in trials if t["drafter"] == drafter]
        assert len({t["startTime"] for t in mine}) == 1, "one trial, however often it was resumed"
        for figure in ("windows", "measuredSeconds"):
            counts = [t.get(figure, 0) for t in mine]
            assert counts == sorted(counts), f"{figure} of {drafter} went back: {counts}"
    # The loser is gone before a window counts as evidence: a disaster needs none.
    assert max(t.get("windows", 0) for t in trials if t["drafter"] == "dflash") > 0


def test_a_soak_goes_on_where_it_was(stage: Stage) -> None:
    one = stage.killed["write"]
    ended(one, "write")
    trials = [s["trial"] for s in one.journal.history(NAME) if s.get("trial")]
    soak = [(t.get("soaked", 0), t["soak"]) for t in trials if t.get("step") == 50 and t.get("soak")]
    assert soak == sorted(soak), "windows of soak went back"
    assert soak[-1][0] >= 3


def test_a_recheck_goes_on_where_it_was(stage: Stage) -> None:
    one = stage.killed["state"]
    end = ended(one, "state")
    before = one.journal.history(NAME)
    arms = [s.get("baseline") or {} for s in before[: before.index(end)]]
    starts = {arm["check"]["startTime"] for arm in arms if arm.get("check")}
    assert len(starts) == 1, "one re-check, however often it was resumed"
    assert end["baseline"]["lastCheck"] == "Kept"
