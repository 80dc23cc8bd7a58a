"""The server as a process: when its port opens, what SIGTERM does, and what an instance costs."""

import asyncio
import contextlib
import os
import pathlib
import signal
import socket
import sys
import time

import aiohttp
import pytest

from vllm_sim.load.client import Target, send
from vllm_sim.load.driver import Driver, Plan
from vllm_sim.load.prompts import stream

OPERATOR = pathlib.Path(__file__).parents[2] / "operator"
BODY = {"model": "m", "prompt": "hello", "stream": True}


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@contextlib.asynccontextmanager
async def process(port: int, *argv: str, **environ: str):
    """A server process; it is killed at the end if it still runs."""
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "vllm_sim", "serve", "m", "--host", "127.0.0.1", "--port", str(port), *argv),
        env={**os.environ, "PYTHONPATH": str(OPERATOR), "VLLM_SIM_STARTUP_SECONDS": "0.1", **environ},
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield server
    finally:
        if server.returncode is None:
            server.kill()
        await server.communicate()


async def ready(client: aiohttp.ClientSession) -> None:
    async with asyncio.timeout(20):
        while True:
            with contextlib.suppress(aiohttp.ClientConnectorError):
                async with client.get("/health") as response:
                    assert response.status == 200
                    return
            await asyncio.sleep(0.02)


def client(port: int) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(base_url=f"http://127.0.0.1:{port}")


async def logged(server, text: str) -> None:
    async with asyncio.timeout(20):
        while text not in (await server.stderr.readline()).decode():
            pass


async def test_the_port_is_closed_while_the_engine_loads():
    port = free_port()
    async with process(port, VLLM_SIM_STARTUP_SECONDS="1") as server, client(port) as http:
        await logged(server, "Initializing a V1 LLM engine")
        with pytest.raises(aiohttp.ClientConnectorError):
            await http.get("/health")
        await ready(http)


async def test_sigterm_while_loading_is_not_a_clean_exit():
    async with process(free_port(), VLLM_SIM_STARTUP_SECONDS="30") as server:
        await logged(server, "Initializing a V1 LLM engine")
        server.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(server.wait(), 5) == 130


@pytest.mark.parametrize(
    ("shutdown_timeout", "max_tokens", "ends"),
    [
        ("0", 5000, '"finish_reason":"abort"'),
        ("20", 60, '"finish_reason":"length"'),
        ("1", 5000, '"code":500'),
    ],
    ids=["no drain aborts", "a drain lets requests finish", "a drain that is too short ends with errors"],
)
async def test_sigterm_with_a_request_under_way(shutdown_timeout, max_tokens, ends):
    port = free_port()
    async with process(port, "--shutdown-timeout", shutdown_timeout) as server, client(port) as http:
        await ready(http)
        async with http.post("/v1/completions", json={**BODY, "max_tokens": max_tokens}) as response:
            first = await response.content.readline()
            server.send_signal(signal.SIGTERM)
            rest = (await response.content.read()).decode()
        assert ends in first.decode() + rest
        assert rest.endswith("data: [DONE]\n\n")
        assert await asyncio.wait_for(server.wait(), 5) == 0


async def test_while_draining_health_is_200_and_new_requests_are_500():
    port = free_port()
    async with process(port, "--shutdown-timeout", "20") as server, client(port) as http:
        await ready(http)
        async with http.post("/v1/completions", json={**BODY, "max_tokens": 60}) as response:
            await response.content.readline()
            server.send_signal(signal.SIGTERM)
            await asyncio.sleep(0.1)
            async with http.get("/health") as health, http.post("/v1/completions", json=BODY) as refused:
                assert (health.status, refused.status) == (200, 500)
                error = (await refused.json())["error"]
            assert error["message"] == "cannot schedule new futures after shutdown"
            await response.content.read()


@pytest.mark.parametrize(("fail", "code"), [("crash", 1), ("engine-death", 0), ("killed", -signal.SIGKILL)])
async def test_exit_codes_of_engines_that_break(fail, code):
    async with process(free_port(), VLLM_SIM_FAIL=fail, VLLM_SIM_FAIL_AFTER="0.1") as server:
        assert await asyncio.wait_for(server.wait(), 20) == code


def cpu_seconds(pid: int) -> float:
    user, system = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "argv",
    [(), ("-sc", '{"method": "eagle3", "model": "org/head", "num_speculative_tokens": 3}')],
    ids=["baseline", "eagle3"],
)
async def test_an_instance_with_32_streams_takes_less_than_a_tenth_of_a_core(argv):
    port = free_port()
    target = Target(
        url=f"http://127.0.0.1:{port}",
        model="m",
        max_tokens=128,
        spread=0.5,
        temperature=0,
        chat=True,
        ignore_eos=False,
        timeout_seconds=30,
    )
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    async with process(port, *argv) as server, aiohttp.ClientSession(connector=connector) as http:
        async with client(port) as probe:
            await ready(probe)
        began, before = time.monotonic(), cpu_seconds(server.pid)
        plan = Plan(concurrency=32, seconds=8)
        tally = await Driver(plan, stream("varied", 0), lambda prompt: send(http, target, prompt)).run()
        share = (cpu_seconds(server.pid) - before) / (time.monotonic() - began)
    assert tally.failed == 0
    assert tally.tokens > 5_000
    assert share < 0.10
