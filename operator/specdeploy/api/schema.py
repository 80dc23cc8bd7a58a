"""From pydantic types to a structural schema, as the API server accepts it.

pydantic speaks JSON Schema 2020-12; a CustomResourceDefinition accepts the structural part of an
older draft. What differs is put right here and nowhere else: references, nulls, constants, titles.
"""

from collections.abc import Callable
from typing import Any, cast

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import core_schema

from specdeploy.api.base import Model


class StructuralSchema(GenerateJsonSchema):
    """Absent instead of null, enum instead of const, no defaults of null."""

    def encode_default(self, dft: Any) -> Any:
        """Defaults are plain values: pydantic would make a serializer for each."""
        return dft

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        values = list(schema["expected"])
        return {"type": "string", "enum": values}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        inner = super().default_schema(schema)
        if inner.get("default") is None:
            inner.pop("default", None)
        factory = cast(Callable[[], Model] | None, schema.get("default_factory"))
        if factory is not None:
            # Rules of the parent are checked against its default as written: it must be whole.
            inner["default"] = factory().wire()
        return inner


def structural(model: type[BaseModel], mode: JsonSchemaMode = "validation") -> dict[str, Any]:
    """The structural schema of a model: no references, no titles, types visible at every level."""
    whole = model.model_json_schema(by_alias=True, schema_generator=StructuralSchema, mode=mode)
    definitions: dict[str, Any] = whole.pop("$defs", {})
    result: dict[str, Any] = _inline(whole, definitions)
    return result


def _inline(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inline(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].rsplit("/", 1)[-1]]
        return _inline({**target, **{k: v for k, v in node.items() if k != "$ref"}}, definitions)
    if list(node) == ["allOf"] and len(node["allOf"]) == 1:
        return _inline(node["allOf"][0], definitions)
    return {key: _children(key, value, definitions) for key, value in node.items() if _kept(key, node)}


def _children(key: str, value: Any, definitions: dict[str, Any]) -> Any:
    if key == "properties":
        # names of fields, not keywords: a field may well be called "title"
        return {name: _inline(schema, definitions) for name, schema in value.items()}
    if key in ("default", "enum", "x-kubernetes-validations"):
        return value
    return _inline(value, definitions)


def _kept(key: str, node: dict[str, Any]) -> bool:
    if key == "title":
        return False
    if key == "additionalProperties":
        # `true` says nothing, and the API server refuses it beside preserve-unknown-fields
        return isinstance(node[key], dict)
    return True
