"""The lock files: complete, exact, and without a word about where packages come from."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import lock

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RUNTIME = PROJECT["dependencies"]
DEVELOPMENT = RUNTIME + PROJECT["optional-dependencies"]["dev"]
WANTED = {"requirements.lock": RUNTIME, "requirements-dev.lock": DEVELOPMENT}
PIN = re.compile(r"(?P<name>[a-z0-9-]+)==(?P<version>[A-Za-z0-9.+!]+)")


def pins(name: str) -> dict[str, str]:
    """Version by package name; fails on a line that is no comment and no exact pin."""
    lines = [line for line in (ROOT / name).read_text().splitlines() if not line.startswith("#")]
    matches = [PIN.fullmatch(line) for line in lines]
    assert all(matches), [line for line, match in zip(lines, matches, strict=True) if not match]
    return {match["name"]: match["version"] for match in matches if match}


@pytest.mark.parametrize("name", WANTED)
def test_every_dependency_of_the_project_is_locked_within_its_range(name: str) -> None:
    locked = pins(name)
    for requirement in map(Requirement, WANTED[name]):
        assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)]), requirement


@pytest.mark.parametrize("name", WANTED)
def test_what_locked_packages_need_is_locked_too(name: str) -> None:
    locked = pins(name)
    needed = {
        canonicalize_name(requirement.name)
        for package in locked
        for requirement in map(Requirement, metadata.requires(package) or [])
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    }
    assert needed <= set(locked)


def test_the_tests_run_on_the_versions_that_are_locked() -> None:
    locked = pins("requirements-dev.lock")
    assert {name: metadata.version(name) for name in locked} == locked


def test_the_lock_for_development_has_the_runtime_as_it_is() -> None:
    assert pins("requirements.lock").items() <= pins("requirements-dev.lock").items()


def test_the_image_gets_no_tool_of_development() -> None:
    assert not {"pytest", "mypy", "ruff", "hatchling", "pip"} & set(pins("requirements.lock"))


def test_locking_this_environment_again_changes_nothing() -> None:
    assert lock.locks(ROOT / "pyproject.toml") == {name: (ROOT / name).read_text() for name in WANTED}


@pytest.mark.parametrize(
    ("text", "name", "extras", "for_extras", "conditional"),
    [
        ("httpx>=0.28,<1", "httpx", set(), set(), False),
        ("PyYAML", "pyyaml", set(), set(), False),
        ("ruamel_yaml.clib (>=0.2)", "ruamel-yaml-clib", set(), set(), False),
        ("httpx[HTTP2, cli_x] >=0.28", "httpx", {"http2", "cli-x"}, set(), False),
        ("h2>=3 ; extra == 'http2'", "h2", set(), {"http2"}, False),
        ('tomli; python_version < "3.11"', "tomli", set(), set(), True),
        ('uvloop; sys_platform != "win32" and extra == "full"', "uvloop", set(), {"full"}, True),
    ],
)
def test_a_requirement_is_read(
    text: str, name: str, extras: set[str], for_extras: set[str], conditional: bool
) -> None:
    assert lock.parse(text) == (name, extras, for_extras, conditional)


def test_an_extra_that_nobody_asked_for_is_not_locked() -> None:
    assert "h2" not in lock.closure(["httpx"])


def test_a_dependency_that_is_not_installed_is_an_error() -> None:
    with pytest.raises(metadata.PackageNotFoundError):
        lock.closure(["no-such-package-anywhere"])


def test_a_dependency_for_another_system_is_left_out() -> None:
    assert lock.closure(['no-such-package-anywhere; sys_platform == "win32"']) == {}
