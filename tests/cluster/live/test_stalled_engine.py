"""An engine that makes no token any more and goes on calling itself healthy."""

from tests.cluster.live.conftest import Stage
from tests.cluster.live.journal import verdict


def test_an_engine_that_hangs_while_health_says_200_is_unhealthy(stage: Stage) -> None:
    found = stage.journal.wait(
        "stalls", lambda s: bool(verdict(s, "hangs")), seconds=420, what="a verdict on the hanging engine"
    )
    ended = verdict(found, "hangs")
    assert (ended["outcome"], ended["reason"]) == ("Unhealthy", "Stalled")
    assert "without a token" in ended["message"]
