"""Recorded lines for the tests of replay."""

import io
import json
import math
import random
from collections.abc import Iterable, Iterator
from typing import Any

from specdeploy.judge import Settings, Window
from specdeploy.replay import Ended, judge_stream, parse
from tests.judge.windows import noise

SPEED = 50.0
TOKENS = 24000.0
HISTORY = 60
Pod = dict[str, Any]


def pod(name: str = "p", speed: float = SPEED, **more: Any) -> Pod:
    """A pod's differences over a minute at `speed` tokens per request-decode-second."""
    return {
        "pod": name,
        "seconds": 60.0,
        "generation_tokens": TOKENS + 60,
        "first_tokens": 60,
        "itl_seconds": TOKENS / speed,
    } | more


def line(trial: str, window: int, ratio: float | None = 1.0, *, baseline: float | None = SPEED,
         serving: float | None = None, **more: Any) -> bytes:  # fmt: skip
    """One line: the baseline's speed, the others as multiples of it; None leaves an arm out. `more` are keys
    of the trial's pod."""
    known = baseline or SPEED
    arms = {}
    if baseline is not None:
        arms["baseline"] = [pod("baseline-0", baseline)]
    if ratio is not None:
        arms["trial"] = [pod("trial-0", known * ratio, **more)]
    if serving is not None:
        arms["serving"] = [pod("serving-0", known * serving)]
    return json.dumps({"trial": trial, "window": window, "arms": arms}).encode() + b"\n"


def noisy(rng: random.Random, trial: str, ratio: float, windows: int) -> Iterator[bytes]:
    """Lines of a trial at a true ratio, 5 % noise on each arm; the baseline alone for an hour before."""
    yield from (line(trial, index, None) for index in range(HISTORY))
    baseline, other = noise(rng, 0.05, 0.3), noise(rng, 0.05, 0.3)
    for index in range(windows):
        speed = SPEED * math.exp(next(baseline))
        faster = ratio * SPEED / speed * math.exp(next(other))
        yield line(trial, HISTORY + index, faster, baseline=speed)


def judged(lines: Iterable[bytes], settings: Settings | None = None) -> list[Ended]:
    """The ends of all trials, in the order in which they are told. A broken line fails the test."""
    ends = []
    for found in judge_stream(io.BytesIO(b"".join(lines)), settings or Settings()):
        assert isinstance(found, Ended), found
        ends.append(found)
    return ends


def windows(lines: Iterable[bytes], seconds: float = 60.0) -> list[Window]:
    """The windows that lines stand for."""
    return [parse(raw).window(seconds) for raw in lines]
