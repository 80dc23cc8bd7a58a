"""The writes of one pass of which none waits for another. I/O only by what it is given."""

import asyncio
import logging
from collections.abc import Awaitable
from typing import TypeVar

from specdeploy.cluster import ClusterError, Conflict, NotFound
from specdeploy.memory import Hindrances

log = logging.getLogger(__name__)

# How long a pass waits for one of them.
WRITE_SECONDS = 10.0

T = TypeVar("T")


class Writes:
    """What fails is noted under the object's name."""

    def __init__(self, unwritten: Hindrances, now: float) -> None:
        self._unwritten = unwritten
        self._now = now
        self._failed: set[str] = set()

    async def __call__(self, what: str, writing: Awaitable[T]) -> T | None:
        """What the write gives; None if it failed. Raises Conflict and NotFound: read again."""
        key = f"{what} can't be written"
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                return await writing
        except (Conflict, NotFound):
            raise
        except (ClusterError, TimeoutError) as error:
            words = str(error) or f"no answer within {WRITE_SECONDS:.0f} s"
            self._failed.add(key)
            if self._unwritten.note(key, words, self._now):
                log.warning("%s: %s", key, words)
            return None

    def forget_others(self) -> None:
        """What did not fail this time, or was not to be written, is in nobody's way any more."""
        self._unwritten.keep(self._failed)
