"""Measures a drafter beside a baseline: both warmed, then loaded in the same seconds, round after round."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from specdeploy.judge.answers import Answers
from tests.vllm.answers import ask
from tests.vllm.load import Moved, drive
from tests.vllm.server import Server

WARM_SECONDS = 3.0  # numba compiles the n-gram lookup on its first use
ROUND_SECONDS = 4.0
MIN_ROUNDS, MAX_ROUNDS = 3, 15
GOOD_ERROR = (
    0.08  # of the mean log ratio; other work on the machine is what makes more than three rounds needed
)


@dataclass(frozen=True)
class Measured:
    """One engine: what it answered before its load, its last metrics page, and what its counters moved by in
    each round."""

    answers: Answers
    page: str
    rounds: tuple[Moved, ...]


@dataclass(frozen=True)
class Comparison:
    """A baseline and a drafter loaded in the same seconds, and R of the drafter over R of the baseline."""

    baseline: Measured
    drafter: Measured
    speed_ratio: float


def compare(baseline: Server, drafter: Server) -> Comparison:
    """Loads both, once they are ready, round after round until their speed ratio is settled."""
    servers = [baseline, drafter]
    for server in servers:
        server.wait_ready()
    asked = [ask(server) for server in servers]
    drive(servers, seconds=WARM_SECONDS)
    rounds = [drive(servers, seconds=ROUND_SECONDS) for _ in range(MIN_ROUNDS)]
    while standard_error(log_ratios(rounds)) > GOOD_ERROR and len(rounds) < MAX_ROUNDS:
        rounds.append(drive(servers, seconds=ROUND_SECONDS))
    of_baseline, of_drafter = zip(*rounds, strict=True)
    return Comparison(
        baseline=Measured(asked[0], baseline.metrics_page(), of_baseline),
        drafter=Measured(asked[1], drafter.metrics_page(), of_drafter),
        speed_ratio=math.exp(statistics.fmean(log_ratios(rounds))),
    )


def log_ratios(rounds: Sequence[Sequence[Moved]]) -> list[float]:
    return [math.log(drafter.speed / baseline.speed) for baseline, drafter in rounds]


def standard_error(values: Sequence[float]) -> float:
    return statistics.stdev(values) / math.sqrt(len(values))
