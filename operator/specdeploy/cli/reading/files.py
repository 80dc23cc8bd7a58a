"""Which files are meant, and their text. I/O; whatever is in a file, it is told and never raised."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .problems import Broken
from .rules import UNREADABLE

MOST_BYTES = 16 * 1024 * 1024
_ENDINGS = (".yaml", ".yml", ".json")
# What a file in a folder must hold to be looked at: beside manifests there may be templates, and more.
_OURS = ("specdeploy.dev", "SpecDeployment")
STDIN = "-"


class NoFileError(ValueError):
    """Something on the command line that is no file, or a folder with nothing in it."""


@dataclass(frozen=True)
class Source:
    """A file as it is shown, and its text or why there is none."""

    name: str
    text: str = ""
    broken: Broken | None = None


def sources(named: Iterable[str]) -> Iterator[Source]:
    """What is named: files, `-` for stdin, folders with all that is below them in the order of their names.

    Raises:
        NoFileError: a name that is none, a folder without a file, or a stdin that can't be read.
    """
    # Of `os.path`: it says no to names that no file system takes, where `Path` raises.
    for name in named:
        if name == STDIN:
            yield _piped()
        elif os.path.isdir(name):
            yield from _below(name)
        elif _is_there(name):
            yield _opened(name)
        else:
            raise NoFileError(f"{name}: no such file or folder")


def _piped() -> Source:
    if sys.stdin is None:  # closed by the shell: <&-
        raise NoFileError(f"{STDIN}: stdin is closed; name a file or pipe one in")
    try:
        return _read("stdin", sys.stdin.buffer.read(MOST_BYTES + 1))
    except OSError as error:
        raise NoFileError(
            f"{STDIN}: stdin can't be read ({error.strerror or error}); pipe a file in"
        ) from error


def _is_there(name: str) -> bool:
    """Whether something has this name, be it a link to nothing or what may not be looked at."""
    try:
        os.lstat(name)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return True


def _below(folder: str) -> Iterator[Source]:
    unlisted: list[OSError] = []
    paths = list(_paths(folder, unlisted.append))
    yield from (_closed(error.filename or folder, error) for error in unlisted)
    if not paths and not unlisted:
        raise NoFileError(f"{folder}: no file that ends in {', '.join(_ENDINGS)}")
    for path in paths:
        source = _opened(path)
        if source.broken is not None or any(word in source.text for word in _OURS):
            yield source


def _paths(folder: str, unlisted: Callable[[OSError], None]) -> Iterator[str]:
    for parent, folders, names in os.walk(folder, onerror=unlisted):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = str(Path(parent) / name)
            if name.endswith(_ENDINGS) and not _waits(path):
                yield path


def _waits(path: str) -> bool:
    """Whether it is a pipe, a socket or a device, which nobody means by the name of a folder."""
    return os.path.exists(path) and not os.path.isfile(path)


def _closed(name: str, error: OSError) -> Source:
    reason = (error.strerror or str(error)).lower()
    return Source(name, broken=Broken(UNREADABLE, 1, 1, reason, "make it readable"))


def _opened(name: str) -> Source:
    try:
        with Path(name).open("rb") as stream:
            return _read(name, stream.read(MOST_BYTES + 1))
    except OSError as error:
        return _closed(name, error)


def _read(name: str, content: bytes) -> Source:
    if len(content) > MOST_BYTES:
        reason = f"is larger than {MOST_BYTES // 1024 // 1024} MiB"
        return Source(name, broken=Broken(UNREADABLE, 1, 1, reason, "split it"))
    try:
        return Source(name, content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line, column = before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1
        broken = Broken(UNREADABLE, line, column, f"is no UTF-8 text ({error.reason})", "save it as UTF-8")
        return Source(name, broken=broken)
