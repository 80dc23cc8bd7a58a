"""Paths of fields: as steps, as the dotted text of a finding, and back."""

import re

Path = tuple[str | int, ...]

DRAFTERS: Path = ("spec", "drafters")

_PLAIN_STEP = re.compile(r"[A-Za-z_][-\w]*\Z")
_STEP = re.compile(r'\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|\.?([^.\[]+)')


def dotted(path: Path) -> str:
    """`spec.drafters[0].name`; a key that is no plain word stands in brackets and quotes."""
    steps = (
        f"[{step}]"
        if isinstance(step, int)
        else f".{step}"
        if _PLAIN_STEP.match(step)
        else '["' + step.replace("\\", "\\\\").replace('"', '\\"') + '"]'
        for step in path
    )
    return "".join(steps).removeprefix(".")


def path_of(field: str) -> Path:
    """The steps of a dotted path."""
    return tuple(
        int(index) if index else re.sub(r"\\(.)", r"\1", quoted) if quoted else plain
        for index, quoted, plain in _STEP.findall(field)
    )


def is_of_a_drafter(path: Path) -> bool:
    """Whether it lies within one drafter of the list."""
    return path[:2] == DRAFTERS and len(path) > 2
