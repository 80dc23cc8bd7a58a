"""The operator's own endpoints, over a real socket."""

from collections.abc import AsyncIterator

import httpx
import pytest

from specdeploy.server import Server
from specdeploy.telemetry import Telemetry


class Faults:
    healthy: str | None = None
    ready: str | None = None


@pytest.fixture
async def served() -> AsyncIterator[tuple[httpx.AsyncClient, Faults]]:
    faults = Faults()
    server = Server(Telemetry().registry, healthy=lambda: faults.healthy, ready=lambda: faults.ready)
    port = await server.start("127.0.0.1", 0)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
        yield client, faults
    await server.stop()


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_all_is_well(served: tuple[httpx.AsyncClient, Faults], path: str) -> None:
    answer = await served[0].get(path)
    assert (answer.status_code, answer.text) == (200, "ok\n")


async def test_what_is_wrong_is_said_and_only_where_it_belongs(
    served: tuple[httpx.AsyncClient, Faults],
) -> None:
    client, faults = served
    faults.ready = "it is starting"
    answer = await client.get("/readyz")
    assert (answer.status_code, answer.text) == (503, "it is starting\n")
    assert (await client.get("/healthz")).status_code == 200
    faults.healthy = "the event loop lags 31 s"
    assert (await client.get("/healthz")).status_code == 503


async def test_the_metrics_page_is_what_a_scraper_expects(served: tuple[httpx.AsyncClient, Faults]) -> None:
    answer = await served[0].get("/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    assert "specdeploy_queue_depth 0.0" in answer.text


async def test_an_address_in_use_is_an_error_at_start(served: tuple[httpx.AsyncClient, Faults]) -> None:
    port = served[0].base_url.port or 0
    other = Server(Telemetry().registry, healthy=lambda: None, ready=lambda: None)
    with pytest.raises(OSError, match="in use"):
        await other.start("127.0.0.1", port)
    await other.stop()
