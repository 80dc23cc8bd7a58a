"""Asks the real vLLM's own parser and validation whether it takes a command line: milliseconds a question.

One child process in the vLLM venv (`probe_child.py`) imports vLLM once, about 10 s, and then answers.
Use it through the fixture `probe`.
"""

from __future__ import annotations

import json
import select
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ANSWER_SECONDS = 120


@dataclass(frozen=True)
class Answer:
    """`ok`: the engine would start its loading with these arguments; else `error` is vLLM's own text."""

    ok: bool
    error: str


class EngineProbe:
    """The child process and the conversation with it; a context manager."""

    def __init__(self, python: Path, environ: dict[str, str], log: Path) -> None:
        self._log = log
        with log.open("wb") as errors:
            self._child = subprocess.Popen(
                [str(python), str(Path(__file__).with_name("probe_child.py"))],
                env=environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )

    def __enter__(self) -> EngineProbe:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()
        self._child.communicate()

    def accepts(self, args: Sequence[str]) -> Answer:
        """Asks about what would follow `vllm serve`: the model's folder, then flags.

        Raises:
            AssertionError: the child died or gave no answer in time; the text ends with its log.
        """
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps({"args": list(args)}).encode() + b"\n")
        self._child.stdin.flush()
        said: dict[str, Any] = json.loads(self._next_line())
        return Answer(ok=said["ok"], error=said["error"])

    def _next_line(self) -> bytes:
        assert self._child.stdout is not None
        readable, _, _ = select.select([self._child.stdout], [], [], ANSWER_SECONDS)
        line = self._child.stdout.readline() if readable else b""
        assert line, f"no answer from the probe\n{self._log.read_text(errors='replace')[-3000:]}"
        return line
