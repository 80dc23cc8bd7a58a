"""Writes the two lock files from what an environment has installed.

Run it with the interpreter of an environment in which the tests pass: `python tools/lock.py`. It asks no
index, so what is pinned is what was tested, and the files name no index address.

`requirements.lock` is what the operator needs (the image installs it); `requirements-dev.lock` is that and
what building and testing need. Both are flat lists, so that each also serves as a constraints file.
"""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
HEADER = "# Written by tools/lock.py; don't edit.\n"

_REQUIREMENT = re.compile(r"\s*(?P<name>[\w.-]+)\s*(?:\[(?P<extras>[^\]]*)\])?[^;]*(?:;(?P<marker>.*))?")
_EXTRA_MARKER = re.compile(r"extra\s*==\s*['\"](?P<extra>[^'\"]+)['\"]")


class Requirement(NamedTuple):
    """One requirement, without its version range (what is installed has met it)."""

    name: str
    extras: frozenset[str]
    for_extras: frozenset[str]  # the extras of the requiring package that ask for it; empty: always asked for
    conditional: bool  # another marker decides whether it applies to this system and Python


def normalized(name: str) -> str:
    """The name as indexes compare it: lower case, runs of `-`, `_` and `.` as one `-`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def parse(text: str) -> Requirement:
    """Reads a requirement such as `httpx[http2]>=0.28; extra == "web"`."""
    match = _REQUIREMENT.match(text)
    if match is None:
        raise ValueError(f"not a requirement: {text!r}")
    extras = frozenset(normalized(e.strip()) for e in (match["extras"] or "").split(",") if e.strip())
    marker = match["marker"] or ""
    for_extras = frozenset(normalized(m["extra"]) for m in _EXTRA_MARKER.finditer(marker))
    conditional = bool(_EXTRA_MARKER.sub("", marker).strip())
    return Requirement(normalized(match["name"]), extras, for_extras, conditional)


def _requirements_of(name: str, extras: frozenset[str]) -> Iterator[Requirement]:
    for text in metadata.requires(name) or []:
        requirement = parse(text)
        if not requirement.for_extras or requirement.for_extras & extras:
            yield requirement


def closure(wanted: Iterable[str]) -> dict[str, str]:
    """Version of every package that `wanted` needs, itself included, by normalized name.

    A dependency behind a marker (another system, an older Python) applies if it is installed. One without a
    marker that is not installed raises PackageNotFoundError.
    """
    pins: dict[str, str] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    todo = [parse(text) for text in wanted]
    while todo:
        requirement = todo.pop()
        if (requirement.name, requirement.extras) in seen:
            continue
        try:
            pins[requirement.name] = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            if requirement.conditional:
                continue
            raise
        seen.add((requirement.name, requirement.extras))
        todo += _requirements_of(requirement.name, requirement.extras)
    return pins


def as_text(pins: dict[str, str]) -> str:
    """The lock file of these pins: sorted, one a line."""
    return HEADER + "".join(f"{name}=={pins[name]}\n" for name in sorted(pins))


def locks(pyproject: Path) -> dict[str, str]:
    """Content of each lock file, by file name, for the dependencies that `pyproject` names."""
    project = tomllib.loads(pyproject.read_text())["project"]
    runtime: list[str] = project["dependencies"]
    development: list[str] = project["optional-dependencies"]["dev"]
    return {
        "requirements.lock": as_text(closure(runtime)),
        "requirements-dev.lock": as_text(closure(runtime + development)),
    }


def main() -> int:
    """Writes both files; 1 if the environment lacks a dependency."""
    try:
        texts = locks(ROOT / "pyproject.toml")
    except metadata.PackageNotFoundError as missing:
        print(f"{missing.name} is not installed in this environment: install it first", file=sys.stderr)
        return 1
    for name, text in texts.items():
        (ROOT / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
