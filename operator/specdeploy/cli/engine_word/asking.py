"""Asks an installed vLLM's own parser and validation: ten seconds to start, then milliseconds a question.

One child process (`child`) is started by the interpreter that has vLLM, imports it once and answers.
`verdict` compares its answers with the rules; `make test-vllm` asks it some hundred questions.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

# Importing vLLM takes 7 to 60 s, and the first look at a model's architecture up to 20 s.
ANSWER_SECONDS = 180.0
LOG_LINES = 15
NO_VLLM = "ModuleNotFoundError: No module named 'vllm'"

# A question needs no network: a model's configuration is in a folder or in the hub's cache, or it is missing.
QUIET = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}

# Variables by which vLLM decides about arguments, and ends of those that name places in the container.
READ = ("VLLM_", "INKLING_")
PLACES = ("_ROOT", "_PATH", "_DIR", "_FOLDER", "_ASSETS_CACHE", "_MEDIA_CACHE")


class EngineWordError(Exception):
    """The engine could not be asked: its interpreter has no vLLM, it died, or it gave no answer in time."""


@dataclass(frozen=True)
class Answer:
    """What vLLM says to a command line.

    `ok`: an engine would go on to load its weights. Else `error` is vLLM's own text; `unasked` says why that
    is no answer, when it is about this installation and not about the arguments: a model's configuration is
    not here. `method`: of speculation, in force; vLLM can make another one of the one asked for. Empty: none.
    """

    ok: bool
    error: str = ""
    unasked: str = ""
    method: str = ""


class EngineWord:
    """The conversation with one vLLM; a context manager. The child ends with it, and whatever it started.

    Attributes:
        python: the interpreter that has vLLM, a path or a name on PATH.
        models: a folder in which `<org>/<name>/config.json` stands for the hub's; None: the hub's cache.
        environ: the child's environment, on top of which downloads and usage reports are off unless it sets
            those variables itself. None: this process's own.
        answer_seconds: how long an answer may take, the first one with the start included.
    """

    def __init__(
        self,
        python: Path | str,
        models: Path | None = None,
        environ: Mapping[str, str] | None = None,
        *,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        self._python = python
        self._models = models
        self._environ = {**QUIET, **(os.environ if environ is None else environ)}
        self._answer_seconds = answer_seconds
        self._hello: dict[str, Any] | None = None
        self._unread = b""

    def __enter__(self) -> "EngineWord":
        """Starts the child and does not wait for it.

        Raises:
            EngineWordError: there is no such interpreter or folder.
        """
        python = shutil.which(str(self._python))
        if python is None:
            raise EngineWordError(f"{self._python} is no interpreter; name one that has vLLM")
        if self._models is not None and not self._models.is_dir():
            raise EngineWordError(f"{self._models} is no folder of models")
        self._log: IO[bytes] = tempfile.TemporaryFile()
        self._answers, answers = os.pipe()  # a pipe of their own: vLLM and its libraries print to stdout
        self._child = self._started(os.path.abspath(python), answers)
        os.close(answers)
        return self

    def _started(self, python: str, answers: int) -> subprocess.Popen[bytes]:
        """The child, in a session of its own, that writes to the descriptor `answers`."""
        # Its folder is where a relative path begins, so a folder `org/name` goes before the hub's model.
        return subprocess.Popen(
            [python, str(Path(__file__).with_name("child.py")), str(answers)],
            env=self._environ,
            cwd=self._models,
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            pass_fds=(answers,),
            start_new_session=True,
        )

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.communicate()
        os.close(self._answers)
        self._log.close()

    def version(self) -> str:
        """The version of the vLLM that answers: `0.32.0+cpu`. For errors see `accepts`."""
        return str(self._introduction()["version"])

    def platform(self) -> str:
        """What its build is for: `cpu`, or `cuda` (which ROCm's builds say too). For errors see `accepts`."""
        return str(self._introduction()["platform"])

    def accepts(
        self,
        arguments: Sequence[str],
        variables: Mapping[str, str] | None = None,
        memory_gib: float | None = None,
    ) -> Answer:
        """Asks about what would follow `vllm serve`: the model, then flags.

        `variables`: of the engine's environment; those that name places are left out. `memory_gib`: of its
        GPU, on which defaults depend; None: unknown.

        Raises:
            EngineWordError: the child died or gave no answer in time; the text ends with the tail of its log.
        """
        self._introduction()
        assert self._child.stdin is not None
        read = {name: value for name, value in (variables or {}).items() if _is_read(name)}
        question = {"arguments": list(arguments), "variables": read, "memory_gib": memory_gib}
        with contextlib.suppress(BrokenPipeError):  # it died; reading the answer says how
            self._child.stdin.write(json.dumps(question).encode() + b"\n")
            self._child.stdin.flush()
        return Answer(**self._next_answer())

    def _introduction(self) -> dict[str, Any]:
        if self._hello is None:
            self._hello = self._next_answer()
        return self._hello

    def _next_answer(self) -> dict[str, Any]:
        deadline = time.monotonic() + self._answer_seconds
        while b"\n" not in self._unread:
            left = max(deadline - time.monotonic(), 0)
            if not select.select([self._answers], [], [], left)[0]:
                raise EngineWordError(self._with_log(f"vLLM gave no answer in {self._answer_seconds:g} s"))
            more = os.read(self._answers, 1 << 16)
            if not more:
                raise EngineWordError(self._with_log(f"vLLM ended with code {self._child.wait()}"))
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _with_log(self, what: str) -> str:
        self._log.seek(0)
        tail = self._log.read().decode(errors="replace").splitlines()[-LOG_LINES:]
        if tail and tail[-1].endswith(NO_VLLM):
            return f"{self._python} has no vLLM; name an interpreter that has it"
        return "\n".join([f"{self._python}: {what}; its log ends with", *tail])


def _is_read(variable: str) -> bool:
    return variable.startswith(READ) and not variable.endswith(PLACES)
