"""From the text of a file to trees of nodes that know their places. First step of `lint` and `render`.

The trees are built from the parser's events, without recursion, so that neither depth nor aliases can do
harm: both are counted while a tree grows.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from .problems import Broken, in_plain_words
from .rules import ALIAS_OF_NOTHING, RECURSIVE_ALIAS, TOO_DEEP, TOO_MANY_VALUES

# A pod's affinity is about 12 deep.
DEEPEST = 100
# Of a file, with each alias counted as what it stands for.
MOST_VALUES = 1_000_000

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# JSON writes a character beyond the first 65536 as two escapes, which YAML takes for two half characters.
_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)
_TAG = "tag:yaml.org,2002:"


@dataclass(slots=True, eq=False)
class Node:
    """A value and its place, counted from 1.

    `tag`: null, bool, int, float, str, merge ..., seq or map. `items`: of a list. `pairs`: of a map, in
    order, each with the node of its key. `size`: values in it, itself included. `depth`: levels in it.
    """

    tag: str
    line: int
    column: int
    text: str = ""
    items: list["Node"] = field(default_factory=list)
    pairs: list[tuple["Node", "Node"]] = field(default_factory=list)
    size: int = 1
    depth: int = 1
    open: bool = False


def trees(text: str) -> Iterator[Node]:
    """The tree of each document in `text`; empty documents are passed over.

    Raises:
        Broken: it is no YAML, or goes beyond a limit. The documents before it have been given.
    """
    loader = _LOADER(_PAIR.sub(_as_one, text) if text.lstrip().startswith("{") else text)
    try:
        yield from _Composer(loader).documents()
    except yaml.YAMLError as error:
        raise in_plain_words(error, text) from None
    finally:
        loader.dispose()


class _Composer:
    """Puts events together to trees."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._anchors: dict[str, Node] = {}
        self._stack: list[Node] = []
        self._keys: list[Node | None] = []
        self._size = 0
        self._root: Node | None = None

    def documents(self) -> Iterator[Node]:
        while not isinstance(event := self._loader.get_event(), yaml.StreamEndEvent):
            if isinstance(event, yaml.ScalarEvent):
                self._place(self._scalar(event))
            elif isinstance(event, yaml.CollectionStartEvent):
                self._open(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._close()
            elif isinstance(event, yaml.AliasEvent):
                self._place(self._aliased(event))
            elif isinstance(event, yaml.DocumentStartEvent):
                self._anchors = {}
            elif self._root is not None:
                root, self._root = self._root, None
                if root.tag != "null":
                    yield root

    def _scalar(self, event: yaml.ScalarEvent) -> Node:
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._loader.resolve(yaml.ScalarNode, event.value, event.implicit)
        kind = tag.removeprefix(_TAG)
        return self._node(event, kind if kind != tag else "str", event.value)

    def _open(self, event: yaml.CollectionStartEvent) -> None:
        node = self._node(event, "seq" if isinstance(event, yaml.SequenceStartEvent) else "map")
        self._check_depth(1, (node.line, node.column))
        node.open = True
        self._stack.append(node)
        self._keys.append(None)

    def _node(self, event: yaml.NodeEvent, tag: str, text: str = "") -> Node:
        node = Node(tag, *_place_of(event), text)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _aliased(self, event: yaml.AliasEvent) -> Node:
        name, place = event.anchor or "", _place_of(event)
        node = self._anchors.get(name)
        if node is None:
            raise Broken(ALIAS_OF_NOTHING, *place, f"*{name} has no anchor before it", f"add &{name} there")
        if node.open:
            raise Broken(RECURSIVE_ALIAS, *place, f"*{name} is inside of what it stands for", "write it out")
        self._check_depth(node.depth, place)
        return node

    def _close(self) -> None:
        node = self._stack.pop()
        self._keys.pop()
        node.open = False
        self._place(node)

    def _place(self, node: Node) -> None:
        """Put a finished node into what is open around it."""
        if not self._stack:
            self._root = node
            self._count(node, node)
            return
        parent = self._stack[-1]
        if parent.tag == "seq":
            parent.items.append(node)
        elif self._keys[-1] is None:
            self._keys[-1] = node
        else:
            parent.pairs.append((self._keys[-1], node))
            self._keys[-1] = None
        parent.size += node.size
        parent.depth = max(parent.depth, node.depth + 1)
        self._count(parent, node)

    def _count(self, whole: Node, last: Node) -> None:
        if self._size + whole.size > MOST_VALUES:
            reason = f"holds more than {MOST_VALUES} values, with each alias counted as what it stands for"
            raise Broken(TOO_MANY_VALUES, last.line, last.column, reason, "split it, or use fewer aliases")
        if not self._stack:
            self._size += whole.size

    def _check_depth(self, levels: int, place: tuple[int, int]) -> None:
        if len(self._stack) + levels > DEEPEST:
            raise Broken(TOO_DEEP, *place, f"is more than {DEEPEST} levels deep", "make it flatter")


def _as_one(pair: re.Match[str]) -> str:
    high, low = int(pair[2], 16) - 0xD800, int(pair[3], 16) - 0xDC00
    return pair[1] + chr(0x10000 + (high << 10) + low)


def _place_of(event: yaml.NodeEvent) -> tuple[int, int]:
    mark: Any = event.start_mark
    return mark.line + 1, mark.column + 1
