"""The SpecDeployments in a file's text, each with what is wrong with how it is written."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from specdeploy.api.admission import Refusal, Refused, completed, frame_refusals
from specdeploy.api.findings import read_spec
from specdeploy.api.names import API_VERSION, GROUP, KIND
from specdeploy.api.rule import Finding
from specdeploy.api.spec import Spec

from .files import Source
from .mending import readable, refused
from .nodes import Node, trees
from .paths import dotted, is_of_a_drafter, path_of
from .problems import Broken
from .rules import OTHER_KIND, TEMPLATE, VALUE
from .values import Values, place, value_at
from .words import finding_of

# Of one object; what is wrong a thousand times is understood after a few.
MOST_FINDINGS = 50

_LISTS = ("List", f"{KIND}List")
# Specs in which nothing is wrong, by how they are written: of a thousand objects most are alike.
_KNOWN: dict[str, tuple[Spec, tuple[int, ...]]] = {}
_MOST_KNOWN = 1000
_UNLISTED = "write each as a document of its own, with --- between, or as items of a v1 List"


@dataclass(frozen=True)
class Located:
    """A finding with its place. `document`: which one of the file, from 1; None: the file as a whole."""

    file: str
    line: int
    column: int
    document: int | None
    finding: Finding


@dataclass
class Read:
    """One SpecDeployment, and what is wrong with how it is written.

    `spec` holds the drafters that can be read, `kept` their places in the file; it is None where the rest
    can't be read. `whole`: but for those drafters the API server would take it; where it would not, `spec` is
    what can still be checked. `exact`: nothing of it was left out for that.
    """

    file: str
    document: int
    name: str
    namespace: str | None
    body: dict[str, Any]
    root: Node
    spec: Spec | None = None
    kept: tuple[int, ...] = ()
    left_out: tuple[Any, ...] = ()
    whole: bool = False
    exact: bool = False
    found: list[Located] = field(default_factory=list)

    def locate(self, finding: Finding) -> Located:
        """A finding with the line and column of its field."""
        at = place(self.root, path_of(finding.field))
        return Located(self.file, at.line, at.column, self.document, finding)

    def locate_in_spec(self, finding: Finding) -> Located:
        """A finding on `spec`, whose drafters may be fewer than the file's."""
        path = path_of(finding.field)
        if is_of_a_drafter(path) and isinstance(path[2], int):
            path = (*path[:2], self.kept[path[2]], *path[3:])
            finding = replace(finding, field=dotted(path))
        return self.locate(finding)


@dataclass
class Contents:
    """What is in a file: its SpecDeployments, how many other documents, and what is wrong with the whole."""

    objects: list[Read] = field(default_factory=list)
    others: int = 0
    broken: list[Located] = field(default_factory=list)


def contents(source: Source) -> Contents:
    """All that a file holds. Never raises, whatever it is."""
    found = Contents()
    if source.broken is not None:
        found.broken.append(_located(source.name, source.broken, None))
        return found
    try:
        for number, root in enumerate(trees(source.text), start=1):
            for each in _objects(root):
                _take(found, source.name, number, each)
    except Broken as broken:
        found.broken.append(_located(source.name, broken, None))
    return found


def _objects(root: Node) -> Iterator[Node]:
    """The document, or the items of a list as kubectl prints it."""
    kind, items = value_at(root, ("kind",)), value_at(root, ("items",))
    if kind is not None and kind.text in _LISTS and items is not None and items.tag == "seq":
        yield from items.items
    else:
        yield root


def _take(found: Contents, file: str, number: int, root: Node) -> None:
    if any(_is_ours(item) for item in root.items):
        listed = OTHER_KIND.at("", "is a plain list, which no API server takes", _UNLISTED)
        found.broken.append(Located(file, root.line, root.column, number, listed))
        return
    if not _is_ours(root):
        found.others += 1
        return
    values = Values()
    body = values.of(root)
    read = Read(file, number, *_identity(body), body, root)
    found.objects.append(read)
    problems = values.problems[:MOST_FINDINGS]
    template = [each for each in problems if each.rule is TEMPLATE][:1]
    read.found += [_located(file, each, number) for each in template or values.with_fields(root, problems)]
    if not template and _is_known(read):
        _check(read)


