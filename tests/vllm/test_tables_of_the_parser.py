"""The tables of flags and variables against the parser of an installed vLLM.

For a new release: what fails here is what to write into `engine/tables/flags.py` and `tables/variables.py`.
"""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from specdeploy.api.rule import errors
from specdeploy.api.spec import Spec
from specdeploy.engine import parser
from specdeploy.engine.arguments import OWNED
from specdeploy.engine.checks import on_spec
from specdeploy.engine.parser import Takes
from specdeploy.engine.rules import flags
from specdeploy.engine.setting import setting_of
from specdeploy.engine.tables import flags as tables_flags
from specdeploy.engine.tables import variables as tables_variables
from specdeploy.engine.versions import Version, parse_version
from tools.vllm.environment import VllmEnvironment

pytestmark = pytest.mark.vllm

CHILD = Path(__file__).with_name("parser_child.py")
WORDS = {"none": Takes.NONE, "one": Takes.ONE, "maybe": Takes.MAYBE, "some": Takes.SOME}


# What a value can look like.
VALUES = (
    "8",
    "16k",
    "-1",
    "0.5",
    "true",
    "auto",
    "{}",
    "{",
    "x",
    "",
    "None",
    "1e3",
    "a=b",
    "half",
    "fp8",
    "[1]",
)
# Rules that say what the parser itself would say; others look at what vLLM makes of the arguments later.
OF_THE_PARSER = {rule.code for rule in flags.RULES} - {flags.NO_OBJECT.code}
# Of what the parser refuses, this share at least is found; the rest are choices that the tables do not list.
LEAST_FOUND = 0.95


def made_up() -> list[list[str]]:
    """Lists of arguments, right and wrong: names that are cut, doubled, negated, with values of all kinds."""
    dice = random.Random(20261130)
    names = sorted(({*tables_flags.SPANS} | {*tables_flags.GONE_BEFORE}) - {*OWNED})
    return [
        [word for _ in range(dice.randint(1, 2)) for word in _argument(dice, dice.choice(names))]
        for _ in range(1500)
    ]


def _argument(dice: random.Random, name: str) -> list[str]:
    spelling = dice.random()
    if spelling < 0.1:
        name = name[: dice.randint(4, len(name))]
    elif spelling < 0.15:
        name = f"--no-{name.removeprefix('--')}"
    elif spelling < 0.2:
        name = f"--{name.removeprefix('--').replace('-', '_')}"
    elif spelling < 0.25:
        name += "x"
    given = [dice.choice(VALUES) for _ in range(dice.choice([0, 1, 1, 1, 2]))]
    if given and dice.random() < 0.2:
        name = f"{name}={given.pop()}"
    return [name, *given]


def errors_of(arguments: list[str], version: str) -> set[str]:
    """Codes of the errors on engine.args."""
    engine = {"image": f"vllm/vllm-openai-rocm:v{version}", "args": arguments}
    spec = Spec.model_validate({"model": "org/model", "replicas": 1, "engine": engine})
    found = errors(on_spec(setting_of(spec)))
    return {each.code for each in found if each.field.startswith("spec.engine.args")}


@pytest.fixture(scope="module")
def known(vllm_environment: VllmEnvironment) -> dict[str, Any]:
    """What the installed vLLM knows."""
    child = subprocess.run(
        [vllm_environment.python, CHILD],
        input=json.dumps(made_up()),
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
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


def test_of_made_up_arguments_none_that_the_parser_takes_is_an_error_and_most_that_it_refuses_are(
    known: dict[str, Any], version: Version
) -> None:
    cases = [
        (each, why, errors_of(each, str(version)))
        for each, why in zip(made_up(), known["refused"], strict=True)
    ]
    assert [(each, codes) for each, why, codes in cases if why is None and codes & OF_THE_PARSER] == []
    refused = [codes for _, why, codes in cases if why is not None]
    assert 500 < len(refused) < 1450, "the made-up arguments are of both kinds"
    assert sum(map(bool, refused)) >= LEAST_FOUND * len(refused)
