"""Takes keys from the queue and runs passes: bounded in number and time, one key's error never another's."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from specdeploy.cluster import ClusterError, Conflict, NotFound
from specdeploy.telemetry import Telemetry
from specdeploy.workqueue import WorkQueue

log = logging.getLogger(__name__)

Key = tuple[str, str]
Pass = Callable[[Key], Awaitable[float | None]]
PASS_SECONDS = 60.0
CONFLICT_SECONDS = 0.2
LAG_PERIOD_SECONDS = 1.0


class Workers:
    """A pool of workers over one queue. `work` does one pass and says when to look again, in seconds."""

    def __init__(self, queue: WorkQueue[Key], work: Pass, telemetry: Telemetry, count: int) -> None:
        self._queue = queue
        self._work = work
        self._telemetry = telemetry
        self._count = count
        self.lag = 0.0

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._count):
                group.create_task(self._loop())
            group.create_task(self._watch_lag())

    async def _loop(self) -> None:
        while True:
            key = await self._queue.get()
            self._telemetry.queue_depth.set(len(self._queue))
            try:
                result = await self._one(key)
            finally:
                self._queue.done(key)
            self._telemetry.reconciles.labels(result).inc()

    async def _one(self, key: Key) -> str:
        try:
            with self._telemetry.reconcile_seconds.time():
                async with asyncio.timeout(PASS_SECONDS):
                    after = await self._work(key)
        except (Conflict, NotFound) as error:  # somebody wrote or deleted in between: read again
            log.debug("%s/%s: %s", *key, error)
            self._queue.retry(key, CONFLICT_SECONDS)
            return "conflict"
        except (ClusterError, TimeoutError) as error:
            delay = self._queue.retry(key)
            why = str(error) or f"a pass took longer than {PASS_SECONDS:.0f} s"
            log.warning("%s/%s: %s; again in %.0f s", *key, why, delay)
            return "error"
        except Exception:
            delay = self._queue.retry(key)
            log.exception("%s/%s: a pass failed; again in %.0f s", *key, delay)
            return "failure"
        self._queue.succeeded(key)
        if after is None:
            self._queue.forget(key)
        else:
            self._queue.add_after(key, after)
        return "done"

    async def _watch_lag(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + LAG_PERIOD_SECONDS
            await asyncio.sleep(LAG_PERIOD_SECONDS)
            self.lag = max(0.0, loop.time() - due)
            self._telemetry.loop_lag.set(self.lag)
