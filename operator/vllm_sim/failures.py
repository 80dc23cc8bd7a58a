"""Starts that fail: what the engine writes to its log, and the code it exits with.

The texts are those that people and the operator look for in the log of a real vLLM. A cause may stand far
above the last line, as it does there.
"""

from __future__ import annotations

import os
import sys

_CORE = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"

_VOCABULARY = (
    "Value error, Target and draft model should have the same vocabulary size. Target model "
    "vocab_size=151936. Draft model vocab_size=128256. Using models with different tokenizers can cause "
    "out-of-bounds errors during speculative decoding."
)
_ARCTIC = (
    "ImportError: Arctic Inference is required for suffix decoding. "
    "Install via `pip install arctic-inference==0.1.1`."
)
_MEMORY = (
    "ValueError: Free memory on device cuda:0 (11.62/191.98 GiB) on startup is less than desired GPU memory "
    "utilization ({utilization}, {desired:.2f} GiB). Decrease GPU memory utilization or reduce GPU memory "
    "used by other processes."
)


class StartFailure(Exception):  # noqa: N818 - an outcome that was asked for, or the user's mistake
    """The server cannot start: `lines` go to the log, `while_loading` after half of the start-up time."""

    exit_code = 1

    def __init__(self, lines: list[str], *, while_loading: bool = False) -> None:
        super().__init__(lines[-1])
        self.lines = lines
        self.while_loading = while_loading


def config_failure(report: str) -> StartFailure:
    """A configuration that the engine's own checks refuse; `report` is their text."""
    return StartFailure([*_traceback("create_engine_config"), *report.splitlines()])


def asked_for(kind: str, *, method: str, checkpoint: str | None, utilization: float) -> StartFailure | None:
    """The failure that the knob `fail` names, or None if it is not one of starting."""
    configs = {
        "bad-config": _validation("Value error, the draft model's config cannot be read."),
        "missing-draft": [f"OSError: Invalid repository ID or local directory specified: '{checkpoint}'."],
        "vocabulary": _validation(_VOCABULARY),
        "unsupported-method": [f"NotImplementedError: Unsupported speculative method: '{method}'"],
        "missing-package": [_ARCTIC],
    }
    if kind in configs:
        return StartFailure([*_traceback("create_engine_config"), *configs[kind]])
    memory = _MEMORY.format(utilization=utilization, desired=utilization * 191.98)
    causes = {
        "crash-loading": "ValueError: There is no module or parameter named 'model' in Eagle3Model",
        "free-memory": memory,
    }
    if kind not in causes:
        return None
    lines = [*_traceback("load_model"), causes[kind], *_traceback("wait_for_engine_startup"), _CORE]
    return StartFailure(lines, while_loading=True)


def log(*lines: str, process: str = "APIServer") -> None:
    """Write to stderr, each line with the prefix that vLLM's processes have."""
    for line in lines:
        print(f"({process} pid={os.getpid()}) {line}", file=sys.stderr, flush=True)


def _validation(problem: str) -> list[str]:
    return [
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for SpeculativeConfig",
        f"  {problem}",
    ]


def _traceback(function: str) -> list[str]:
    return ["Traceback (most recent call last):", f'  File "vllm/engine.py", line 1, in {function}']
