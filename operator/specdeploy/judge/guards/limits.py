"""The limits of the guards, one field a guard. A guard whose field is None or False is off.

spec.guards -> Limits -> watch, veto, warnings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

LARGEST = 1000.0


def _require(holds: bool, name: str, value: object) -> None:
    if not holds:
        raise ValueError(f"{name} is out of range: {value}")


class Guard(StrEnum):
    """The guards, in the order in which they are asked; the word is the cause of the veto."""

    LESS_CAPACITY = "LessCapacity"
    MAX_MODEL_LEN = "MaxModelLen"
    KV_BLOCKS = "KvBlocks"
    SERVER_ERRORS = "ServerErrors"
    CLIENT_ERRORS = "ClientErrors"
    ERRORED_REQUESTS = "ErroredRequests"
    ABORTED_REQUESTS = "AbortedRequests"
    PREEMPTIONS = "Preemptions"
    TIME_TO_FIRST_TOKEN = "TimeToFirstToken"  # noqa: S105 - no password
    PREFIX_HITS = "PrefixHits"
    OUTPUT_LENGTH = "OutputLength"
    # Looks at no window: `agreement` compares what the pods answered before they were ready.
    OUTPUT_AGREEMENT = "OutputAgreement"


@dataclass(frozen=True, slots=True)
class CountLimit:
    """Events per request that a trial may have: (1 + `increase`) times the baseline's rate, plus `rate`.

    `increase` is a fraction (0.5 is half as many again); `rate` is in events per request: what is below it
    matters to nobody. Raises ValueError for a value outside [0, 1000].
    """

    increase: float = 0.5
    rate: float = 0.005

    def __post_init__(self) -> None:
        _require(0 <= self.increase <= LARGEST, "increase", self.increase)
        _require(0 <= self.rate <= LARGEST, "rate", self.rate)


@dataclass(frozen=True, slots=True)
class FirstTokenLimit:
    """The mean time to first token that a trial may have: both `increase` (a fraction of the baseline's) and
    `seconds` (in all) must be exceeded. Raises ValueError for a value outside [0, 1000]."""

    increase: float = 0.5
    seconds: float = 0.05

    def __post_init__(self) -> None:
        _require(0 <= self.increase <= LARGEST, "increase", self.increase)
        _require(0 <= self.seconds <= LARGEST, "seconds", self.seconds)


@dataclass(frozen=True, slots=True)
class RoomLimit:
    """Room of the KV cache as a fraction of the baseline's: vetoed below `least`, warned of below `warn`.

    Raises ValueError outside 0 <= least <= warn <= 1.
    """

    least: float = 0.5
    warn: float = 0.8

    def __post_init__(self) -> None:
        _require(0 <= self.least <= self.warn <= 1, "least and warn", (self.least, self.warn))


@dataclass(frozen=True, slots=True)
class Limits:
    """What a trial may do beside being fast.

    `prefix_hits` is the share of prompt tokens found in the prefix cache that may be lost (0.05: 5 points);
    `output_length` the change of tokens per finished request, either way, as a fraction. `warmup_seconds`:
    pods ready for less say nothing to time to first token, prefix hits and output length, since their caches
    are cold and only short requests have finished. Raises ValueError for a value out of range.
    """

    time_to_first_token: FirstTokenLimit | None = FirstTokenLimit()
    client_errors: CountLimit | None = CountLimit(rate=0.002)
    server_errors: CountLimit | None = CountLimit(rate=0.002)
    aborted_requests: CountLimit | None = CountLimit()
    errored_requests: CountLimit | None = CountLimit(rate=0.002)
    preemptions: CountLimit | None = CountLimit(increase=1.0, rate=0.05)
    less_capacity: bool = True
    kv_blocks: RoomLimit | None = RoomLimit()
    max_model_len: bool = True
    prefix_hits: float | None = 0.05
    output_length: float | None = 0.20
    warmup_seconds: float = 300.0

    def __post_init__(self) -> None:
        hits, length, warmup = self.prefix_hits, self.output_length, self.warmup_seconds
        _require(hits is None or 0 <= hits <= 1, "prefix_hits", hits)
        _require(length is None or 0 < length <= LARGEST, "output_length", length)
        _require(0 <= warmup < math.inf, "warmup_seconds", warmup)
