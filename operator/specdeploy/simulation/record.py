"""What a run leaves behind: changes, windows, verdicts. `run` writes it, `report` and the CLI read it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from specdeploy.api.spec import Spec
from specdeploy.api.status import Status, TrialStatus, Verdict
from specdeploy.judge import Window
from specdeploy.simulation.fleet import Account
from specdeploy.simulation.scenario import Scenario

MIDNIGHT = 1_799_971_200.0
"""A day in January 2027, in seconds since the epoch: where every simulation begins."""


@dataclass(frozen=True)
class Change:
    """One line of the timeline: when (seconds since the epoch), what serves and is on trial from then on,
    pods by drafter, and the Event or fault, if there was one."""

    at: float
    serving: str
    trial: str
    pods: Mapping[str, int]
    text: str

    @property
    def moving(self) -> str:
        """What goes on, where no Event or fault tells it."""
        return "pods move" if self.trial == "-" else self.trial


class Estimate(NamedTuple):
    """A trial's speed as a multiple of the baseline's, with its interval; 0 to inf while it says nothing."""

    ratio: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Lap:
    """One window: its end, requests per second, what served and was on trial, ready pods by drafter, requests
    that no pod took, the window as the judge saw it (None: nothing to judge), the trial's estimate if it has
    one, and what every fleet did."""

    end: float
    rate: float
    serving: str
    trial: str
    pods: Mapping[str, int]
    refused: float
    window: Window | None
    estimate: Estimate | None
    accounts: Mapping[str, Account]


@dataclass
class Run:
    """Everything that happened. `complete`: when every replica was ready for the first time (None: never).
    `verdicts` in the order in which they fell."""

    scenario: Scenario
    spec: Spec
    start: float
    complete: float | None = None
    changes: list[Change] = field(default_factory=list)
    laps: list[Lap] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    status: Status = field(default_factory=Status)
    passes: int = 0


def estimate_of(trial: TrialStatus | None) -> Estimate | None:
    """How a trial stands; None while it has measured nothing."""
    if trial is None or trial.ratio is None:
        return None
    return Estimate(float(trial.ratio), float(trial.lower or 0), float(trial.upper or "inf"))
