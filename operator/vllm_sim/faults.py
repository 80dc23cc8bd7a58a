"""Failures of a running engine, at once or some seconds after the knob `fail` was set.

`done` resolves to the exit code once a failure has decided that the process ends.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
from typing import Any

from vllm_sim import failures
from vllm_sim.knobs import RUN_FAILURES, Knobs
from vllm_sim.loop import EngineLoop

_LAST_ANSWERS_SECONDS = 0.3
_CRASH = (
    "Traceback (most recent call last):",
    '  File "vllm/v1/worker/gpu_model_runner.py", line 1, in execute_model',
    "torch.AcceleratorError: HIP error: an illegal memory access was encountered",
)
_DEATH = (
    "EngineCore encountered a fatal error.",
    "Traceback (most recent call last):",
    '  File "vllm/v1/engine/core.py", line 1, in run_busy_loop',
    "AssertionError: the speculative step failed",
)


class Faults:
    """Applies knobs to a running engine. Must be made inside a running event loop."""

    def __init__(self, loop: EngineLoop) -> None:
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None
        self.done: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def apply(self, knobs: Knobs) -> None:
        """Change behaviour; a failure's clock starts now; any other lets a hung engine go on."""
        self._loop.change_knobs(knobs)
        if self._timer is not None:
            self._timer.cancel()
        if knobs.fail in RUN_FAILURES:
            self._timer = asyncio.get_running_loop().call_later(knobs.fail_after, self._happen, knobs.fail)
        else:
            self._loop.resume()

    def describe(self) -> dict[str, Any]:
        """The knobs in force."""
        return dataclasses.asdict(self._loop.knobs)

    def _happen(self, kind: str) -> None:
        if kind == "hang":
            self._loop.hang()
        elif kind == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        elif kind == "crash":
            failures.log(*_CRASH)
            self._end(1)
        else:
            failures.log(*_DEATH, process="EngineCore")
            self._loop.kill()
            self._ending = asyncio.create_task(self._end_soon())

    async def _end_soon(self) -> None:
        """An engine that dies takes the server with it a moment later, with exit code 0."""
        await asyncio.sleep(_LAST_ANSWERS_SECONDS)
        self._end(0)

    def _end(self, code: int) -> None:
        if not self.done.done():
            self.done.set_result(code)
