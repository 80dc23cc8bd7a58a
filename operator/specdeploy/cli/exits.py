"""How a command ends; docs/lint.md has the table.

0: done; 1: errors were found, or what was asked for says no; 2: nothing could be asked; 141: whoever read the
answer has closed the pipe, as a shell tells it.
"""

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


def reason(error: OSError) -> str:
    """Why a file can't be used, in the system's words."""
    words = error.strerror or str(error)
    return words[:1].lower() + words[1:]
