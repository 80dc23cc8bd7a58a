"""`lint` and `render` answer at once: they load nothing of the operator, and little beside pydantic."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "examples" / "minimal.yaml")
# The smallest program that could do the same work.
BARE = "import pydantic, typer, yaml; pydantic.BaseModel"
HEAVY = {"kopf", "kubernetes", "httpx", "aiohttp", "asyncio", "rich", "prometheus_client"}
OURS = (
    "rollout",
    "judge",
    "simulation",
    "replay",
    "cluster",
    "settings",
    "metrics",
    "gather",
    "apply",
    "api.status",
    "api.schema",
    "cli.ask",
    "cli.engine_word",
    "cli.show",
)

LOADED = """
import runpy, sys
sys.argv = ["specdeploy", *sys.argv[1:]]
try:
    runpy.run_module("specdeploy", run_name="__main__")
except SystemExit as ended:
    assert not ended.code, ended.code
print(*sys.modules, file=sys.stderr)
"""


def run(*words: str, pycache: Path) -> subprocess.CompletedProcess[str]:
    """A Python of its own, that may keep what it compiled."""
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environ |= {"PYTHONPATH": str(ROOT / "operator"), "PYTHONPYCACHEPREFIX": str(pycache)}
    return subprocess.run(
        [sys.executable, *words], env=environ, capture_output=True, text=True, check=True, timeout=240
    )


@pytest.mark.parametrize("command", ["lint", "render"])
def test_nothing_is_loaded_that_is_not_needed(command: str, tmp_path: Path) -> None:
    loaded = run("-c", LOADED, command, EXAMPLE, pycache=tmp_path).stderr.split()
    assert not HEAVY & set(loaded)
    forbidden = tuple(f"specdeploy.{name}" for name in OURS)
    assert [name for name in loaded if name.startswith(forbidden)] == []


def test_render_takes_a_few_times_what_its_libraries_take(tmp_path: Path) -> None:
    """By CPU time and relative to a bare program on the same machine: the rest of it may be busy."""
    render, bare = ("-m", "specdeploy", "render", EXAMPLE), ("-c", BARE)
    run(*render, pycache=tmp_path)
    assert min(seconds(*render, pycache=tmp_path) for _ in range(4)) < 3.5 * min(
        seconds(*bare, pycache=tmp_path) for _ in range(4)
    )


@pytest.mark.slow
def test_two_hundred_files_are_linted_in_less_time_than_a_dozen_bare_programs_take(tmp_path: Path) -> None:
    text = Path(EXAMPLE).read_text()
    (tmp_path / "files").mkdir()
    for number in range(200):
        (tmp_path / "files" / f"{number}.yaml").write_text(text.replace("replicas: 4", f"replicas: {number}"))
    lint = ("-m", "specdeploy", "lint", str(tmp_path / "files"))
    run(*lint, pycache=tmp_path)
    bare = min(seconds("-c", BARE, pycache=tmp_path) for _ in range(3))
    assert min(seconds(*lint, pycache=tmp_path) for _ in range(2)) < 12 * bare


def seconds(*words: str, pycache: Path) -> float:
    """CPU time of a run, start of Python included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(*words, pycache=pycache)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
