"""An engine that makes no token any more and goes on calling itself healthy."""

import re

from tests.cluster.live.conftest import Stage
from tests.cluster.live.journal import verdict


def test_an_engine_that_hangs_while_health_says_200_is_unhealthy(stage: Stage) -> None:
    found = stage.journal.wait(
        "stalls", lambda s: bool(verdict(s, "hangs")), seconds=420, what="a verdict on the hanging engine"
    )
    ended = verdict(found, "hangs")
    assert (ended["outcome"], ended["reason"]) == ("Unhealthy", "Stalled")
    # Idle or not as it stopped: its gauges tell of requests, or it does not answer the operator's own.
    assert re.search(r"has (given no token|answered nothing) since \d{4}-", ended["message"]), ended
