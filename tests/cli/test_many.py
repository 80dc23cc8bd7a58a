"""Thousands of objects: what is alike is asked once, and whoever waits at a terminal is told."""

import io
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from specdeploy.cli.checking import Checks
from specdeploy.cli.main import app
from specdeploy.cli.progress import Progress
from specdeploy.cli.reading import Source, contents

ONE = """apiVersion: specdeploy.dev/v1alpha1
kind: SpecDeployment
metadata: {name: %s}
spec: {model: google/gemma-4-26B-A4B-it, drafters: [{name: a, method: ngram, numSpeculativeTokens: 3}]}
---
"""


def test_equal_specs_are_checked_once_and_told_each_at_its_place() -> None:
    first, second = contents(Source("f.yaml", ONE % "a" + ONE % "b")).objects
    assert first.spec is not None
    assert first.spec is second.spec
    checks = Checks(None, ())
    found = checks.of(first, first.spec)
    assert checks.of(second, first.spec) is found
    lines = [{read.locate_in_spec(each).line for each in found.findings} for read in (first, second)]
    assert lines[1] == {line + 5 for line in lines[0]}


def test_what_is_around_an_equal_spec_is_still_looked_at() -> None:
    good, bad = contents(Source("f.yaml", ONE % "a" + ONE % "4a")).objects
    assert (good.whole, good.found) == (True, [])
    assert (bad.whole, [each.finding.code for each in bad.found]) == (False, ["SD006"])


def test_equal_numbers_that_are_written_in_two_ways_are_told_apart() -> None:
    written = ONE.replace("spec: {", "spec: {modelRevision: %s, ")
    text = "".join(written % (name, number) for name, number in (("a", "1.10"), ("b", "1.1")))
    revisions = [read.spec.model_revision for read in contents(Source("f.yaml", text)).objects if read.spec]
    assert revisions == ["1.10", "1.1"]


def test_two_thousand_equal_objects_take_seconds(tmp_path: Path) -> None:
    file = tmp_path / "many.yaml"
    file.write_text("".join(ONE % f"a{number}" for number in range(2000)))
    begin = time.process_time()
    answer = CliRunner().invoke(app, ["lint", str(file), "-o", "json"])
    assert answer.exit_code == 0
    assert "2000 SpecDeployments" in answer.stderr
    assert time.process_time() - begin < 10


class Terminal(io.StringIO):
    """A stderr that somebody looks at."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "told"), [(Terminal(), True), (io.StringIO(), False)])
def test_only_a_terminal_is_told_how_far_it_is(
    stream: io.StringIO, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    progress = Progress()
    progress.checked()
    assert stream.getvalue() == "", "a short command says nothing"
    progress.reading(10**6)
    progress.end()
    assert ("1 SpecDeployments checked" in stream.getvalue()) == told
    assert stream.getvalue().endswith("\033[K") == told
