"""Fixtures with the real engine: its venv, two comparisons under load, failing starts, and its own word.

At most two engines are loaded at once, which is what two cores carry. Everything is made once a session, so
the tests themselves only look at what happened. Where the venv can't be made they fail, they don't skip.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import pytest

from specdeploy.cli.engine_word import EngineWord
from specdeploy.engine.catalogue.load import targets
from tests.vllm.comparison import Comparison, compare
from tests.vllm.configs import write_models
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
def models_folder(vllm_environment: VllmEnvironment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`<org>/<name>/config.json` for every model of the catalogue, and the tiny models as `tiny/<name>`."""
    folder = tmp_path_factory.mktemp("models")
    write_models(folder, targets(), vllm_environment.models)
    return folder


@pytest.fixture(scope="session")
def parser_environ(vllm_environment: VllmEnvironment) -> dict[str, str]:
    """What the engine's parser runs with: a stand-in for the package that the locked environment lacks."""
    stand_ins = str(Path(__file__).with_name("stand_ins"))
    return {**engine_environ(vllm_environment), "PYTHONPATH": stand_ins}


@pytest.fixture(scope="session")
def engine_word(
    vllm_environment: VllmEnvironment, models_folder: Path, parser_environ: dict[str, str]
) -> Iterator[EngineWord]:
    """Answers whether the real vLLM takes a command line: `engine_word.accepts([model, "--flag", ...])`."""
    with EngineWord(vllm_environment.python, models_folder, parser_environ) as engine:
        yield engine
