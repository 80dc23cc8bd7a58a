"""What the API server would refuse, found without one: types, bounds, unknown fields and the CEL rules.

`lint` and `render` ask here before a spec is read. `findings.read_spec` is tolerant, because an operator must
go on with whatever is stored; the API server is strict, and so is this. The tests of admission run one table
of objects through both.
"""

import json
import pathlib
import re
import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

import specdeploy.api.spec  # noqa: F401  (its rules have their Python side from there)
from specdeploy.api import likely
from specdeploy.api.base import python_side, rule

Schema = Mapping[str, Any]
Path = tuple[str | int, ...]

SPEC_SCHEMA = pathlib.Path(__file__).with_name("spec_schema.json")

_LONGEST_NAME = 40
_NAME = "^[a-z]([-a-z0-9]*[a-z0-9])?$"
NAME_RULE = rule(
    f"self.metadata.name.size() <= {_LONGEST_NAME} && self.metadata.name.matches('{_NAME}')",
    f"metadata.name: at most {_LONGEST_NAME} characters, a DNS label that begins with a letter "
    "(it names Services and Deployments); choose another name",
    holds=lambda it: len(it["metadata"]["name"]) <= _LONGEST_NAME and _matches(_NAME, it["metadata"]["name"]),
)

_OBJECT = dict.fromkeys(("apiVersion", "kind", "metadata", "spec", "status"))
_KINDS = {
    "object": "an object",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "boolean": "true or false",
}
_NUMBER = re.compile(r"[-+]?[0-9]+")


class Refused(StrEnum):
    """Why a value is refused."""

    VALUE = "value"
    QUOTED = "quoted"
    UNQUOTED = "unquoted"
    UNKNOWN = "unknown"
    MISSING = "missing"
    TWICE = "twice"
    RULE = "rule"


@dataclass(frozen=True)
class Refusal:
    """What is refused: the path of the field from the root of the object, why, and the fix."""

    path: Path
    why: Refused
    reason: str
    fix: str


@cache
def spec_schema() -> Schema:
    """The schema of `.spec`, as `tools/schema.py` wrote it from the types: to derive it takes longer than all
    else that is done with one object."""
    found: Schema = json.loads(SPEC_SCHEMA.read_text(encoding="utf-8"))
    return found


def defaulted(schema: Schema, value: Any) -> Any:
    """`value` as the API server completes it before it checks: no nulls in fields, defaults filled in."""
    if isinstance(value, list):
        return [defaulted(schema.get("items", {}), item) for item in value]
    if not isinstance(value, dict) or _is_handed_on(schema):
        return value
    fields = schema.get("properties", {})
    kept = {key: item for key, item in value.items() if item is not None}
    filled = {name: field["default"] for name, field in fields.items() if "default" in field} | kept
    return {key: defaulted(fields.get(key, {}), item) for key, item in filled.items()}


def completed(raw: Mapping[str, Any]) -> dict[str, Any]:
    """An object with its spec as the API server would store it."""
    return {**raw, "spec": defaulted(spec_schema(), raw.get("spec"))}


def object_refusals(body: Mapping[str, Any]) -> Iterator[Refusal]:
    """All that is wrong with a SpecDeployment that was `completed`; its status is not looked at."""
    yield from frame_refusals(body)
    if body["spec"] is None:
        yield Refusal(("spec",), Refused.MISSING, "is required", "add it")
    else:
        yield from refusals(spec_schema(), body["spec"], ("spec",))


def frame_refusals(body: Mapping[str, Any]) -> Iterator[Refusal]:
    """What is wrong with an object around its spec."""
    for key in body:
        if key not in _OBJECT:
            yield unknown((key,), _OBJECT)
    yield from _of_metadata(body.get("metadata"))


