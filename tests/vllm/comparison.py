"""Measures a drafter beside a baseline: both warmed, then loaded in the same seconds, round after round."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from tests.vllm.load import Moved, drive
from tests.vllm.server import Server

WARM_SECONDS = 3.0  # numba compiles the n-gram lookup on its first use
ROUNDS = 3
ROUND_SECONDS = 5.0


@dataclass(frozen=True)
class Measured:
    """One engine after its load: its last metrics page, and what its counters moved by in each round."""

    page: str
    rounds: list[Moved]


@dataclass(frozen=True)
class Comparison:
    """A baseline and a drafter that were loaded in the same seconds."""

    baseline: Measured
    drafter: Measured

    @property
    def speed_ratio(self) -> float:
        """The drafter's R over the baseline's: the median of the rounds, so one noisy round doesn't count."""
        pairs = zip(self.drafter.rounds, self.baseline.rounds, strict=True)
        return statistics.median(drafter.speed / baseline.speed for drafter, baseline in pairs)


def compare(baseline: Server, drafter: Server) -> Comparison:
    servers = [baseline, drafter]
    for server in servers:
        server.wait_ready()
    drive(servers, seconds=WARM_SECONDS)
    rounds = [drive(servers, seconds=ROUND_SECONDS) for _ in range(ROUNDS)]
    of_baseline, of_drafter = ([moved[arm] for moved in rounds] for arm in range(2))
    return Comparison(
        baseline=Measured(baseline.metrics_page(), of_baseline),
        drafter=Measured(drafter.metrics_page(), of_drafter),
    )
