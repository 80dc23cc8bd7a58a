"""A work queue of keys: each key at most once in the queue and in the hands of one worker. No Kubernetes.

Events say "look at this"; a hundred of them while a worker looks make one more look. Later is a value,
not a sleeping task: one timer handle for a key.
"""

import asyncio
import random
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

FIRST_BACKOFF = 1.0
# A failed pass decides nothing: what serves is left unwatched for no longer than a usual window.
LONGEST_BACKOFF = 60.0


class WorkQueue(Generic[K]):
    """Deduplicates keys. One event loop, no locks: nothing here awaits between a test and its consequence."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._ready: deque[K] = deque()
        self._queued: set[K] = set()
        self._active: set[K] = set()
        self._again: set[K] = set()
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._failures: dict[K, int] = {}
        self._wake = asyncio.Event()

    def __len__(self) -> int:
        """Keys that wait for a worker."""
        return len(self._ready)

    def add(self, key: K) -> None:
        """Look at this key as soon as a worker is free; once more if a worker is at it now."""
        if key in self._active:
            self._again.add(key)
        elif key not in self._queued:
            self._queued.add(key)
            self._ready.append(key)
            self._wake.set()

    def add_after(self, key: K, seconds: float) -> None:
        """Look at this key in so many seconds. The earliest such wish counts."""
        loop = asyncio.get_running_loop()
        when = loop.time() + max(0.0, seconds)
        timer = self._timers.get(key)
        if timer is not None and timer.when() <= when:
            return
        if timer is not None:
            timer.cancel()
        self._timers[key] = loop.call_at(when, self._fire, key)

    def retry(self, key: K, first: float = FIRST_BACKOFF) -> float:
        """Look again after a failure: in `first` seconds, doubling, 60 s at most, with jitter. Returns the
        delay."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = min(LONGEST_BACKOFF, first * 2.0 ** min(failures, 16)) * self._rng.uniform(0.75, 1.25)
        self.add_after(key, delay)
        return delay

    def succeeded(self, key: K) -> None:
        """Forget the failures of a key."""
        self._failures.pop(key, None)

    def forget(self, key: K) -> None:
        """The object is gone: no timer, no failures. A look that was asked for meanwhile is kept: it may be
        about a new object of the same name."""
        self._failures.pop(key, None)
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

    async def get(self) -> K:
        """The next key. The caller says `done` when it has looked."""
        while not self._ready:
            self._wake.clear()
            await self._wake.wait()
        key = self._ready.popleft()
        self._queued.discard(key)
        self._active.add(key)
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()  # this look is the one that was wished for; it will wish anew
        return key

    def done(self, key: K) -> None:
        """A worker has looked at this key."""
        self._active.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def _fire(self, key: K) -> None:
        self._timers.pop(key, None)
        self.add(key)