def _of_metadata(metadata: Any) -> Iterator[Refusal]:
    if metadata is None or (isinstance(metadata, dict) and not metadata.keys() & {"name", "generateName"}):
        yield Refusal(("metadata", "name"), Refused.MISSING, "is required", "add it")
    elif not isinstance(metadata, dict):
        yield _of_another_type("object", metadata, ("metadata",))
    elif "name" in metadata and not isinstance(metadata["name"], str):
        yield _of_another_type("string", metadata["name"], ("metadata", "name"))
    elif "name" in metadata and not _holds(NAME_RULE, {"metadata": metadata}):
        reason, _, fix = NAME_RULE["message"].removeprefix("metadata.name: ").partition("; ")
        yield Refusal(("metadata", "name"), Refused.RULE, reason, fix)


def refusals(schema: Schema, value: Any, path: Path = ()) -> Iterator[Refusal]:
    """All that is wrong with a value that was `defaulted`. A list that is too long is one refusal, and a rule
    is asked only where everything that it looks at can be read."""
    found = list(_own(schema, value, path))
    for below, item, step in _parts(schema, value):
        found += refusals(below, item, (*path, step))
    yield from found
    if all(each.why in (Refused.RULE, Refused.UNKNOWN) for each in found):
        yield from broken_rules(schema, value, path)


def broken_rules(schema: Schema, value: Any, path: Path = ()) -> Iterator[Refusal]:
    """The rules of this level, those of its parts left out, that do not hold."""
    for each in schema.get("x-kubernetes-validations", ()):
        if not _holds(each, value):
            reason, _, fix = each["message"].partition("; ")
            field = each.get("fieldPath", "").removeprefix(".")
            yield Refusal((*path, field) if field else path, Refused.RULE, reason, fix)


def _holds(rule: Mapping[str, Any], value: Any) -> bool:
    """Rules on a change hold: there was nothing before."""
    holds = python_side(rule)
    return holds is None or holds(value)


def unknown(path: Path, known: Mapping[str, Any]) -> Refusal:
    """The last part of `path` is not among the `known` fields."""
    name = str(path[-1])
    return Refusal(path, Refused.UNKNOWN, f"{_shown(name)} is no field here", likely.field(name, known))


def _own(schema: Schema, value: Any, path: Path) -> Iterator[Refusal]:
    """What is wrong with the value itself, its parts left out."""
    kind = schema.get("type")
    if kind is None:
        return
    if not _is_of(kind, value):
        yield _of_another_type(kind, value, path)
    elif kind == "object":
        yield from _own_of_object(schema, value, path)
    elif kind == "array":
        yield from _own_of_list(schema, value, path)
    elif "enum" in schema and value not in schema["enum"]:
        fix = likely.value(value, schema["enum"])
        yield Refusal(path, Refused.VALUE, f"{_shown(value)} is none of its values", fix)
    elif kind == "string":
        yield from _own_of_text(schema, value, path)
    elif kind == "integer":
        yield from _own_of_number(schema, value, path)


def _is_of(kind: str, value: Any) -> bool:
    if kind == "integer":
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return whole and not isinstance(value, bool)
    types: dict[str, type] = {"object": dict, "array": list, "string": str, "boolean": bool}
    return isinstance(value, types[kind])


def _of_another_type(kind: str, value: Any, path: Path) -> Refusal:
    reason = f"should be {_KINDS[kind]}, it is {_told(value)}"
    if isinstance(value, str) and _is_quoted(kind, value):
        return Refusal(path, Refused.QUOTED, reason, f"write {value} without quotes")
    if kind == "string" and isinstance(value, (bool, int, float)):
        return Refusal(path, Refused.UNQUOTED, reason, f'write "{_shown(value)}", in quotes')
    return Refusal(path, Refused.VALUE, reason, f"write {_KINDS[kind]}")


def _is_quoted(kind: str, text: str) -> bool:
    """Whether the text would be right but for its quotes."""
    if kind == "integer":
        return len(text) < 20 and _NUMBER.fullmatch(text) is not None
    return kind == "boolean" and text in ("true", "false")


def _own_of_object(schema: Schema, value: dict[str, Any], path: Path) -> Iterator[Refusal]:
    fields = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield Refusal((*path, name), Refused.MISSING, "is required", "add it")
    if "additionalProperties" in schema:
        most = schema.get("maxProperties", len(value))
        if len(value) > most:
            reason = f"has {len(value)} keys, at most {most} are allowed"
            yield Refusal(path, Refused.VALUE, reason, "remove some")
    elif not _is_handed_on(schema):
        for name in value:
            if name not in fields:
                yield unknown((*path, name), fields)


