"""From trees of nodes to plain values, as the API server would get them, and back to places."""

from collections.abc import Iterator
from typing import Any

import yaml

from .nodes import Node
from .paths import Path, dotted
from .problems import Broken, template
from .rules import DUPLICATE_KEY, ODD_KEY

_MERGE = "merge"
_SCALARS: Any = yaml.constructor.SafeConstructor()
# Longer numbers are no integers to anybody, and Python refuses to read very long ones.
_MOST_DIGITS = 64


class Values:
    """Plain values of a tree. What is wrong with its keys is in `problems`; the first of two is kept."""

    def __init__(self) -> None:
        self.problems: list[Broken] = []
        self._known: dict[int, Any] = {}
        self._at: list[Node] = []

    def of(self, node: Node) -> Any:
        """Lists, dicts and scalars. An alias gives the very object that its anchor gave."""
        if id(node) not in self._known:
            self._known[id(node)] = self._made(node)
        return self._known[id(node)]

    def _made(self, node: Node) -> Any:
        if node.tag == "seq":
            return [self.of(item) for item in node.items]
        if node.tag == "map":
            return self._mapping(node)
        return scalar(node)

    def _mapping(self, node: Node) -> dict[str, Any]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for key, value in node.pairs:
            if key.tag == "map" and (key.line, key.column) == (node.line, node.column + 1):
                self.problems.append(template(node.line, node.column))
                self._at.append(node)
            elif key.tag in ("seq", "map"):
                self._problem(ODD_KEY, key, "a key that is a list or an object", "use text as the key")
            elif key.tag == _MERGE:
                for source in _sources(value):
                    merged = self.of(source) | merged
            elif key.text in own:
                reason = f"{key.text[:64]!r} stands in line {lines[key.text]} already"
                self._problem(DUPLICATE_KEY, key, reason, "remove one of the two")
            else:
                own[key.text], lines[key.text] = self.of(value), key.line
        return merged | own

    def _problem(self, rule: Any, at: Node, reason: str, fix: str) -> None:
        self.problems.append(Broken(rule, at.line, at.column, reason, fix))
        self._at.append(at)

    def with_fields(self, root: Node, problems: list[Broken]) -> list[Broken]:
        """The first of the problems, each with the path of its key; of a key that is no text that of what
        holds it."""
        wanted = {id(at): problem for at, problem in zip(self._at, problems, strict=False)}
        for path, key in _keys(root) if wanted else ():
            if problem := wanted.get(id(key)):
                problem.field = dotted(path if key.tag not in ("seq", "map") else path[:-1])
        return problems


def _keys(root: Node) -> Iterator[tuple[Path, Node]]:
    """Every key of a tree with its path. What aliases stand for is passed once."""
    seen = {id(root)}
    waiting: list[tuple[Path, Node]] = [((), root)]
    while waiting:
        path, node = waiting.pop()
        parts = [((*path, key.text), value) for key, value in node.pairs]
        yield from zip((below for below, _ in parts), (key for key, _ in node.pairs), strict=True)
        parts += [((*path, index), item) for index, item in enumerate(node.items)]
        new = [(below, value) for below, value in parts if id(value) not in seen]
        seen |= {id(value) for _, value in new}
        waiting += new


def _sources(value: Node) -> list[Node]:
    """The maps that `<<` brings in; what is no map brings nothing."""
    listed = value.items if value.tag == "seq" else [value]
    return [each for each in listed if each.tag == "map"]


def scalar(node: Node) -> Any:
    """A plain value. Dates, and numbers in sixties, are the text that they are to kubectl."""
    if node.tag == "null":
        return None
    if node.tag == "bool":
        return bool(_SCALARS.bool_values.get(node.text.lower(), node.text))
    try:
        if node.tag == "int" and ":" not in node.text and len(node.text) < _MOST_DIGITS:
            return _SCALARS.construct_yaml_int(yaml.ScalarNode("", node.text))
        if node.tag in ("int", "float") and ":" not in node.text:
            return _SCALARS.construct_yaml_float(yaml.ScalarNode("", node.text))
    except (ValueError, IndexError):  # `!!int x`, `!!int`
        return node.text
    return node.text


def place(root: Node, path: Path) -> Node:
    """The node where a field stands: its key, in a map. Of one that is not there: what lacks it."""
    at, node = root, root
    for step in path:
        found = next(_steps(node, step), None)
        if found is None:
            break
        at, node = found
    return at


def value_at(root: Node, path: Path) -> Node | None:
    """The node of a field's value."""
    node = root
    for step in path:
        found = next(_steps(node, step), None)
        if found is None:
            return None
        node = found[1]
    return node


def _steps(node: Node, step: str | int) -> Iterator[tuple[Node, Node]]:
    """(where it stands, its value) of a part of a list or a map; what is merged in comes last."""
    if isinstance(step, int):
        if step < len(node.items):
            yield node.items[step], node.items[step]
        return
    for key, value in node.pairs:
        if key.text == step and key.tag not in ("seq", "map", _MERGE):
            yield key, value
    for key, value in node.pairs:
        if key.tag == _MERGE:
            for source in _sources(value):
                yield from _steps(source, step)
