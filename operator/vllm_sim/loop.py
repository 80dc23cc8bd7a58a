"""Drives the scheduler in real time and hands out what it generates.

It sleeps while nothing runs. Otherwise it wakes up every `tick_ms`, lets the scheduler catch up, and gives
each stream the tokens of all steps since: one write per stream and tick, whatever the number of steps.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from vllm_sim.knobs import Knobs
from vllm_sim.scheduler import Request, Scheduler


class EngineDeadError(Exception):
    """The engine is gone; nothing more will be generated."""


@dataclass(slots=True, eq=False)
class Generation:
    """One answer on its way: iterate to get (new tokens, finish reason or None)."""

    request: Request
    outputs: asyncio.Queue[tuple[int, str | None] | None] = field(default_factory=asyncio.Queue)
    delivered: int = 0

    async def __aiter__(self) -> AsyncIterator[tuple[int, str | None]]:
        reason = None
        while reason is None:
            output = await self.outputs.get()
            if output is None:
                raise EngineDeadError
            tokens, reason = output
            yield tokens, reason


class EngineLoop:
    """One engine in real time; `now` of the running event loop is its clock."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.dead = False
        self._generations: set[Generation] = set()
        self._arrival = asyncio.Event()

    @property
    def idle(self) -> bool:
        return not self._generations

    @property
    def knobs(self) -> Knobs:
        return self.scheduler.knobs

    def start(self, *, prompt_tokens: int, max_tokens: int, output_tokens: int, ending: str) -> Generation:
        """Queue a request. Raises EngineDeadError."""
        if self.dead:
            raise EngineDeadError
        request = Request(
            prompt_tokens=prompt_tokens,
            output_tokens=output_tokens,
            max_tokens=max_tokens,
            ending=ending,
            arrived=asyncio.get_running_loop().time(),
        )
        generation = Generation(request)
        self._generations.add(generation)
        self.scheduler.submit(request)
        self._arrival.set()
        return generation

    def abort(self, generation: Generation) -> None:
        """Stop generating, if it is still running; its reader is gone."""
        if generation in self._generations:
            self._generations.remove(generation)
            self.scheduler.abort(generation.request)

    def abort_all(self) -> None:
        """Every running stream ends now, with what it has got and the reason "abort"."""
        self.pump()
        for generation in list(self._generations):
            self.abort(generation)
            generation.outputs.put_nowait((generation.request.generated - generation.delivered, "abort"))

    def kill(self) -> None:
        """The engine dies: running and later requests fail."""
        self.dead = True
        for generation in list(self._generations):
            self.abort(generation)
            generation.outputs.put_nowait(None)

    def hang(self) -> None:
        """No step happens from now on; HTTP goes on answering."""
        self.pump()
        self.scheduler.stopped = True

    def resume(self) -> None:
        if self.scheduler.stopped:
            self.scheduler.resume(asyncio.get_running_loop().time())

    def change_knobs(self, knobs: Knobs) -> None:
        self.pump()
        self.scheduler.change_knobs(knobs)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self._arrival.clear()
            if self.idle:
                await self._arrival.wait()
            await asyncio.sleep(self.knobs.tick_ms / 1000)
            self.pump()

    def pump(self) -> None:
        """Catch up with the clock and hand out what is new."""
        self.scheduler.advance(asyncio.get_running_loop().time())
        for generation in list(self._generations):
            request = generation.request
            if request.generated > generation.delivered:
                tokens = request.generated - generation.delivered
                generation.outputs.put_nowait((tokens, request.finish_reason))
                generation.delivered = request.generated
            if request.finish_reason is not None:
                self._generations.remove(generation)
