"""`python -m benchmarks.replay`: how fast `specdeploy replay` judges recorded trials, and in what memory.

A file is written for each case -> the command judges it in a process of its own -> a line with trials a
second of one core and the largest memory. The exit code is 1 if 10,000 trials of 120 windows would take more
than a minute.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

WINDOWS = 120
BAR_SECONDS = 60.0
BAR_TRIALS = 10_000
_SPEED, _TOKENS, _REQUESTS = 50.0, 24_000, 60


@dataclass(frozen=True)
class Case:
    """A kind of file: the true ratios that its trials take in turn, the noise of a window, and whether the
    trials are written window by window (all of them open at once) or one after the other."""

    name: str
    ratios: tuple[float, ...]
    sd: float
    mixed: bool = False


CASES = (
    Case("none decided early", (1.035,), sd=0.10),
    Case("none decided early, trials mixed", (1.035,), sd=0.10, mixed=True),
    Case("as in a fleet", (0.44, 0.8, 0.95, 1.0, 1.1, 1.3, 1.9), sd=0.05),
)


def lines(case: Case, trials: int) -> Iterator[str]:
    """The lines of a file, one pod an arm."""
    rng = random.Random(1)  # noqa: S311
    order = (
        ((trial, window) for window in range(WINDOWS) for trial in range(trials))
        if case.mixed
        else ((trial, window) for trial in range(trials) for window in range(WINDOWS))
    )
    for trial, window in order:
        ratio = case.ratios[trial % len(case.ratios)]
        baseline = _pod("baseline-0", _SPEED * math.exp(rng.gauss(0, case.sd)))
        canary = _pod("trial-0", _SPEED * ratio * math.exp(rng.gauss(0, case.sd)))
        arms = f'{{"baseline": [{baseline}], "trial": [{canary}]}}'
        yield f'{{"trial": "trial-{trial:05}", "window": {window}, "arms": {arms}}}\n'


def _pod(name: str, speed: float) -> str:
    return (
        f'{{"pod": "{name}", "seconds": 60.0, "generation_tokens": {_TOKENS + _REQUESTS}, '
        f'"first_tokens": {_REQUESTS}, "itl_seconds": {_TOKENS / speed:.3f}}}'
    )


def measure(file: Path) -> tuple[float, float]:
    """Seconds of one core that the command takes for a file, and its largest memory in MiB."""
    with subprocess.Popen(
        [sys.executable, "-m", "specdeploy", "replay", str(file)], stdout=subprocess.DEVNULL
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"replay ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replay", description=__doc__)
    parser.add_argument("--trials", type=int, default=BAR_TRIALS, help=f"trials of {WINDOWS} windows")
    trials = parser.parse_args().trials
    slow = False
    for case in CASES:
        with tempfile.TemporaryDirectory() as place:
            file = Path(place) / "trials.jsonl"
            with file.open("w") as stream:
                stream.writelines(lines(case, trials))
            seconds, memory = measure(file)
        slow = slow or seconds * BAR_TRIALS / trials > BAR_SECONDS
        print(
            f"{case.name}: {trials} trials of {WINDOWS} windows in {seconds:.1f} s of one core, "
            f"{trials / seconds:.0f} trials/s, {1e6 * seconds / trials / WINDOWS:.1f} µs a window, "
            f"{memory:.0f} MiB",
            flush=True,
        )
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
