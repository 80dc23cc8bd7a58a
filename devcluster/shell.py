"""Runs other programs and turns their failure into one readable error."""

import subprocess
import sys
from collections.abc import Mapping, Sequence

from devcluster.errors import DevclusterError


def say(message: str) -> None:
    """Progress for a person, on stderr, so that stdout stays usable in `$(...)`."""
    print(message, file=sys.stderr, flush=True)


def capture(
    argv: Sequence[str],
    *,
    stdin: str | None = None,
    seconds: float = 120,
    env: Mapping[str, str] | None = None,
) -> str:
    """Stdout of a command.

    Raises DevclusterError with the last lines of its output when it fails, is missing or takes too long.
    """
    try:
        done = subprocess.run(
            argv, input=stdin, capture_output=True, text=True, timeout=seconds, env=env, check=False
        )
    except FileNotFoundError:
        raise DevclusterError(f"{argv[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise DevclusterError(f"`{' '.join(argv)}` took longer than {seconds:.0f} s") from None
    if done.returncode != 0:
        raise DevclusterError(
            f"`{' '.join(argv)}` failed ({done.returncode}): {tail(done.stderr or done.stdout)}"
        )
    return done.stdout


def succeeds(argv: Sequence[str], *, seconds: float = 120) -> bool:
    """Whether a command exists and exits 0."""
    try:
        capture(argv, seconds=seconds)
    except DevclusterError:
        return False
    return True


def tail(text: str, lines: int = 15) -> str:
    """The last lines of an output: where the cause usually stands."""
    return "\n".join(text.strip().splitlines()[-lines:])
