"""The generated CustomResourceDefinition: no drift, and only what a structural schema may hold."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from specdeploy.api.crd import as_yaml, custom_resource_definition, object_schema
from specdeploy.api.names import SCHEMA_VERSION, SCHEMA_VERSION_ANNOTATION
from specdeploy.api.spec import Spec

ROOT = Path(__file__).parents[2]
KEYWORDS = {
    "type", "description", "properties", "required", "items", "additionalProperties", "default", "enum",
    "format", "pattern", "minLength", "maxLength", "minItems", "maxItems", "maxProperties", "minimum",
    "maximum",
    "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
}  # fmt: skip
TYPES = {"object", "array", "string", "integer", "boolean"}
# What the API server fills in and checks itself.
STANDARD = ("apiVersion", "kind", "metadata")


def nodes(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema node below `schema`, with its path."""
    yield path, schema
    for name, below in schema.get("properties", {}).items():
        yield from nodes(below, f"{path}.{name}")
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        yield from nodes(schema["additionalProperties"], f"{path}{{}}")


OURS = [
    node
    for part, schema in object_schema()["properties"].items()
    if part not in STANDARD
    for node in nodes(schema, part)
]
every_node = pytest.mark.parametrize(("path", "node"), OURS, ids=[path for path, _ in OURS])


@pytest.mark.parametrize(
    "file", ["crds/specdeployments.yaml", "charts/specdeploy/files/specdeployments.yaml"]
)
def test_the_committed_crd_is_what_the_types_say(file: str) -> None:
    assert (ROOT / file).read_text() == as_yaml(), "run `make generate`"


def test_the_crd_carries_its_schema_version() -> None:
    annotations = custom_resource_definition()["metadata"]["annotations"]
    assert annotations == {SCHEMA_VERSION_ANNOTATION: SCHEMA_VERSION}


@every_node
def test_only_keywords_of_a_structural_schema_are_used(path: str, node: dict[str, Any]) -> None:
    assert set(node) <= KEYWORDS
    assert node.get("type") in TYPES


@every_node
def test_everything_that_can_grow_has_a_bound(path: str, node: dict[str, Any]) -> None:
    if node["type"] == "string":
        assert "maxLength" in node or "enum" in node
    if node["type"] == "array":
        assert "maxItems" in node
        assert "x-kubernetes-list-type" in node
    if "additionalProperties" in node:
        assert "maxProperties" in node
    if node["type"] == "object":
        assert "properties" in node or "additionalProperties" in node or _is_handed_on(node)


def _is_handed_on(node: dict[str, Any]) -> bool:
    return node.get("x-kubernetes-preserve-unknown-fields") is True


@pytest.mark.parametrize(
    ("path", "node"),
    [(path, node) for path, node in OURS if path.startswith("spec") and node["type"] == "integer"],
)
def test_every_number_that_a_user_writes_has_both_bounds(path: str, node: dict[str, Any]) -> None:
    assert node["minimum"] < node["maximum"]


@pytest.mark.parametrize(("path", "node"), [n for n in OURS if n[0][-1] not in "]}"])
def test_kubectl_explain_has_a_sentence_for_every_field(path: str, node: dict[str, Any]) -> None:
    description = node.get("description", "")
    assert description.endswith(".")
    assert len(description) > 10
    assert "\n\n" not in description.strip()


@every_node
def test_every_rule_says_what_to_do(path: str, node: dict[str, Any]) -> None:
    for rule in node.get("x-kubernetes-validations", []):
        assert ";" in rule["message"], "a reason; and the fix"
        field = rule.get("fieldPath", ".")[1:]
        assert field in node["properties"] or "fieldPath" not in rule


def test_the_smallest_object_is_stored_with_defaults_at_every_level() -> None:
    stored = _defaulted(object_schema()["properties"]["spec"], {"model": "m"})
    assert stored["replicas"] == 1, "a GET of /scale fails where none is stored"
    assert Spec.model_validate(stored) == Spec.model_validate({"model": "m"})
    assert stored["engine"]["drain"] == {"endpointRemovalSeconds": 20, "requestSeconds": 300}


def _defaulted(schema: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    """As the API server does it: a field that is absent gets its default, then its own fields do."""
    filled = dict(value)
    for name, below in schema.get("properties", {}).items():
        if name not in filled and "default" in below:
            filled[name] = below["default"]
        if isinstance(filled.get(name), dict):
            filled[name] = _defaulted(below, filled[name])
    return filled
