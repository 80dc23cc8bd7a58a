"""Adds up outcomes and says what they were: a line per interval, and a summary."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from vllm_sim.load.client import Outcome


@dataclass
class Tally:
    """All outcomes of one run."""

    requests: int = 0
    tokens: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    ttfts: list[float] = field(default_factory=list)
    speeds: list[float] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        self.requests += 1
        self.tokens += outcome.tokens
        if outcome.failure:
            self.failures[outcome.failure] += 1
        elif outcome.ttft is not None:
            self.ttfts.append(outcome.ttft)
        if outcome.decode_speed is not None:
            self.speeds.append(outcome.decode_speed)

    @property
    def failed(self) -> int:
        return self.failures.total()

    def summary(self, seconds: float) -> dict[str, Any]:
        """The last line of a run; speeds in tokens per second, times in seconds."""
        return {
            "summary": True,
            "seconds": round(seconds, 2),
            "requests": self.requests,
            "failed": self.failed,
            "failures": dict(self.failures),
            "tokens": self.tokens,
            "tokens_per_second": round(self.tokens / seconds, 2) if seconds > 0 else 0.0,
            "ttft_p50": _quantile(self.ttfts, 0.50),
            "ttft_p95": _quantile(self.ttfts, 0.95),
            "decode_tokens_per_second": round(statistics.fmean(self.speeds), 2) if self.speeds else None,
        }


@dataclass
class IntervalLine:
    """What was new since the last line; `tokens` are those of requests that ended."""

    requests: int = 0
    failed: int = 0
    tokens: int = 0

    def next(self, tally: Tally, *, elapsed: float, seconds: float, in_flight: int) -> dict[str, Any]:
        line = {
            "elapsed": round(elapsed, 2),
            "in_flight": in_flight,
            "requests": tally.requests - self.requests,
            "failed": tally.failed - self.failed,
            "tokens_per_second": round((tally.tokens - self.tokens) / seconds, 2),
        }
        self.requests, self.failed, self.tokens = tally.requests, tally.failed, tally.tokens
        return line


def _quantile(values: list[float], share: float) -> float | None:
    """Nearest rank; None of nothing."""
    if not values:
        return None
    return round(sorted(values)[min(len(values) - 1, int(share * len(values)))], 4)
