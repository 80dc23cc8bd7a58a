"""What decode speed alone cannot see. A guard looks at every window, evidence or not.

watch() takes in a window, veto() says whether a limit is proven to be broken, warnings() what is shown
without a veto, unseen() which guards have had nothing to look at. Each guard has a limit and a switch in
`Limits`; the state `Guards` has a fixed size. Crashes, restarts and stalls are no guards: the rollout ends
such a trial as unhealthy.
"""

from specdeploy.judge.guards.limits import CountLimit, FirstTokenLimit, Guard, Limits, RoomLimit
from specdeploy.judge.guards.queue import QUEUE_PER_POD, QUEUING_WINDOWS, WATCHED_WINDOWS, Queue
from specdeploy.judge.guards.vetoes import Veto, unseen, veto, warnings
from specdeploy.judge.guards.watching import Guards, watch

__all__ = [
    "QUEUE_PER_POD",
    "QUEUING_WINDOWS",
    "WATCHED_WINDOWS",
    "CountLimit",
    "FirstTokenLimit",
    "Guard",
    "Guards",
    "Limits",
    "Queue",
    "RoomLimit",
    "Veto",
    "unseen",
    "veto",
    "warnings",
    "watch",
]
