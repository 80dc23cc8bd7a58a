"""Guards: what decode speed alone cannot see. A guard looks at every window, evidence or not."""

from __future__ import annotations

from typing import NamedTuple

from specdeploy.judge.arm import Arm

WATCHED_WINDOWS = 5
QUEUING_WINDOWS = 3
QUEUE_PER_POD = 1.0


class Queue(NamedTuple):
    """The last 5 windows as bits (newest lowest): set where the trial queued and the baseline did not.

    Fewer slots make the batch small and each request fast, while the queue grows: speed alone would promote
    that.
    """

    bits: int = 0

    def add(self, trial: Arm, baseline: Arm) -> Queue:
        """Leaves the history as it is where one of the arms did not tell its queue."""
        if trial.waiting is None or baseline.waiting is None:
            return self
        queuing = trial.waiting > QUEUE_PER_POD and baseline.waiting == 0
        return Queue((self.bits << 1 | queuing) & (1 << WATCHED_WINDOWS) - 1)

    @property
    def windows(self) -> int:
        return self.bits.bit_count()

    @property
    def alarmed(self) -> bool:
        return self.windows >= QUEUING_WINDOWS
