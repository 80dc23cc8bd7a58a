"""What one window holds: the differences of every pod's counters, by arm.

First in the judge's flow: window -> arm -> assess -> evidence -> comparison -> interval -> decide; beside
them, on every window: disaster lane, guards, balance, surplus, pods. The caller (the operator's metrics, or a
replayed file) builds these values; nothing here has been checked for sense yet, that is `arm`'s work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

BASELINE = "baseline"
TRIAL = "trial"
SERVING = "serving"

LARGEST_INDEX = 2**53
"""Of windows: below it a float64 holds every whole number."""

LATE_WINDOWS = 3
"""A window whose number is further below the last one's does not come late: the clock went back."""


def newest(last_index: int, index: int) -> int:
    """The number that the next window must lie above, after window `index` came behind `last_index`. A clock
    that was ahead would else make whoever counts windows blind until it is there again."""
    return index if 0 <= index < last_index - LATE_WINDOWS else last_index


class Reason(StrEnum):
    """Why a window is no evidence. The order is stored in saved states: only ever append."""

    NO_DATA = "NoData"
    NO_TRAFFIC = "NoTraffic"
    BAD_NUMBERS = "BadNumbers"
    WARMING_UP = "WarmingUp"
    POD_RESTARTED = "PodRestarted"
    STALLED = "Stalled"
    UNEVEN = "Uneven"
    ARM_NOT_REACHED = "ArmNotReached"
    DIFFERENT_IMAGE = "DifferentImage"
    DIFFERENT_GPU = "DifferentGPU"
    TEMPLATE_EDITED = "TemplateEdited"
    OPERATOR_RESTART = "OperatorRestart"
    OUT_OF_ORDER = "OutOfOrder"
    LOAD_MISMATCH = "LoadMismatch"
    MIX_MISMATCH = "MixMismatch"
    SERIES_MISSING = "SeriesMissing"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What the caller knows to stand against a window, with a sentence for people."""

    reason: Reason
    message: str


class PodWindow(NamedTuple):
    """One pod over one window. Counters are differences over `seconds`; gauges are read at the window's end.

    `first_tokens` is the time-to-first-token count and `itl_seconds` the inter-token-latency sum of vLLM.
    What is optional is None when unknown. `ready_seconds` (time since Ready) and `finished_since_ready`
    (requests) are the values at the window's end; `restarts` counts container restarts inside the window.

    `ttft_seconds` is the time-to-first-token sum. Of the requests that finished inside the window,
    `finished_tokens` are the tokens they got in all, `max_tokens` the sum of what they had asked for at most,
    `aborted_requests` and `errored_requests` those that ended so. `client_errors` (4xx) and `server_errors`
    (5xx) are among `http_requests`. `prefix_queries` and `prefix_hits` are tokens looked up in the prefix
    cache. `kv_tokens` (room of the KV cache) and `max_model_len` are properties of the engine.
    """

    pod: str
    seconds: float
    generation_tokens: float
    first_tokens: float
    itl_seconds: float
    requests_waiting: float | None = None
    requests_running: float | None = None
    finished_since_ready: float | None = None
    ready_seconds: float | None = None
    restarts: float | None = None
    drafts: float | None = None
    draft_tokens: float | None = None
    accepted_tokens: float | None = None
    engines: int = 1
    prompt_tokens: float | None = None
    ttft_seconds: float | None = None
    finished_requests: float | None = None
    finished_tokens: float | None = None
    max_tokens: float | None = None
    aborted_requests: float | None = None
    errored_requests: float | None = None
    http_requests: float | None = None
    client_errors: float | None = None
    server_errors: float | None = None
    preemptions: float | None = None
    prefix_queries: float | None = None
    prefix_hits: float | None = None
    kv_tokens: float | None = None
    max_model_len: float | None = None

    @property
    def decode_tokens(self) -> float:
        """Tokens after the first of each request, at least 0."""
        return max(0.0, self.generation_tokens - self.first_tokens)

    @property
    def speed(self) -> float | None:
        """Decode tokens per request-decode-second (R); None if no request decoded."""
        return self.decode_tokens / self.itl_seconds if self.itl_seconds > 0 else None

    @property
    def batch(self) -> float | None:
        """Mean number of requests decoding at once in each engine (B); None for a window without length."""
        span = self.seconds * self.engines
        return self.itl_seconds / span if span > 0 else None


_ONLY_SPEED = PodWindow("", 0.0, 0.0, 0.0, 0.0)[5:]


def tell_only_speed(pods: Sequence[PodWindow]) -> bool:
    """Do the pods tell nothing beside what speed is made of, as in most recorded files?"""
    for pod in pods:  # noqa: SIM110 - asked a million times in a replay
        if pod[5:] != _ONLY_SPEED:
            return False
    return True


@dataclass(frozen=True, slots=True)
class Window:
    """All arms over the same period. `index` rises by one from window to window; `seconds` is the length
    meant.

    `arms` maps "baseline", "trial" and, where a drafter serves beside them, "serving" to their pods. An arm
    that is absent or empty is a window without data.
    """

    index: int
    seconds: float
    arms: Mapping[str, tuple[PodWindow, ...]]
    obstacle: Obstacle | None = None
