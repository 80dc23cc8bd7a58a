"""The end of a recorded trial as one JSON object, the last step of replay."""

from __future__ import annotations

import json

from specdeploy.replay.trials import Ended


def as_json(ended: Ended) -> str:
    """One line without its end. Ratios are multiples of the baseline's speed, null where nothing is known;
    `windows_skipped` has only the reasons that occurred."""
    verdict = ended.verdict
    numbers = verdict.numbers
    shown = {
        "trial": ended.trial,
        "outcome": verdict.outcome.value,
        "window": ended.window,
        "ratio": numbers.ratio,
        "lower": numbers.lower,
        "upper": numbers.upper,
        "windows_used": numbers.windows_used,
        "windows_skipped": {reason.value: count for reason, count in numbers.skipped.items()},
        "message": verdict.message,
    }
    return json.dumps(shown, ensure_ascii=False, allow_nan=False)
