"""`specdeploy replay FILE`: recorded windows in, one verdict a trial out; needs no cluster.

Exit code 0: every line was judged; 1: some lines were broken (each is named on stderr, the rest is judged);
2: a bad option, a file that cannot be read, or one without a line. Keys of pods
that nobody knows are named on stderr, each once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from specdeploy.cli.exits import FAILED, usage, why

if TYPE_CHECKING:
    from specdeploy.judge import Settings
    from specdeploy.replay import Ended, Refused, UnknownKey

File = Annotated[str, typer.Argument(metavar="FILE", help="JSON Lines, one window a line; - reads stdin.")]
WindowSeconds = Annotated[float, typer.Option(help="Length of a window, 1 to 86400.")]
MinimumEffect = Annotated[float, typer.Option(help="What a promotion must be worth, 0 to 1000.")]
Confidence = Annotated[float, typer.Option(help="Confidence of every interval, 50 to 99.9999.")]
PodSd = Annotated[float, typer.Option(help="What two pods of the same kind differ by (sd), 0 to 100.")]
Deadline = Annotated[int, typer.Option(help="Windows of evidence after which a trial ends, at least 1.")]
_MOST_WINDOWS, _MOST_CONFIDENCE = 1_000_000, 99.9999


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

    _within("--window-seconds", window_seconds, 1, 86400)
    _within("--minimum-effect-percent", minimum_effect_percent, 0, 1000)
    _within("--confidence-percent", confidence_percent, 50, _MOST_CONFIDENCE)
    _within("--pod-sd-percent", pod_sd_percent, 0, 100)
    _within("--deadline-windows", deadline_windows, 1, _MOST_WINDOWS)
    settings = Settings(
        window_seconds=window_seconds,
        minimum_effect=minimum_effect_percent / 100,
        confidence=confidence_percent / 100,
        pod_sd=pod_sd_percent / 100,
        deadline_seconds=deadline_windows * window_seconds,
    )
    with _opened(file) as stream:
        told, broken = _tell(_judged(stream, settings, file))
    if not told:
        usage(f"{file}: there is no line in it")
    if broken:
        raise typer.Exit(FAILED)


def _within(option: str, value: float, least: float, most: float) -> None:
    """Ends the command where a value, or what is no number at all, lies elsewhere."""
    if not least <= value <= most:
        usage(f"{option}: {value:.10g} is not between {least:.10g} and {most:.10g}")


def _judged(stream: BinaryIO, settings: Settings, file: str) -> Iterator[Ended | Refused | UnknownKey]:
    """What the judge says, as the lines come; ends the command where they can't be read."""
    from specdeploy.replay import judge_stream  # noqa: PLC0415

    try:
        yield from judge_stream(stream, settings)
    except OSError as error:
        usage(f"{file}: {why(error)}")


def _tell(found: Iterable[Ended | Refused | UnknownKey]) -> tuple[int, int]:
    """Prints verdicts on stdout, broken lines and unknown keys on stderr, as they come; gives the numbers of
    all that was told and of broken lines."""
    from specdeploy.replay import Refused, UnknownKey, as_json  # noqa: PLC0415

    told = broken = 0
    for each in found:
        told += 1
        if isinstance(each, Refused):
            broken += 1
            typer.echo(f"specdeploy: line {each.line}: {each.reason}", err=True)
        elif isinstance(each, UnknownKey):
            typer.echo(f"specdeploy: line {each.line}: pods have no key {each.key!r}, ignored", err=True)
        else:
            typer.echo(as_json(each))
    return told, broken


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == "-" and sys.stdin is None:  # closed by the shell: <&-
        usage("-: stdin is closed; name a file or pipe one in")
    try:
        opened = nullcontext(sys.stdin.buffer) if file == "-" else open(file, "rb")  # noqa: SIM115
    except (OSError, ValueError) as error:
        usage(f"{file}: {why(error)}")
    with opened as stream:
        yield stream