def _is_ours(root: Node) -> bool:
    """Whether it has our group, our kind with another group's name, or our kind and no group."""
    return _text(root, "apiVersion").partition("/")[0] == GROUP or _text(root, "kind") == KIND


def _is_known(read: Read) -> bool:
    """Whether an API server would know the kind; told where it is not."""
    group, kind = (_text(read.root, key) for key in ("apiVersion", "kind"))
    if (group, kind) == (API_VERSION, KIND):
        return True
    wrong = "apiVersion" if group != API_VERSION else "kind"
    reason = f"there is no {kind or 'object without a kind'} in {group or 'no apiVersion'}"
    read.found.append(
        read.locate(OTHER_KIND.at(wrong, reason, f"write apiVersion: {API_VERSION} and kind: {KIND}"))
    )
    return False


def _text(root: Node, key: str) -> str:
    node = value_at(root, (key,))
    return node.text if node is not None else ""


def _identity(body: dict[str, Any]) -> tuple[str, str | None]:
    metadata = body.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    name, namespace = known.get("name"), known.get("namespace")
    return name if isinstance(name, str) else "", namespace if isinstance(namespace, str) else None


def _check(read: Read) -> None:
    """What the API server would refuse; and the spec as the operator reads it, as far as that can be told."""
    written = json.dumps(read.body.get("spec"))
    known = _KNOWN.get(written)
    if known is not None and not any(frame_refusals(read.body)):
        read.spec, read.kept, read.whole, read.exact = *known, True, True
        return
    read.body = completed(read.body)
    wrong = refused(read.body, MOST_FINDINGS + 1)
    read.found += [read.locate(finding_of(read.root, each)) for each in wrong[:MOST_FINDINGS]]
    if len(wrong) > MOST_FINDINGS:
        more = VALUE.at("spec", f"more than {MOST_FINDINGS} things are wrong with it", "correct these first")
        read.found.append(read.locate(more))
    _read_what_can_be(read, [each for each in wrong if each.why is not Refused.UNKNOWN])
    if read.spec is not None and not wrong and len(_KNOWN) < _MOST_KNOWN:
        _KNOWN[written] = (read.spec, read.kept)


def _read_what_can_be(read: Read, hindering: Sequence[Refusal]) -> None:
    """Set the spec of what was read: without some drafters, or what is left without all that is wrong."""
    body, read.exact = read.body, True
    read.whole = all(is_of_a_drafter(each.path) for each in hindering)
    if not read.whole:
        mended, read.exact = readable(read.root, completed(read.body), MOST_FINDINGS + 1)
        if mended is None:
            return
        body, hindering = mended, refused(mended, MOST_FINDINGS + 1)
    _read_spec(read, body, {each.path[2] for each in hindering if is_of_a_drafter(each.path)})


def _read_spec(read: Read, body: dict[str, Any], left_out: set[str | int]) -> None:
    """The spec as the operator reads it, without the drafters that the API server would refuse."""
    raw = body["spec"]
    listed = list(enumerate(raw.get("drafters", ())))
    kept = [(index, drafter) for index, drafter in listed if index not in left_out]
    read.kept = tuple(index for index, _ in kept)
    read.left_out = tuple(drafter for index, drafter in listed if index in left_out)
    reading = read_spec({**raw, "drafters": [drafter for _, drafter in kept]})
    left = (*reading.findings, *(finding for _, finding in reading.drafters))
    read.found += [read.locate_in_spec(finding) for finding in left]
    read.spec = None if left else reading.spec


def _located(file: str, broken: Broken, number: int | None) -> Located:
    finding = broken.rule.at(broken.field, broken.reason, broken.fix)
    return Located(file, broken.line, broken.column, number, finding)
