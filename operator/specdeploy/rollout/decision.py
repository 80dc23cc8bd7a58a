"""What a decision consists of."""

from dataclasses import dataclass, field
from typing import Literal

from specdeploy.api.reasons import Outcome
from specdeploy.api.status import Status
from specdeploy.judge import Summary
from specdeploy.judge.guard import Newest


@dataclass(frozen=True)
class Event:
    """One Kubernetes Event, posted after the status was stored. The message has the numbers."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


@dataclass(frozen=True)
class Ending:
    """What ends a trial, or takes off what serves: outcome, reason, message, the figures if there are any (of
    a trial, or the newest of what served), and whether (and how soon, in seconds) the same revision may be
    tried again without being asked. `loss`: the share of speed that is lost while its pods serve on."""

    outcome: Outcome
    reason: str
    message: str
    summary: Summary | None = None
    retry_after: float | None = None
    newest: Newest | None = None
    loss: float = 0.0


@dataclass(frozen=True)
class Step:
    """The status to store, what to tell, and when to look again (seconds since the epoch, or None)."""

    status: Status
    events: tuple[Event, ...] = field(default=())
    next_check: float | None = None
