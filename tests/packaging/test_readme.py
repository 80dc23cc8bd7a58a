"""What the README tells a newcomer to type, and where it leads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.main
import yaml

from specdeploy.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_its_example_is_the_smallest_of_the_examples() -> None:
    (shown,) = blocks("yaml")
    assert yaml.safe_load(shown) == yaml.safe_load((ROOT / "examples/minimal.yaml").read_text())


def test_its_commands_are_commands_and_the_files_that_they_name_are_there() -> None:
    typed = [line.split("#")[0].split()[1:] for block in blocks("console") for line in block.splitlines()
             if line.startswith("$ ")]  # fmt: skip
    ours = {words[1] for words in typed if words[0] == "specdeploy"}
    assert ours
    assert ours <= set(typer.main.get_group(app).commands)
    files = {
        word for words in typed for word in words if word.endswith(".yaml") or word.startswith("charts/")
    }
    assert [name for name in files if not (ROOT / name).exists()] == []


def test_its_make_targets_are_in_the_makefile() -> None:
    targets = set(re.findall(r"\bmake ([a-z][a-z-]*)", README))
    rules = re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert targets
    assert targets <= set(rules)


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#]+)", README))))
def test_what_it_links_to_is_there(target: str) -> None:
    assert (ROOT / target).exists()
