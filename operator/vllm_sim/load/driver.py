"""When to send: a fixed number of clients that each wait for their answer, or arrivals at a given rate.

A run is bounded in time and in requests; then nothing new is sent and what is in flight comes to its end.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from vllm_sim.load.client import Outcome
from vllm_sim.load.report import Tally

MAX_IN_FLIGHT = 2000
"""With a rate: an arrival that finds as many unanswered requests is a failure of its own ("overload")."""
_PAUSE_AFTER_FAILURE_SECONDS = 0.1

Send = Callable[[str], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class Plan:
    """`rate` (requests a second) None: closed loop with `concurrency` clients. `requests` None: no limit."""

    concurrency: int
    seconds: float
    rate: float | None = None
    requests: int | None = None
    seed: int = 0


class Driver:
    """One run. `stop` ends it early: nothing new is sent."""

    def __init__(self, plan: Plan, prompts: Iterator[str], send: Send) -> None:
        self.tally = Tally()
        self.in_flight = 0
        self._plan = plan
        self._prompts = prompts
        self._send = send
        self._sent = 0
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        self._stopped.set()

    async def run(self) -> Tally:
        timer = asyncio.get_running_loop().call_later(self._plan.seconds, self.stop)
        try:
            if self._plan.rate is None:
                await asyncio.gather(*(self._client() for _ in range(self._plan.concurrency)))
            else:
                await self._arrivals(self._plan.rate)
        finally:
            timer.cancel()
        return self.tally

    def _may_send(self) -> bool:
        limit = self._plan.requests
        if self._stopped.is_set() or (limit is not None and self._sent >= limit):
            return False
        self._sent += 1
        return True

    async def _client(self) -> None:
        while self._may_send():
            failed = (await self._one()).failure is not None
            if failed:  # a server that refuses at once must not make this a busy loop
                await self._wait(_PAUSE_AFTER_FAILURE_SECONDS)

    async def _arrivals(self, rate: float) -> None:
        rng = random.Random(self._plan.seed)  # noqa: S311 - chance, not cryptography
        clock = asyncio.get_running_loop()
        due = clock.time()
        async with asyncio.TaskGroup() as tasks:
            while self._may_send():
                if self.in_flight >= MAX_IN_FLIGHT:
                    self.tally.add(Outcome(failure="overload"))
                else:
                    tasks.create_task(self._one())
                due += rng.expovariate(rate)
                await self._wait(max(0.0, due - clock.time()))

    async def _one(self) -> Outcome:
        self.in_flight += 1
        outcome = await self._send(next(self._prompts))
        self.in_flight -= 1
        self.tally.add(outcome)
        return outcome

    async def _wait(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stopped.wait(), seconds)
        except TimeoutError:
            return
