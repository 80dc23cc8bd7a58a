"""A simulated server inside the test's own event loop, on a free loopback port."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from vllm_sim import arm as arms
from vllm_sim import flags, serve

FAST = {"VLLM_SIM_BASE_MS": "1", "VLLM_SIM_TICK_MS": "10", "VLLM_SIM_SEED": "test"}


@dataclass
class Sim:
    """A running server and a client of it."""

    running: serve.Running
    client: aiohttp.ClientSession

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.running.port}"

    async def get(self, path: str, **kwargs: Any) -> tuple[int, str]:
        async with self.client.get(path, **kwargs) as response:
            return response.status, await response.text()

    async def post(self, path: str, body: Any, **kwargs: Any) -> tuple[int, Any]:
        async with self.client.post(path, json=body, **kwargs) as response:
            text = await response.text()
            is_json = response.content_type == "application/json"
            return response.status, await response.json() if is_json else text

    async def values(self) -> dict[str, float]:
        """Every sample of `/metrics`: its name and labels as text, and its value."""
        _, page = await self.get("/metrics")
        lines = [line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in lines}


Simulate = Callable[..., AbstractAsyncContextManager[Sim]]


@pytest.fixture
def simulate() -> Simulate:
    """`async with simulate("--max-num-seqs", "4", VLLM_SIM_Q1="0.5") as sim`."""

    @contextlib.asynccontextmanager
    async def start(*argv: str, **environ: str) -> AsyncIterator[Sim]:
        args = flags.parse(["m", "--host", "127.0.0.1", "--port", "0", *argv])
        arm = arms.build(args, {**FAST, **environ})
        async with serve.listening(args, arm, environ) as running:
            base = f"http://127.0.0.1:{running.port}"
            async with aiohttp.ClientSession(base_url=base) as client:
                yield Sim(running, client)

    return start
