"""The Dockerfile: what the images run as, and what gets into them."""

import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Instruction = tuple[str, str]


def stages() -> dict[str, list[Instruction]]:
    """Instructions of each stage in order, FROM first, by stage name."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    text = text.replace("\\\n", " ")
    found: dict[str, list[Instruction]] = {}
    current: list[Instruction] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        word, _, rest = line.partition(" ")
        if word == "FROM":
            current = found.setdefault(rest.rpartition(" AS ")[2], [])
        current.append((word, rest.strip()))
    return found


def last(stage: str, word: str) -> str:
    """The argument that counts: the last one in the stage or in those that it is made from."""
    instructions = stages()[stage]
    values = [rest for name, rest in instructions if name == word]
    return values[-1] if values else last(instructions[0][1].partition(" ")[0], word)


def test_a_build_without_a_target_is_the_operator() -> None:
    assert list(stages())[-1] == "operator"


@pytest.mark.parametrize("target", ["operator", "sim"])
def test_an_image_runs_as_a_numeric_user_without_rights(target: str) -> None:
    assert last(target, "USER") == "65532:65532"


@pytest.mark.parametrize(("target", "command"), [("operator", ["specdeploy"]), ("sim", ["vllm", "serve"])])
def test_an_image_starts_what_it_is_named_after(target: str, command: list[str]) -> None:
    assert json.loads(last(target, "ENTRYPOINT")) == command


def test_the_operator_runs_when_nothing_else_is_said() -> None:
    assert json.loads(last("operator", "CMD")) == ["run"]


def test_the_entry_point_is_a_script_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert json.loads(last("operator", "ENTRYPOINT"))[0] in project["scripts"]


def test_python_writes_nothing_at_run_time_and_its_bytecode_is_there() -> None:
    assert "PYTHONDONTWRITEBYTECODE=1" in last("operator", "ENV")
    for stage in ("dependencies", "product"):
        assert any("compileall" in rest for word, rest in stages()[stage] if word == "RUN")


def test_every_stage_starts_from_the_one_base_or_from_another_stage() -> None:
    names = set(stages())
    bases = {instructions[0][1].partition(" ")[0] for instructions in stages().values()}
    assert bases <= names | {"${BASE}"}


def test_what_runs_gets_the_environment_and_nothing_of_the_build() -> None:
    copies = [rest for word, rest in stages()["runtime"] if word == "COPY"]
    assert copies == [
        "--from=dependencies /opt/specdeploy /opt/specdeploy",
        "--from=product /product /opt/specdeploy",
    ]


def test_packages_come_from_the_lock_alone() -> None:
    installs = [
        step
        for instructions in stages().values()
        for word, rest in instructions
        if word == "RUN"
        for step in rest.split("&&")
        if re.search(r"pip\b.* install ", step)
    ]
    assert installs
    for step in installs:
        assert "--constraint requirements-dev.lock" in step or "--no-deps" in step


def test_what_is_copied_is_let_through_and_nothing_else() -> None:
    sources = {
        source
        for instructions in stages().values()
        for word, rest in instructions
        if word == "COPY" and not rest.startswith("--from")
        for source in rest.split()[:-1]
    }
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in ignore
    assert {line[1:] for line in ignore if line.startswith("!")} == sources
