"""The engine's counters, cheap enough to be moved at every engine step.

Same meaning as in vLLM's V1 engine: `inter_token_latency` gets one sample per request and *step*, whatever
number of tokens the step gave; per-request distributions move only when a request finishes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

FINISH_REASONS = ("stop", "length", "abort", "error", "repetition")

TTFT = (
    0.001,
    0.005,
    0.01,
    0.02,
    0.04,
    0.06,
    0.08,
    0.1,
    0.25,
    0.5,
    0.75,
    1,
    2.5,
    5,
    7.5,
    10,
    20,
    40,
    80,
    160,
    640,
    2560,
)
TOKEN_TIME = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80)
REQUEST_TIME = (
    *(0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60),
    *(120, 240, 480, 960, 1920, 7680),
)
ITERATION_TOKENS = (1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
CHOICES = (1, 2, 5, 10, 20)
PREEMPTIONS = (1, 2, 3, 4, 5, 10, 20)


def one_two_five(highest: int) -> tuple[int, ...]:
    """1, 2, 5, 10, 20, 50 ... up to and including `highest`."""
    series = (mantissa * 10**power for power in range(len(str(highest))) for mantissa in (1, 2, 5))
    return tuple(bound for bound in series if bound <= highest)


class Distribution:
    """A Prometheus histogram that takes many equal samples at once."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(float(bound) for bound in bounds)
        self.total = 0.0
        self._buckets = [0] * (len(self.bounds) + 1)

    def observe(self, value: float, times: int = 1) -> None:
        self._buckets[bisect_left(self.bounds, value)] += times
        self.total += value * times

    def cumulative(self) -> list[int]:
        """Counts at or below each bound, and last the count of all."""
        return list(accumulate(self._buckets))

    @property
    def count(self) -> int:
        return sum(self._buckets)


def _times() -> Distribution:
    return Distribution(REQUEST_TIME)


@dataclass
class Stats:
    """All that `/metrics` tells about one engine. `speculative_tokens` 0: no drafter, no such series."""

    max_model_len: int
    speculative_tokens: int = 0
    generation_tokens: int = 0
    prompt_tokens: int = 0
    running: int = 0
    prefix_queries: int = 0
    prefix_hits: int = 0
    preemptions: int = 0
    waiting: int = 0
    kv_usage: float = 0.0
    finished: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FINISH_REASONS, 0))
    drafted_tokens: int = 0
    rounds_by_accepted: list[int] = field(init=False)
    """Rounds in which exactly 0, 1, ... tokens were accepted."""
    iteration_tokens: Distribution = field(default_factory=lambda: Distribution(ITERATION_TOKENS))
    ttft: Distribution = field(default_factory=lambda: Distribution(TTFT))
    inter_token_latency: Distribution = field(default_factory=lambda: Distribution(TOKEN_TIME))
    time_per_output_token: Distribution = field(default_factory=lambda: Distribution(TOKEN_TIME))
    e2e: Distribution = field(default_factory=_times)
    queue_time: Distribution = field(default_factory=_times)
    inference_time: Distribution = field(default_factory=_times)
    prefill_time: Distribution = field(default_factory=_times)
    decode_time: Distribution = field(default_factory=_times)
    request_prompt_tokens: Distribution = field(init=False)
    request_generation_tokens: Distribution = field(init=False)
    request_max_tokens: Distribution = field(init=False)
    request_computed_tokens: Distribution = field(init=False)
    """Prompt tokens of each request that were not in the prefix cache."""
    request_preemptions: Distribution = field(default_factory=lambda: Distribution(PREEMPTIONS))

    def __post_init__(self) -> None:
        bounds = one_two_five(self.max_model_len)
        self.rounds_by_accepted = [0] * (self.speculative_tokens + 1)
        self.request_prompt_tokens = Distribution(bounds)
        self.request_generation_tokens = Distribution(bounds)
        self.request_max_tokens = Distribution(bounds)
        self.request_computed_tokens = Distribution(bounds)

    @property
    def drafts(self) -> int:
        """Rounds that carried a draft: one per request and step."""
        return sum(self.rounds_by_accepted)

    def accepted_per_position(self) -> list[int]:
        """For each position, the rounds in which it and all before it were accepted."""
        return list(accumulate(reversed(self.rounds_by_accepted[1:])))[::-1]
