"""The tables of flags and variables against the parser of an installed vLLM.

For a new release: what fails here is what to write into `engine/tables_flags.py` and `tables_variables.py`.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from specdeploy.engine import parser, tables_variables
from specdeploy.engine.parser import Takes
from specdeploy.engine.versions import Version, parse_version
from tools.vllm.environment import VllmEnvironment

pytestmark = pytest.mark.vllm

CHILD = Path(__file__).with_name("parser_child.py")
WORDS = {"none": Takes.NONE, "one": Takes.ONE, "maybe": Takes.MAYBE, "some": Takes.SOME}


@pytest.fixture(scope="module")
def known(vllm_environment: VllmEnvironment) -> dict[str, Any]:
    """What the installed vLLM knows."""
    child = subprocess.run(
        [vllm_environment.python, CHILD], capture_output=True, text=True, timeout=180, check=True
    )
    found: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def version(known: dict[str, Any]) -> Version:
    found = parse_version(known["version"])
    assert found is not None
    return found


def test_the_table_has_the_flags_that_the_parser_has_and_knows_what_they_take(
    known: dict[str, Any], version: Version
) -> None:
    theirs = {name: WORDS[takes] for name, takes in known["flags"].items()}
    ours = parser.options(version)
    assert sorted(theirs.keys() - ours.keys()) == [], "the table lacks them"
    assert sorted(ours.keys() - theirs.keys()) == [], "the parser does not have them"
    assert {name: takes for name, takes in ours.items() if takes is not theirs[name]} == {}


def test_the_table_has_the_variables_that_the_release_knows(known: dict[str, Any], version: Version) -> None:
    ours = {name for name, span in tables_variables.SPANS.items() if span.holds(version)}
    assert ours ^ set(known["variables"]) == set()
