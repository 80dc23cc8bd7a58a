"""The commands as a user types them: one clear line on stderr, a non-zero exit, never a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from specdeploy.cli.main import app

RUN = CliRunner()
ROOT = Path(__file__).parents[2]


def test_crd_prints_what_is_committed() -> None:
    answer = RUN.invoke(app, ["crd"])
    committed = ROOT / "crds" / "specdeployments.yaml"
    assert answer.exit_code == 0
    assert yaml.safe_load(answer.output) == yaml.safe_load(committed.read_text())


@pytest.mark.parametrize(
    "words",
    [
        ["status"],
        ["explain", "gemma"],
        ["plot", "gemma", "-o", "x.svg"],
        ["abort", "gemma"],
        ["pause", "gemma"],
        ["run"],
    ],
)
def test_without_a_cluster_every_command_ends_with_one_line(words: list[str], tmp_path: Path) -> None:
    """In a process of its own: the Kubernetes client reads KUBECONFIG once, when it is imported."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("KUBE")}
    answer = subprocess.run(
        [sys.executable, "-m", "specdeploy", *words],
        env={**inherited, "KUBECONFIG": str(tmp_path / "none"), "PYTHONPATH": str(ROOT / "operator")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert answer.returncode == 1
    assert answer.stderr.startswith("specdeploy: ")
    assert len(answer.stderr.strip().splitlines()) == 1


def test_a_wrong_setting_is_named_with_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECDEPLOY_WORKERS", "many")
    answer = RUN.invoke(app, ["run"])
    assert answer.exit_code == 1
    assert "SPECDEPLOY_WORKERS='many'" in answer.stderr


def test_a_command_that_does_not_exist_is_a_usage_error() -> None:
    assert RUN.invoke(app, ["frobnicate"]).exit_code == 2
