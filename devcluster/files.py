"""Small files: JSON written atomically, and locks between processes."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from devcluster.shell import say


def read_json(path: Path, default: Any) -> Any:
    """The parsed file; `default` when it is missing or was cut short by a crash."""
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return default


def write_text(path: Path, text: str, *, mode: int = 0o600) -> Path:
    """Write so that a reader sees the old or the new file, never half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text)
    draft.chmod(mode)
    draft.replace(path)
    return path


def write_json(path: Path, value: Any) -> Path:
    """`write_text` of the value as JSON (which is also YAML: kubelet and kubectl read it)."""
    return write_text(path, json.dumps(value, indent=1) + "\n")


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold an exclusive lock; says that it waits when another process has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process that is at work on {what}")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
