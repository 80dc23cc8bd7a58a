"""kopf as the informer, against a server on loopback: keys come in, nothing is written, it stops at once."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from specdeploy.cluster import Access
from specdeploy.handlers import inform
from tests.shell.api_server import CHILD, NOTHING_HUNG, STOPPING, Api, an_object, serving


@asynccontextmanager
async def informed(url: str, runner: web.AppRunner) -> AsyncIterator[tuple[list[tuple[str, str]], set[str]]]:
    """Keys that were added, and the threads in which that happened, while kopf runs."""
    keys: list[tuple[str, str]] = []
    threads: set[str] = set()

    def add(key: tuple[str, str]) -> None:
        keys.append(key)
        threads.add(threading.current_thread().name)

    stop = asyncio.Event()
    running = asyncio.create_task(
        inform(
            add=add,
            access=lambda: an_access(url),
            namespaces=(),
            ready=asyncio.Event(),
            stop=stop,
            end=runner.cleanup,
        )
    )
    try:
        yield keys, threads
    finally:
        stop.set()
        async with asyncio.timeout(120):
            await running


async def an_access(url: str) -> Access:
    return Access(
        server=url, scheme=None, token=None, ca_path=None, ca_data=None, certificate_path=None,
        private_key_path=None, insecure=False,
    )  # fmt: skip


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not condition():
            await asyncio.sleep(0.01)


async def test_what_exists_and_what_changes_becomes_keys_on_the_loop_and_kopf_writes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, logger=STOPPING)
    api = Api(
        {
            "specdeployments": [an_object("gemma"), an_object("llama")],
            "deployments": [an_object("d1", CHILD)],
            "pods": [an_object("p1", CHILD), an_object("stranger", {"specdeploy.dev/name": "gemma"})],
        }
    )
    async with serving(api) as server, informed(*server) as (keys, threads):
        await until(lambda: len(keys) >= 4 and api.open_watches == 3)
        assert sorted(keys) == [("ns", "gemma"), ("ns", "gemma"), ("ns", "gemma"), ("ns", "llama")]
        for kind in ("MODIFIED", "DELETED"):
            await api.changes.put({"type": kind, "object": an_object("p1", CHILD)})
        await until(lambda: len(keys) == 6)
        assert keys[4:] == [("ns", "gemma")] * 2
    assert NOTHING_HUNG in caplog.text
    assert threads == {threading.current_thread().name}
    assert {method for method, _, _ in api.asked} == {"GET"}
    selected = {path.rpartition("/")[2]: selector for _, path, selector in api.asked}
    assert selected["pods"] == selected["deployments"] == "app.kubernetes.io/managed-by=specdeploy"
    assert selected["specdeployments"] == ""
    assert not any("namespaces" in path or "customresourcedefinitions" in path for _, path, _ in api.asked)
