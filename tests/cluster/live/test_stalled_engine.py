"""An engine that hangs while it is idle: it calls itself healthy, and shows nobody who waits for it."""

import re

from tests.cluster.live.conftest import Stage
from tests.cluster.live.journal import verdict


def test_an_engine_that_hangs_while_health_says_200_is_unhealthy(stage: Stage) -> None:
    found = stage.journal.wait(
        "stalls", lambda s: bool(verdict(s, "hangs")), what="a verdict on the hanging engine"
    )
    ended = verdict(found, "hangs")
    assert (ended["outcome"], ended["reason"]) == ("Unhealthy", "Stalled")
    assert re.search(r"left a request for one token unanswered since \d{4}-", ended["message"]), ended
