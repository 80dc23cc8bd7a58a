"""How a command ends; docs/lint.md has the table.

0: done; 1: errors were found, or what was asked for says no; 2: nothing could be asked; 141: whoever read the
answer has closed the pipe, as a shell tells it.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import typer

FAILED, USAGE, CLOSED_PIPE = 1, 2, 141


def usage(message: str) -> NoReturn:
    """One line on stderr, exit 2: an option, a file, a name, a cluster that can't be asked."""
    _end(message, USAGE)


def fail(message: str) -> NoReturn:
    """One line on stderr, exit 1: it was asked, and the answer is no."""
    _end(message, FAILED)


def _end(message: str, code: int) -> NoReturn:
    typer.echo(f"specdeploy: {' '.join(message.split())}", err=True)
    raise typer.Exit(code)


def why(error: OSError | ValueError) -> str:
    """Why a file can't be used, in the system's words."""
    words = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return words[:1].lower() + words[1:]


def write(path: Path, text: str, option: str) -> None:
    """Put an answer into the file that an option names; ends the command where that can't be done."""
    try:
        path.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        usage(f"{option}: {path} can't be written: {why(error)}")


def open_streams() -> None:
    """What the shell has closed (`>&-`) takes everything and keeps nothing."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  (until the end)


@contextmanager
def answering() -> Iterator[None]:
    """Around a whole command: an answer that can't be written ends it without a traceback."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except SystemExit as ended:
        # typer and rich end with 1 where the reader has gone.
        if not isinstance(ended.__context__, BrokenPipeError):
            raise
        _leave(CLOSED_PIPE)
    except BrokenPipeError:
        _leave(CLOSED_PIPE)
    except OSError as error:
        with suppress(OSError):
            typer.echo(f"specdeploy: the answer can't be written: {why(error)}", err=True)
        _leave(USAGE)


def _leave(code: int) -> NoReturn:
    """What Python still holds of the answer is let go."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            os.dup2(nothing, stream.fileno())
    sys.exit(code)
