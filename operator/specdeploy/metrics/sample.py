"""What came of asking one pod for its counters: a Sample or a ScrapeFailure. Plain values, no behaviour."""

from dataclasses import dataclass
from enum import StrEnum

from specdeploy.metrics.counters import Counters


@dataclass(frozen=True, slots=True)
class Sample:
    """A pod's counters and the instant they were taken, in seconds of the reader's clock.

    `max_model_len` is the longest context that the pod serves, in tokens; None if it does not tell.
    """

    counters: Counters
    time: float
    max_model_len: float | None = None


class FailureKind(StrEnum):
    """Why a pod gave no counters; also the label value of the operator's scrape-failure metric."""

    UNREACHABLE = "Unreachable"
    """Connection refused, reset, or no route."""
    TIMEOUT = "Timeout"
    """The whole answer did not arrive in time."""
    HTTP_STATUS = "HttpStatus"
    """Any status but 200, a redirect included."""
    TOO_LARGE = "TooLarge"
    """The body is longer than a metrics page can be."""
    GARBAGE = "Garbage"
    """Broken HTTP, or a body that is no metrics page."""
    NOT_VLLM = "NotVllm"
    """A metrics page without vLLM's series."""
    SERIES_MISSING = "SeriesMissing"
    """A page of vLLM without a series that every measurement needs."""


@dataclass(frozen=True, slots=True)
class ScrapeFailure:
    """Why there are no counters, and one short plain sentence for people."""

    kind: FailureKind
    message: str
