"""An operator that is killed, in every state of a trial and between its writes, goes on where it was."""

import pytest

from tests.cluster.live.conftest import Stage
from tests.cluster.live.journal import outcomes, trial_state
from tests.cluster.live.killing import NAME
from tests.cluster.live.objects import stop_clients

HOW = pytest.mark.parametrize("how", ["state", "write"])


@HOW
def test_it_comes_to_the_same_end_however_often_it_is_killed(stage: Stage, how: str) -> None:
    one = stage.killed[how]
    end = one.journal.wait(
        NAME,
        lambda s: len(s.get("verdicts") or []) == 2 and not trial_state(s),
        seconds=420,
        what="both drafters judged",
    )
    print(one.operator.log.read_text())
    assert not one.plan.left, f"killed only at {one.plan.struck}"
    assert one.operator.starts > len(one.plan.struck)
    # Each restart costs a window, so a disaster may be found by the slower rule.
    assert outcomes(end)["heavy"] in ("Disaster", "Slower")
    assert outcomes(end)["dflash"] == "Promoted"
    assert end["serving"]["name"] == "dflash"
    clients = stop_clients(one.kubectl, NAME)
    assert clients["requests"] > 100
    assert (clients["failed"], clients["failures"]) == (0, {})


@HOW
def test_no_evidence_and_no_attempt_is_lost(stage: Stage, how: str) -> None:
    trials = [s["trial"] for s in stage.killed[how].journal.history(NAME) if s.get("trial")]
    assert {t["attempt"] for t in trials} == {1}
    for drafter in ("heavy", "dflash"):
        mine = [t for t in trials if t["drafter"] == drafter]
        assert len({t["startTime"] for t in mine}) == 1, "one trial, however often it was resumed"
        for figure in ("windows", "measuredSeconds"):
            counts = [t.get(figure, 0) for t in mine]
            assert counts == sorted(counts), f"{figure} of {drafter} went back: {counts}"
    # The loser is gone before a window counts as evidence: a disaster needs none.
    assert max(t.get("windows", 0) for t in trials if t["drafter"] == "dflash") > 0
