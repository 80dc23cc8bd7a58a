"""`python -m benchmarks.cli`: how long `specdeploy render` of one file and `lint` of 200 files take.

Each command runs several times in a process of its own, the start of Python included, its compiled modules
warm -> a line with the least wall time, the least CPU time, and what the bare libraries (pydantic, typer,
PyYAML) take to import beside it. The exit code is 1 if a command's least wall time is over its bar.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "minimal.yaml"
FILES = 200
LONGEST_SECONDS = 120.0
LIBRARIES = ("-c", "import pydantic, typer, yaml; pydantic.BaseModel")


@dataclass(frozen=True)
class Case:
    """A command of `python`, and the seconds in which it is to be done; None: for comparison."""

    name: str
    words: tuple[str, ...]
    bar: float | None = None


def cases(folder: Path) -> tuple[Case, ...]:
    """What is timed. `folder`: 200 files."""
    return (
        Case("bare libraries", LIBRARIES),
        Case("render, 1 file", ("-m", "specdeploy", "render", str(EXAMPLE)), 0.3),
        Case(f"lint, {FILES} files", ("-m", "specdeploy", "lint", str(folder)), 2.0),
    )


def write_files(folder: Path) -> None:
    """200 specs that differ."""
    text = EXAMPLE.read_text()
    for number in range(FILES):
        (folder / f"{number}.yaml").write_text(text.replace("replicas: 4", f"replicas: {number + 1}"))


def timed(words: tuple[str, ...], compiled: Path) -> tuple[float, float]:
    """Wall and CPU seconds of one run."""
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environ |= {"PYTHONPATH": str(ROOT / "operator"), "PYTHONPYCACHEPREFIX": str(compiled)}
    started = time.perf_counter()
    with subprocess.Popen([sys.executable, *words], env=environ, stdout=subprocess.DEVNULL) as process:
        guard = Timer(LONGEST_SECONDS, process.kill)
        guard.start()
        # Waiting with a time limit looks every 50 ms only.
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        guard.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {process.returncode}")
    return wall, used.ru_utime + used.ru_stime


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    late = False
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made, "files")
        folder.mkdir()
        write_files(folder)
        for case in cases(folder):
            timed(case.words, Path(made, "compiled"))
            walls, cpus = zip(*(timed(case.words, Path(made, "compiled")) for _ in range(runs)), strict=True)
            late = late or (case.bar is not None and min(walls) > case.bar)
            bar = f"  bar {case.bar:.1f} s" if case.bar else ""
            print(f"{case.name:>16}: {min(walls):.2f} s wall, {min(cpus):.2f} s CPU, best of {runs}{bar}")
    return 1 if late else 0


if __name__ == "__main__":
    raise SystemExit(main())
