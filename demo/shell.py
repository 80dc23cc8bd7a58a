"""Runs commands and says what it does. The demo types what a person would type."""

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

START = time.monotonic()


class DemoError(RuntimeError):
    """The demo can't go on; the message says why and what to do."""


def say(text: str) -> None:
    """One line with the time since the start."""
    elapsed = time.monotonic() - START
    sys.stdout.write(f"[{int(elapsed // 60):2d}:{int(elapsed % 60):02d}] {text}\n")
    sys.stdout.flush()


def run(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    quiet: bool = False,
    check: bool = True,
    seconds: float = 1500,
) -> str:
    """Run a command and return what it printed. Raises DemoError with its last words."""
    if not quiet:
        say("$ " + " ".join(command))
    done = subprocess.run(
        list(command), env=env, input=stdin, capture_output=True, text=True, timeout=seconds, check=False
    )
    if check and done.returncode != 0:
        words = (done.stderr or done.stdout).strip().splitlines()[-12:]
        raise DemoError(f"`{' '.join(command)}` failed:\n  " + "\n  ".join(words))
    return done.stdout


def stream(command: Sequence[str], *, env: Mapping[str, str] | None = None) -> None:
    """Run a command whose own progress people want to see."""
    say("$ " + " ".join(command))
    done = subprocess.run(list(command), env=env, check=False)
    if done.returncode != 0:
        raise DemoError(f"`{' '.join(command)}` failed with code {done.returncode}")
