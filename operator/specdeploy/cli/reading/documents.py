"""The SpecDeployments in a file's text, each with what is wrong with how it is written."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from specdeploy.api.admission import Refusal, Refused, completed, object_refusals
from specdeploy.api.findings import read_spec
from specdeploy.api.names import API_VERSION, GROUP, KIND
from specdeploy.api.rule import Finding, Rule
from specdeploy.api.spec import Spec
from specdeploy.engine.methods import NOT_TAKEN

from .files import Source
from .nodes import Node, trees
from .problems import Broken
from .rules import ADMISSION, MISSING_FIELD, OBJECT_NAME, OTHER_KIND, QUOTED, TWICE, UNKNOWN_FIELD, VALUE
from .values import Path, Values, place, value_at

# Of one object; what is wrong a thousand times is understood after a few.
MOST_FINDINGS = 50

_RULES: dict[Refused, Rule] = {
    Refused.VALUE: VALUE,
    Refused.QUOTED: QUOTED,
    Refused.UNQUOTED: QUOTED,
    Refused.UNKNOWN: UNKNOWN_FIELD,
    Refused.MISSING: MISSING_FIELD,
    Refused.TWICE: TWICE,
    Refused.RULE: ADMISSION,
}
_LISTS = ("List", f"{KIND}List")
_DRAFTERS = ("spec", "drafters")
_POD = ("spec", "engine", "podTemplate")
# Fields of core/v1 PodSecurityContext. supplementalGroups is how a pod gets at /dev/kfd and /dev/dri where
# they belong to the groups video and render.
_OF_SECURITY_CONTEXT = (
    "appArmorProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "runAsGroup",
    "runAsNonRoot",
    "runAsUser",
    "seLinuxOptions",
    "seccompProfile",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "sysctls",
)
_PLAIN_STEP = re.compile(r"[A-Za-z_][-\w]*\Z")
_STEP = re.compile(r'\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|\.?([^.\[]+)')


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

    `spec` holds the drafters that can be read, `kept` their places in the file; it is None where something
    else can't be read.
    """

    file: str
    document: int
    name: str
    namespace: str | None
    body: dict[str, Any]
    root: Node
    spec: Spec | None = None
    kept: tuple[int, ...] = ()
    found: list[Located] = field(default_factory=list)

    def locate(self, finding: Finding) -> Located:
        """A finding with the line and column of its field."""
        at = place(self.root, path_of(finding.field))
        return Located(self.file, at.line, at.column, self.document, finding)

    def locate_in_spec(self, finding: Finding) -> Located:
        """A finding on `spec`, whose drafters may be fewer than the file's."""
        path = path_of(finding.field)
        if path[:2] == _DRAFTERS and len(path) > 2 and isinstance(path[2], int):
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
    group, kind = (_text(root, key) for key in ("apiVersion", "kind"))
    ours = group.partition("/")[0] == GROUP
    if not ours and (group or kind != KIND):
        found.others += 1
        return
    values = Values()
    body = values.of(root)
    read = Read(file, number, *_identity(body), body, root)
    found.objects.append(read)
    read.found += [_located(file, problem, number) for problem in islice(values.problems, MOST_FINDINGS)]
    if (group, kind) != (API_VERSION, KIND):
        wrong = "apiVersion" if group != API_VERSION else "kind"
        reason = f"there is no {kind or 'object without a kind'} in {group or 'no apiVersion'}"
        fix = f"write apiVersion: {API_VERSION} and kind: {KIND}"
        read.found.append(read.locate(OTHER_KIND.at(wrong, reason, fix)))
        return
    _check(read)


def _text(root: Node, key: str) -> str:
    node = value_at(root, (key,))
    return node.text if node is not None else ""


def _identity(body: dict[str, Any]) -> tuple[str, str | None]:
    metadata = body.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    name, namespace = known.get("name"), known.get("namespace")
    return name if isinstance(name, str) else "", namespace if isinstance(namespace, str) else None


def _check(read: Read) -> None:
    """What the API server would refuse; where it would take it, the spec as the operator reads it."""
    read.body = completed(read.body)
    refused = list(islice(object_refusals(read.body), MOST_FINDINGS + 1))
    read.found += [read.locate(_finding(read.root, each)) for each in refused[:MOST_FINDINGS]]
    if len(refused) > MOST_FINDINGS:
        more = VALUE.at("spec", f"more than {MOST_FINDINGS} things are wrong with it", "correct these first")
        read.found.append(read.locate(more))
    wrong = [each.path for each in refused if each.why is not Refused.UNKNOWN]
    if all(path[:2] == _DRAFTERS and len(path) > 2 for path in wrong):
        _read_spec(read, {path[2] for path in wrong})


def _read_spec(read: Read, left_out: set[str | int]) -> None:
    """The spec as the operator reads it, without the drafters that the API server would refuse."""
    raw = read.body["spec"]
    listed = list(enumerate(raw.get("drafters", ())))
    kept = [(index, drafter) for index, drafter in listed if index not in left_out]
    read.kept = tuple(index for index, _ in kept)
    reading = read_spec({**raw, "drafters": [drafter for _, drafter in kept]})
    left = (*reading.findings, *(finding for _, finding in reading.drafters))
    read.found += [read.locate_in_spec(finding) for finding in left]
    read.spec = None if left else reading.spec


def _finding(root: Node, refusal: Refusal) -> Finding:
    rule, reason, fix = _RULES[refusal.why], refusal.reason, refusal.fix
    if refusal.path[0] == "metadata" and refusal.why is Refused.RULE:
        rule = OBJECT_NAME
    node = value_at(root, refusal.path)
    if refusal.why is Refused.UNQUOTED and node is not None:
        fix = f'write "{node.text[:64]}", in quotes'
    if refusal.why is Refused.VALUE and node is not None and _is_method(refusal.path):
        reason, fix = _of_method(node.text, reason, fix)
    if refusal.why is Refused.UNKNOWN and _is_of_security_context(refusal.path):
        fix = "put it in podTemplate.securityContext"
    return rule.at(dotted(refusal.path), reason, fix)


def _is_method(path: Path) -> bool:
    """Whether it is spec.drafters[2].method."""
    return path[:2] == _DRAFTERS and path[3:] == ("method",)


def _is_of_security_context(path: Path) -> bool:
    """Whether it stands in podTemplate itself and belongs one level deeper."""
    return path[:-1] == _POD and path[-1] in _OF_SECURITY_CONTEXT


def _of_method(name: str, reason: str, fix: str) -> tuple[str, str]:
    """Reason and fix for a method that vLLM has and SpecDeploy has not; for others those that are given."""
    row = NOT_TAKEN.get(name)
    return (reason, fix) if row is None else (f"{row.name} is not taken: {row.why}", row.instead)


def _located(file: str, broken: Broken, number: int | None) -> Located:
    return Located(file, broken.line, broken.column, number, broken.rule.at("", broken.reason, broken.fix))


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
