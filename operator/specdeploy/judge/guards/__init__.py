"""What decode speed alone cannot see: a guard looks at every window, evidence or not."""

from specdeploy.judge.guards.limits import CountLimit, FirstTokenLimit, Guard, Limits, RoomLimit
from specdeploy.judge.guards.queue import QUEUE_PER_POD, QUEUING_WINDOWS, WATCHED_WINDOWS, Queue

__all__ = [
    "QUEUE_PER_POD",
    "QUEUING_WINDOWS",
    "WATCHED_WINDOWS",
    "CountLimit",
    "FirstTokenLimit",
    "Guard",
    "Limits",
    "Queue",
    "RoomLimit",
]
