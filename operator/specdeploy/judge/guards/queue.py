"""Less capacity: requests wait on the trial's pods, which serve no more than a baseline without a queue."""

from __future__ import annotations

from typing import NamedTuple

WATCHED_WINDOWS = 5
QUEUING_WINDOWS = 3
QUEUE_PER_POD = 1.0


class Queue(NamedTuple):
    """The last 5 windows as bits (newest lowest): set where the trial queued, the baseline did not, and the
    trial gave no more tokens than the baseline. `length` is the trial's queue in the newest window set.

    Fewer slots make the batch small and each request fast, while the queue grows: speed alone would promote
    that. A pod with a queue gives all it can. If that is more than the baseline gives, it only had more to
    do: near their limits two engines of a kind queue for minutes, one or the other by chance. If both queue
    nothing is said: then tokens per pod-second decide.
    """

    bits: int = 0
    length: float = 0.0

    def add(self, trial: float, baseline: float, *, fewer_tokens: bool) -> Queue:
        """One window: the queues of both arms' typical pods, and whether the trial gave no more tokens per
        pod-second than the baseline."""
        queuing = trial > QUEUE_PER_POD >= baseline and fewer_tokens
        bits = (self.bits << 1 | queuing) & (1 << WATCHED_WINDOWS) - 1
        return Queue(bits, trial if queuing else self.length)

    @property
    def windows(self) -> int:
        return self.bits.bit_count()

    @property
    def sound(self) -> bool:
        """Can these numbers have come from windows?"""
        return 0 <= self.bits < 1 << WATCHED_WINDOWS and self.length >= 0

    @property
    def alarmed(self) -> bool:
        return self.windows >= QUEUING_WINDOWS
