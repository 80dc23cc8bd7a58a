"""The operator as a process of its own: it starts, answers, and stops at once and clean when told to."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.shell.api_server import CHILD, NOTHING_HUNG, STOPPING, Api, an_object, serving

# `specdeploy run`, where kopf tells how it stops.
PROGRAM = f"""
import logging, runpy, sys
logging.getLogger("{STOPPING}").setLevel(logging.DEBUG)
sys.argv = ["specdeploy", "run"]
runpy.run_module("specdeploy", run_name="__main__")
"""
OBJECTS = {"specdeployments": [an_object("gemma")], "deployments": [], "pods": [an_object("p1", CHILD)]}


def kubeconfig(path: Path, url: str) -> Path:
    path.write_text(
        f"""
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{url}"}}}}]
users: [{{name: u, user: {{}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"""
    )
    return path


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@asynccontextmanager
async def started(config: Path, port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """An operator; it is killed at the end if it still runs."""
    environment = {
        **os.environ,
        "KUBECONFIG": str(config),
        "SPECDEPLOY_LISTEN": f"127.0.0.1:{port}",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONASYNCIODEBUG": "1",
        "PYTHONWARNINGS": "default::ResourceWarning",
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, env=environment, stderr=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def answers(url: str) -> None:
    async with httpx.AsyncClient(trust_env=False) as client, asyncio.timeout(120):
        while True:
            try:
                if (await client.get(url)).status_code == 200:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.05)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
async def test_it_starts_answers_and_stops_clean_within_moments(tmp_path: Path, how: signal.Signals) -> None:
    api, port = Api(OBJECTS), free_port()
    config = tmp_path / "config"
    async with serving(api) as (url, _), started(kubeconfig(config, url), port) as process:
        for path in ("healthz", "readyz", "metrics"):
            await answers(f"http://127.0.0.1:{port}/{path}")
        async with asyncio.timeout(120):
            while api.open_watches < 3:
                await asyncio.sleep(0.05)
        loop = asyncio.get_running_loop()
        begun = loop.time()
        process.send_signal(how)
        _, stderr = await asyncio.wait_for(process.communicate(), 120)
        took = loop.time() - begun
    text = stderr.decode()
    assert process.returncode == 0, text
    assert NOTHING_HUNG in text, text
    assert took < 60, text
    for fault in ("Traceback", "never retrieved", "never awaited", "Unclosed", "unclosed", "hung"):
        assert fault not in text, text
    assert {method for method, _, _ in api.asked} == {"GET"}


async def test_without_a_cluster_it_says_so_in_one_line_and_fails(tmp_path: Path) -> None:
    config = kubeconfig(tmp_path / "config", "http://127.0.0.1:9")
    async with started(config, free_port()) as process:
        _, stderr = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode not in (0, None)
    assert "Traceback" not in stderr.decode()
    assert "GET /version" in stderr.decode()
