"""The server as a process: when its port opens, what SIGTERM does, and what an instance costs."""

import asyncio
import contextlib
import os
import pathlib
import signal
import socket
import sys

import aiohttp
import pytest

from tests.cli.test_startup import seconds
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
    async with asyncio.timeout(120):
        while True:
            with contextlib.suppress(aiohttp.ClientConnectorError):
                async with client.get("/health") as response:
                    assert response.status == 200
                    return
            await asyncio.sleep(0.02)


def client(port: int) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(base_url=f"http://127.0.0.1:{port}")


async def logged(server, text: str) -> None:
    async with asyncio.timeout(120):
        while text not in (await server.stderr.readline()).decode():
            pass


async def test_the_port_is_closed_while_the_engine_loads():
    port = free_port()
    async with process(port, VLLM_SIM_STARTUP_SECONDS="3600") as server, client(port) as http:
        await logged(server, "Initializing a V1 LLM engine")
        with pytest.raises(aiohttp.ClientConnectorError):
            await http.get("/health")


async def test_the_port_opens_once_the_engine_has_loaded():
    port = free_port()
    async with process(port, VLLM_SIM_STARTUP_SECONDS="1") as server, client(port) as http:
        await logged(server, "Initializing a V1 LLM engine")
        await logged(server, f"Starting vLLM API server 0 on http://127.0.0.1:{port}")
        await ready(http)


async def test_sigterm_while_loading_is_not_a_clean_exit():
    async with process(free_port(), VLLM_SIM_STARTUP_SECONDS="3600") as server:
        await logged(server, "Initializing a V1 LLM engine")
        server.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(server.wait(), 120) == 130


@pytest.mark.parametrize(
    ("shutdown_timeout", "max_tokens", "ends"),
    [
        ("0", 5000, '"finish_reason":"abort"'),
        ("120", 60, '"finish_reason":"length"'),
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
        assert await asyncio.wait_for(server.wait(), 120) == 0


async def refused(http: aiohttp.ClientSession) -> tuple[int, dict]:
    """The first answer that is no stream of tokens: a signal takes its time to arrive."""
    async with asyncio.timeout(120):
        while True:
            async with http.post("/v1/completions", json={**BODY, "max_tokens": 1}) as response:
                if response.status != 200:
                    return response.status, await response.json()
            await asyncio.sleep(0.02)


async def test_while_draining_health_is_200_and_new_requests_are_500():
    port = free_port()
    async with process(port, "--shutdown-timeout", "3600") as server, client(port) as http:
        await ready(http)
        async with http.post("/v1/completions", json={**BODY, "max_tokens": 8000}) as under_way:
            await under_way.content.readline()
            server.send_signal(signal.SIGTERM)
            status, answer = await refused(http)
            async with http.get("/health") as health:
                assert (health.status, status) == (200, 500)
            assert answer["error"]["message"] == "cannot schedule new futures after shutdown"
            under_way.close()  # what was under way ends, and the drain with it
        assert await asyncio.wait_for(server.wait(), 120) == 0


@pytest.mark.parametrize(("fail", "code"), [("crash", 1), ("engine-death", 0), ("killed", -signal.SIGKILL)])
async def test_exit_codes_of_engines_that_break(fail, code):
    async with process(free_port(), VLLM_SIM_FAIL=fail, VLLM_SIM_FAIL_AFTER="0.1") as server:
        assert await asyncio.wait_for(server.wait(), 120) == code


def cpu_seconds(pid: int) -> float:
    user, system = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


# The smallest program that could do the same work, and how many of its starts a thousand tokens may cost.
BARE = "import aiohttp, prometheus_client"
STARTS_PER_THOUSAND_TOKENS = 0.2


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "argv",
    [(), ("-sc", '{"method": "eagle3", "model": "org/head", "num_speculative_tokens": 3}')],
    ids=["baseline", "eagle3"],
)
async def test_a_thousand_tokens_to_32_streams_cost_a_fraction_of_the_start_of_a_bare_program(argv, tmp_path):
    port = free_port()
    target = Target(
        url=f"http://127.0.0.1:{port}",
        model="m",
        max_tokens=128,
        spread=0.5,
        temperature=0,
        chat=True,
        ignore_eos=False,
        timeout_seconds=300,
    )
    start = min(seconds("-c", BARE, pycache=tmp_path) for _ in range(4))
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    async with process(port, *argv) as server, aiohttp.ClientSession(connector=connector) as http:
        async with client(port) as probe:
            await ready(probe)
        before = cpu_seconds(server.pid)
        plan = Plan(concurrency=32, seconds=8)
        tally = await Driver(plan, stream("varied", 0), lambda prompt: send(http, target, prompt)).run()
        spent = cpu_seconds(server.pid) - before
    assert tally.failed == 0
    assert tally.requests >= 32
    assert 1000 * spent / tally.tokens < STARTS_PER_THOUSAND_TOKENS * start
