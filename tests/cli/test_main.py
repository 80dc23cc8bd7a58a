"""The commands as a user types them: one clear line on stderr, a non-zero exit, never a traceback."""

import os
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import typer
import yaml
from typer.testing import CliRunner

from specdeploy import __version__
from specdeploy.api.status import seconds
from specdeploy.cli import exits
from specdeploy.cli.ask import current_namespace
from specdeploy.cli.main import app, order_value, reported
from specdeploy.cluster import Forbidden, NotFound, Refused, Unavailable
from specdeploy.preflight import PreflightError
from specdeploy.settings import SettingsError

RUN = CliRunner()
ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "examples" / "minimal.yaml")


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
        timeout=240,
    )
    assert answer.returncode == 2
    assert answer.stderr.startswith("specdeploy: ")
    assert len(answer.stderr.strip().splitlines()) == 1


def test_a_wrong_setting_is_named_with_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECDEPLOY_WORKERS", "many")
    answer = RUN.invoke(app, ["run"])
    assert answer.exit_code == 2
    assert "SPECDEPLOY_WORKERS='many'" in answer.stderr


@pytest.mark.parametrize("drafter", [None, "eagle"])
def test_two_orders_in_one_second_differ_and_the_second_is_the_later_one(drafter: str | None) -> None:
    first = datetime(2027, 1, 15, 8, 0, tzinfo=UTC)
    values = [order_value(first + timedelta(microseconds=n), drafter) for n in (0, 1, 999_999)]
    read = [seconds(value.partition("/")[0]) for value in values]
    assert read == sorted(set(read))
    assert {value.partition("/")[2] for value in values} == {drafter or ""}


def test_the_version_is_the_packages() -> None:
    answer = RUN.invoke(app, ["--version"])
    assert (answer.exit_code, answer.output) == (0, f"specdeploy {__version__}\n")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NotFound("there is no such object"), 2),
        (Unavailable("nobody answers"), 2),
        (SettingsError("SPECDEPLOY_WORKERS='many'"), 2),
        (OSError("the port is in use"), 2),
        (Forbidden("rights are missing"), 1),
        (Refused("the body is wrong"), 1),
        (PreflightError("Kubernetes is too old"), 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_cluster_that_says_no_is_told_from_one_that_can_not_be_asked(
    error: Exception, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended, reported():
        raise error
    assert ended.value.exit_code == code
    assert capsys.readouterr().err == f"specdeploy: {error}\n"


# Much and little; through typer, rich and nothing between.
ANSWERS = [["crd"], ["render", EXAMPLE], ["catalog"], ["simulate", "-o", "yaml"], ["--version"]]


def typed(line: str, stdout: int = subprocess.PIPE) -> tuple[int, str]:
    """Exit code and stderr of a line of a shell, in which `specdeploy` is the command."""
    command = f'specdeploy() {{ {shlex.quote(sys.executable)} -m specdeploy "$@"; }}; {line}'
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "operator")}
    ended = subprocess.run(
        ["bash", "-c", command], env=environ, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False,
        timeout=240,
    )  # fmt: skip
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("words", ANSWERS, ids=" ".join)
def test_a_reader_that_has_gone_is_told_as_a_shell_tells_it(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        assert typed(f"specdeploy {shlex.join(words)}; echo $? >&2", stdout=writing) == (0, "141\n")
    finally:
        os.close(writing)


@pytest.mark.parametrize("words", ANSWERS, ids=" ".join)
def test_an_answer_that_nobody_wants_is_no_mistake(words: list[str]) -> None:
    assert typed(f"specdeploy {shlex.join(words)} >&-") == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is always full")
@pytest.mark.parametrize("words", ANSWERS, ids=" ".join)
def test_an_answer_that_can_not_be_written_is_one_line(words: list[str]) -> None:
    said = "specdeploy: the answer can't be written: no space left on device\n"
    assert typed(f"specdeploy {shlex.join(words)} >/dev/full") == (2, said)


@pytest.mark.parametrize("closed", ["2>&-", "2>&- >&-", "2>&- >&- <&-"])
def test_the_exit_code_is_the_same_where_nothing_can_be_said(closed: str) -> None:
    assert typed(f"specdeploy lint /no/such/file {closed}") == (2, "")


@pytest.mark.parametrize("command", ["lint -", "render -", "replay -"])
def test_a_stdin_that_is_closed_is_named(command: str) -> None:
    said = "specdeploy: -: stdin is closed; name a file or pipe one in\n"
    assert typed(f"specdeploy {command} <&-") == (2, said)


def test_every_exit_code_is_in_the_table() -> None:
    page = (ROOT / "docs" / "lint.md").read_text()
    codes = {int(found) for found in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    assert codes == {0, exits.FAILED, exits.USAGE, 130, exits.CLOSED_PIPE}


@pytest.mark.parametrize(
    ("config", "namespace"),
    [
        ("current-context: a\ncontexts: [{name: a, context: {namespace: llm}}]\n", "llm"),
        ("current-context: b\ncontexts: [{name: a, context: {namespace: llm}}]\n", "default"),
        ("current-context: a\ncontexts: a\n", "default"),
        ("current-context: a\ncontexts: [a, {name: a, context: b}]\n", "default"),
        ("current-context: a\ncontexts: [{name: a, context: {namespace: [x]}}]\n", "default"),
        ("\t", "default"),
        ("[" * 5000, "default"),
    ],
)
def test_the_namespace_is_the_kubeconfigs_whatever_is_in_it(
    config: str, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text(config)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    assert current_namespace() == namespace


def test_a_command_that_does_not_exist_is_a_usage_error() -> None:
    assert RUN.invoke(app, ["frobnicate"]).exit_code == 2
