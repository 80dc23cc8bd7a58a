"""A `PodReader` over the real network, for a machine that pauses."""

from collections.abc import Callable

import httpx

from specdeploy.metrics.pods import PodReader, new_client

SECONDS = 120.0


def patient_reader(clock: Callable[[], float]) -> PodReader:
    """As `PodReader.over(None)`, but it waits for minutes; asking for a token keeps the limit that it has."""
    client = new_client()
    client.timeout = httpx.Timeout(SECONDS)
    return PodReader(client, clock=clock, timeout_seconds=SECONDS, budget_seconds=SECONDS)
