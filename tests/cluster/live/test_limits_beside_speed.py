"""Drafters that are fast enough and break something else: each is Guarded, with what it broke."""

import pytest

from tests.cluster.live.conftest import PICKY_CLIENTS, Stage
from tests.cluster.live.journal import trial_state, verdict
from tests.cluster.live.objects import stop_clients


@pytest.mark.parametrize(
    ("drafter", "reason", "words"),
    [
        ("wrong", "OutputAgreement", "fixed prompts otherwise than the baseline"),
        ("narrow", "LessCapacity", "the drafter leaves less room for requests"),
        ("picky", "ClientErrors", "vLLM refuses min_p and logit_bias under speculation"),
    ],
)
def test_a_drafter_that_breaks_a_limit_beside_speed_is_guarded(
    stage: Stage, drafter: str, reason: str, words: str
) -> None:
    found = stage.journal.wait("guarded", lambda s: bool(verdict(s, drafter)), what=f"a verdict on {drafter}")
    ended = verdict(found, drafter)
    assert (ended["outcome"], ended["reason"]) == ("Guarded", reason)
    assert words in ended["message"]
    assert found["serving"]["name"] == "baseline"


def test_a_drafter_that_answers_otherwise_is_off_traffic_before_it_is_measured(stage: Stage) -> None:
    found = stage.journal.wait("guarded", lambda s: bool(verdict(s, "wrong")), what="a verdict")
    ended = verdict(found, "wrong")
    assert "???" in ended["message"], "an example of what it wrote"
    assert (ended.get("windows", 0), ended.get("firstWindowTime")) == (0, None)
    assert found["baseline"]["answers"]
    trials = [s["trial"] for s in stage.journal.history("guarded") if s.get("trial")]
    states = {trial["state"] for trial in trials if trial["drafter"] == "wrong"}
    assert states
    assert "Measuring" not in states


def test_only_requests_that_speculation_refuses_have_failed(stage: Stage) -> None:
    stage.journal.wait(
        "guarded",
        lambda s: len(s.get("verdicts") or []) == 3 and not trial_state(s),
        what="all drafters judged",
    )
    others, picky = (stop_clients(stage.kubectl, "guarded", pod=p) for p in ("", PICKY_CLIENTS))
    assert others["requests"] > 100
    assert (others["failed"], others["failures"]) == (0, {})
    assert set(picky["failures"]) == {"http_400"}
    assert picky["requests"] > picky["failed"], "the baseline takes them"