def _own_of_list(schema: Schema, value: list[Any], path: Path) -> Iterator[Refusal]:
    if _is_too_long(schema, value):
        reason = f"has {len(value)} items, at most {schema['maxItems']} are allowed"
        yield Refusal(path, Refused.VALUE, reason, "remove some")
        return
    least = schema.get("minItems", 0)
    if len(value) < least:
        yield Refusal(path, Refused.VALUE, f"has {len(value)} items, at least {least} are needed", "add some")
    yield from _twins(schema.get("x-kubernetes-list-map-keys", ()), value, path)


def _twins(keys: tuple[str, ...], value: list[Any], path: Path) -> Iterator[Refusal]:
    """Items of a list that is told apart by `keys` which are the same in all of them."""
    first: dict[tuple[str, ...], int] = {}
    for index, item in enumerate(value):
        if not keys or not isinstance(item, dict) or any(key not in item for key in keys):
            continue
        named = tuple(repr(item[key]) for key in keys)
        if first.setdefault(named, index) != index:
            reason = f"{_shown(item[keys[0]])} is the {keys[0]} of item {first[named]} too"
            yield Refusal((*path, index, keys[0]), Refused.TWICE, reason, "choose another, or remove one")


def _own_of_text(schema: Schema, value: str, path: Path) -> Iterator[Refusal]:
    most, least = schema.get("maxLength", len(value)), schema.get("minLength", 0)
    if len(value) > most:
        reason = f"is {len(value)} characters long, at most {most} are allowed"
        yield Refusal(path, Refused.VALUE, reason, "shorten it")
    elif len(value) < least:
        reason = f"is {len(value)} characters long, at least {least} are needed"
        yield Refusal(path, Refused.VALUE, reason, "write a value")
    elif "pattern" in schema and not _matches(schema["pattern"], value):
        form, fix = likely.FORMS[schema["pattern"]]
        yield Refusal(path, Refused.VALUE, f"should be {form}, it is {_shown(value)}", fix)


def _own_of_number(schema: Schema, value: float, path: Path) -> Iterator[Refusal]:
    least, most = schema.get("minimum", value), schema.get("maximum", value)
    if not least <= value <= most:
        reason = f"is {_shown(value)}, allowed are {least} to {most}"
        yield Refusal(path, Refused.VALUE, reason, "raise it" if value < least else "lower it")


def _parts(schema: Schema, value: Any) -> Iterator[tuple[Schema, Any, str | int]]:
    """The parts of a value that have a schema of their own, with their last step; none of a value of another
    type, nor of a list that is too long."""
    kind = schema.get("type")
    if kind == "array" and isinstance(value, list) and not _is_too_long(schema, value):
        yield from ((schema["items"], item, index) for index, item in enumerate(value))
    elif kind == "object" and isinstance(value, dict) and not _is_handed_on(schema):
        fields, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        yield from ((fields.get(key, others), item, key) for key, item in value.items())


def _is_too_long(schema: Schema, value: list[Any]) -> bool:
    return "maxItems" in schema and len(value) > int(schema["maxItems"])


def _is_handed_on(schema: Schema) -> bool:
    return bool(schema.get("x-kubernetes-preserve-unknown-fields"))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # As in Go: `$` is the very end, and classes are of ASCII.
    exact = pattern[:-1] + r"\Z" if pattern.endswith("$") else pattern
    return re.compile(exact, re.ASCII)


def _matches(pattern: str, text: str) -> bool:
    return _compiled(pattern).search(text) is not None


def _told(value: Any) -> str:
    """A value and its kind, in a few words."""
    if value is None or isinstance(value, (dict, list)):
        return {type(None): "null", dict: "an object", list: "a list"}[type(value)]
    if isinstance(value, bool):
        return _shown(value)
    return f"the {'text' if isinstance(value, str) else 'number'} {_shown(value)}"


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else reprlib.repr(value)
