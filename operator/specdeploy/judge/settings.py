"""The settings of one trial, as the judge needs them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from specdeploy.judge.guards import Limits

LONG_WINDOW_SECONDS = 120.0
LARGEST_CONFIDENCE = 0.999999


@dataclass(frozen=True, slots=True)
class Settings:
    """How a trial is judged. Raises ValueError for a value with which no trial could be judged.

    `minimum_effect` and `pod_sd` are fractions (0.03 is 3 %). `attempt` is k: this is the k-th trial of this
    model and image, which a promotion pays for. `deadline_seconds` is measured time: the seconds of windows
    that were evidence. `warmup_seconds` None means max(5 windows, 300 s). Confidence, attempt and pod sd are
    frozen when the trial starts. `limits` are those of the guards beside speed. `recheck_seconds`: how often
    what serves is compared anew once no baseline runs beside it.
    """

    window_seconds: float = 60.0
    minimum_effect: float = 0.03
    confidence: float = 0.95
    deadline_seconds: float = 14400.0
    warmup_seconds: float | None = None
    pod_sd: float = 0.01
    attempt: int = 1
    compare_serving: bool = False
    limits: Limits = field(default_factory=Limits)
    recheck_seconds: float = 86400.0

    def __post_init__(self) -> None:
        checks = {
            "window_seconds": 0 < self.window_seconds < math.inf,
            "minimum_effect": 0 <= self.minimum_effect < math.inf,
            "confidence": 0.5 <= self.confidence <= LARGEST_CONFIDENCE,
            "deadline_seconds": 0 < self.deadline_seconds < math.inf,
            "warmup_seconds": self.warmup_seconds is None or 0 <= self.warmup_seconds < math.inf,
            "pod_sd": 0 <= self.pod_sd <= 1,
            "attempt": 1 <= self.attempt <= 10**6,
            "recheck_seconds": 0 < self.recheck_seconds < math.inf,
        }
        for name, holds in checks.items():
            if not holds:
                raise ValueError(f"{name} is out of range: {getattr(self, name)}")

    @property
    def warmup(self) -> float:
        """Seconds a pod must have been ready before it is evidence: a young pod is slow."""
        if self.warmup_seconds is not None:
            return self.warmup_seconds
        return max(5 * self.window_seconds, 300.0)

    @property
    def patience(self) -> float:
        """Seconds after which a pod counts although it has finished few requests."""
        return max(15 * self.window_seconds, 900.0)

    @property
    def windows_needed(self) -> int:
        """Windows of evidence below which nothing is promoted."""
        return 15 if self.window_seconds >= LONG_WINDOW_SECONDS else 30
