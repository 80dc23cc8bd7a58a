"""Fixtures with the real engine: its venv, two comparisons under load, failing starts, and the probe.

At most two engines are loaded at once, which is what two cores carry. Everything is made once a session, so
the tests themselves only look at what happened. Where the venv can't be made they fail, they don't skip.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vllm.comparison import Comparison, compare
from tests.vllm.engine_probe import EngineProbe
from tests.vllm.server import drafters, engine_environ, running
from tools.vllm.environment import VllmEnvironment, ensure


@pytest.fixture(scope="session")
def vllm_environment() -> VllmEnvironment:
    try:
        ctypes.CDLL("libnuma.so.1")
    except OSError as missing:
        pytest.fail(f"{missing}: the engine needs it on this machine (apt-get install libnuma1)")
    return ensure()


@pytest.fixture(scope="session")
def log_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("vllm")


@pytest.fixture(scope="session")
def comparisons(vllm_environment: VllmEnvironment, log_folder: Path) -> dict[str, Comparison]:
    """The n-gram drafter and the random EAGLE-3 head, each measured beside the same running baseline."""
    found = {}
    with running(vllm_environment, log_folder, "baseline") as baseline:
        for name, args in drafters(vllm_environment).items():
            with running(vllm_environment, log_folder, name, args) as drafter:
                found[name] = compare(baseline, drafter)
    return found


@pytest.fixture(scope="session")
def ngram(comparisons: dict[str, Comparison]) -> Comparison:
    return comparisons["ngram"]


@pytest.fixture(scope="session")
def random_eagle3(comparisons: dict[str, Comparison]) -> Comparison:
    return comparisons["eagle3"]


@pytest.fixture(scope="session")
def probe(vllm_environment: VllmEnvironment, log_folder: Path) -> Iterator[EngineProbe]:
    """Answers whether the real vLLM takes a command line: `probe.accepts([model, "--flag", ...])`."""
    environ = engine_environ(vllm_environment)
    with EngineProbe(vllm_environment.python, environ, log_folder / "probe.log") as running_probe:
        yield running_probe
