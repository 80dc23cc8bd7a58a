"""Rules of the house that no linter knows."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(
    [*ROOT.glob("operator/**/*.py"), *ROOT.glob("devcluster/**/*.py"), *ROOT.glob("demo/**/*.py")]
)
LOCKS = [ROOT / n for n in ("requirements.lock", "requirements-dev.lock", "tools/vllm/requirements.lock")]


def test_operator_is_a_source_root_and_never_a_package() -> None:
    """A file operator/__init__.py would shadow the standard library's `operator`."""
    assert not (ROOT / "operator" / "__init__.py").exists()


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_module_says_where_it_stands_and_stays_short(path: Path) -> None:
    text = path.read_text()
    assert ast.get_docstring(ast.parse(text)), "no module docstring"
    assert len(text.splitlines()) <= 320


def test_the_simulated_engine_and_the_operator_do_not_know_each_other() -> None:
    for path in ROOT.glob("operator/vllm_sim/**/*.py"):
        assert not re.search(r"^\s*(from|import) specdeploy", path.read_text(), re.MULTILINE), path


def test_the_version_is_said_once_more_only_where_it_must_be() -> None:
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None
    assert f'__version__ = "{version[1]}"' in (ROOT / "operator/specdeploy/__init__.py").read_text()
    assert f"appVersion: {version[1]}" in (ROOT / "charts/specdeploy/Chart.yaml").read_text()


@pytest.mark.parametrize("path", LOCKS, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_lock_pins_everything_and_names_no_index(path: Path) -> None:
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line), line
