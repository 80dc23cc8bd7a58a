"""What a pod says of itself beside its counters. Pure, but for what it remembers.

`GET /version` says which vLLM it is. `GET /v1/models` says the longest context that it serves: vLLM may lower
`max_model_len` to that of a drafter (with a line in its log only), and then refuses requests that the
baseline serves. No series of `/metrics` tells, so `pods.PodReader` asks once for each process.
"""

import json
import math

MAX_REMEMBERED = 16_384
"""More pods than any cluster measures; one that was forgotten is asked again."""

LONGEST_VERSION = 64


def max_model_len(body: bytes) -> float | None:
    """The largest `max_model_len` of the listed models; None if the body tells none, whatever it is.

    Adapters are listed beside their base model, with null.
    """
    try:
        lengths = [float(card["max_model_len"]) for card in json.loads(body)["data"] if card["max_model_len"]]
    except (ValueError, TypeError, LookupError, RecursionError, OverflowError):
        return None
    known = [length for length in lengths if 0 < length < math.inf]
    return max(known, default=None)


def told_version(body: bytes) -> str | None:
    """`{"version": "0.33.0"}` as text; None if the body tells none, whatever it is."""
    try:
        version = json.loads(body)["version"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
    return version if isinstance(version, str) and 0 < len(version) <= LONGEST_VERSION else None


class Contexts:
    """The answers of pods, by pod uid and start of its process. The oldest are forgotten first."""

    def __init__(self, limit: int = MAX_REMEMBERED) -> None:
        self._limit = limit
        self._known: dict[str, tuple[float | None, float | None]] = {}

    def knows(self, uid: str, process_start: float | None) -> bool:
        """Whether this very process has answered. Where no page tells when a process started, the pod counts
        as one: its arguments don't change."""
        return uid in self._known and self._known[uid][0] == process_start

    def remember(self, uid: str, process_start: float | None, length: float | None) -> None:
        """`length` None: it answered, but does not tell (it wants an API key)."""
        self._known.pop(uid, None)
        self._known[uid] = (process_start, length)
        if len(self._known) > self._limit:
            del self._known[next(iter(self._known))]

    def of(self, uid: str, process_start: float | None) -> float | None:
        """In tokens; None if unknown."""
        return self._known[uid][1] if self.knows(uid, process_start) else None
