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
LAG_LIMIT_SECONDS = 30.0
# A pass that has not ended by then does not heed its time-out either.
STUCK_SECONDS = 2 * PASS_SECONDS


class Workers:
    """A pool of workers over one queue. `work` does one pass and says when to look again, in seconds."""

    def __init__(self, queue: WorkQueue[Key], work: Pass, telemetry: Telemetry, count: int) -> None:
        self._queue = queue
        self._work = work
        self._telemetry = telemetry
        self._count = count
        self._clock = asyncio.get_running_loop().time
        self._since: dict[Key, float] = {}
        self._lag = 0.0
        telemetry.queue_depth.set_function(lambda: len(queue))
        telemetry.oldest_pass.set_function(self._oldest)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._count):
                group.create_task(self._loop())
            group.create_task(self._watch_lag())

    def fault(self) -> str | None:
        """Why the process should be started anew; None if it works."""
        if self._lag > LAG_LIMIT_SECONDS:
            return f"the event loop lags {self._lag:.0f} s"
        stuck = [key for key, since in self._since.items() if self._clock() - since > STUCK_SECONDS]
        if len(stuck) < self._count:
            return None
        names = ", ".join("/".join(key) for key in sorted(stuck)[:3])
        return f"every worker has been in one pass for more than {STUCK_SECONDS:.0f} s, among them {names}"

    def _oldest(self) -> float:
        now = self._clock()
        return now - min(self._since.values(), default=now)

    async def _loop(self) -> None:
        while True:
            key = await self._queue.get()
            self._since[key] = self._clock()
            try:
                result = await self._one(key)
            finally:
                del self._since[key]
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
        while True:
            due = self._clock() + LAG_PERIOD_SECONDS
            await asyncio.sleep(LAG_PERIOD_SECONDS)
            self._lag = max(0.0, self._clock() - due)
            self._telemetry.loop_lag.set(self._lag)
