"""`specdeploy replay FILE`: recorded windows in, one verdict a trial out; needs no cluster.

Exit code 0: every line was judged; 1: some lines were broken (each is named on stderr, the rest is judged);
2: a bad option, or a file that cannot be read. Keys of pods that nobody knows are named on stderr, each once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, NoReturn

import typer

if TYPE_CHECKING:
    from specdeploy.replay import Ended, Refused, UnknownKey

_BROKEN, _USAGE = 1, 2

File = Annotated[str, typer.Argument(metavar="FILE", help="JSON Lines, one window a line; - reads stdin.")]
WindowSeconds = Annotated[float, typer.Option(help="Length of a window.")]
MinimumEffect = Annotated[float, typer.Option(help="What a promotion must be worth.")]
Confidence = Annotated[float, typer.Option(help="Confidence of every interval.")]
PodSd = Annotated[float, typer.Option(help="What two pods of the same kind differ by (sd).")]
Deadline = Annotated[int, typer.Option(help="Windows of evidence after which a trial ends.")]


def replay(
    file: File,
    window_seconds: WindowSeconds = 60.0,
    minimum_effect_percent: MinimumEffect = 3.0,
    confidence_percent: Confidence = 95.0,
    pod_sd_percent: PodSd = 1.0,
    deadline_windows: Deadline = 240,
) -> None:
    """Judge recorded windows: one JSON object a trial, as soon as it has its verdict.

    Trials that have none after the last line follow in the order of their first lines.
    """
    # Imported here: the other commands start fast without it.
    from specdeploy.judge import Settings  # noqa: PLC0415
    from specdeploy.replay import judge_stream  # noqa: PLC0415

    try:
        settings = Settings(
            window_seconds=window_seconds,
            minimum_effect=minimum_effect_percent / 100,
            confidence=confidence_percent / 100,
            pod_sd=pod_sd_percent / 100,
            deadline_seconds=deadline_windows * window_seconds,
        )
        with _opened(file) as stream:
            broken = _tell(judge_stream(stream, settings))
    except BrokenPipeError:
        raise  # whoever read the answer has enough; typer ends quietly
    except OSError as error:
        _fail(f"{file}: {error.strerror}")
    except ValueError as error:
        _fail(str(error))
    if broken:
        raise typer.Exit(_BROKEN)


def _tell(found: Iterable[Ended | Refused | UnknownKey]) -> int:
    """Prints verdicts on stdout, broken lines and unknown keys on stderr, as they come; gives the number of
    broken lines."""
    from specdeploy.replay import Refused, UnknownKey, as_json  # noqa: PLC0415

    broken = 0
    for each in found:
        if isinstance(each, Refused):
            broken += 1
            typer.echo(f"specdeploy: line {each.line}: {each.reason}", err=True)
        elif isinstance(each, UnknownKey):
            typer.echo(f"specdeploy: line {each.line}: pods have no key {each.key!r}, ignored", err=True)
        else:
            typer.echo(as_json(each))
    return broken


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        if sys.stdin is None:  # closed by the shell: <&-
            raise ValueError("-: stdin is closed; name a file or pipe one in")
        yield sys.stdin.buffer
        return
    with Path(file).open("rb") as stream:
        yield stream


def _fail(message: str) -> NoReturn:
    typer.echo(f"specdeploy: {message}", err=True)
    raise typer.Exit(_USAGE)
