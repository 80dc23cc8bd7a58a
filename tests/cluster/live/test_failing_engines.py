"""Drafters whose engines can't run: each ends with its cause, and the fleet serves on."""

import pytest

from tests.cluster.live.conftest import Stage
from tests.cluster.live.journal import ready_reason, trial_state, verdict


@pytest.mark.parametrize(
    ("drafter", "reason", "words"),
    [
        ("crashes", "Crashed", "There is no module or parameter named 'model' in Eagle3Model"),
        ("bad", "Crashed", "the draft model's config cannot be read"),
    ],
)
def test_a_drafter_whose_engine_exits_is_unhealthy_with_the_cause_from_its_log(
    stage: Stage, drafter: str, reason: str, words: str
) -> None:
    found = stage.journal.wait("broken", lambda s: bool(verdict(s, drafter)), what=f"a verdict on {drafter}")
    ended = verdict(found, drafter)
    assert (ended["outcome"], ended["reason"]) == ("Unhealthy", reason)
    assert words in ended["message"]
    assert ready_reason(found) == "Serving"


def test_a_drafter_with_an_unknown_key_is_invalid_without_a_pod(stage: Stage) -> None:
    found = stage.journal.wait("broken", lambda s: bool(verdict(s, "unknown-key")), what="a verdict")
    ended = verdict(found, "unknown-key")
    assert ended["outcome"] == "Invalid"
    assert "no_such_key" in ended["message"]
    stage.journal.wait(
        "broken",
        lambda s: len(s.get("verdicts") or []) == 3 and not trial_state(s),
        what="every drafter judged",
    )
    names = stage.kubectl.run("get", "events", "--output=jsonpath={.items[*].involvedObject.name}")
    assert "unknown-key" not in names, "no Deployment or pod of it was ever seen"
    assert stage.journal.latest("broken")["serving"]["name"] == "baseline"
