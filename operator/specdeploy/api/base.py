"""The base of every type of the resource, and the markers that the schema generator reads."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Model(BaseModel):
    """Frozen, camelCase on the wire, and tolerant of fields it does not know.

    A newer CRD may carry fields that this operator has never heard of: they must not stop it.
    """

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        extra="ignore",
        str_strip_whitespace=False,
    )

    def wire(self) -> dict[str, Any]:
        """The JSON form that Kubernetes stores: camelCase, absent instead of null."""
        return self.model_dump(by_alias=True, exclude_none=True, mode="json")


# The Python side of each CEL rule, by its expression: what the same rule says of the plain value (`self`).
_HOLDS: dict[str, Callable[[Any], bool] | None] = {}


def rule(
    expression: str, message: str, *, field: str | None = None, holds: Callable[[Any], bool] | None
) -> dict[str, Any]:
    """A CEL rule. `field`, such as `.model`, is where the refusal points; `message` says why and the fix.

    `holds`: the same rule in Python, over the plain value (`self`) with its defaults filled in, for those who
    check without an API server (`admission`). None for a rule on a change, which needs the object before it.
    """
    _HOLDS[expression] = holds
    found = {"rule": expression, "message": message}
    return found | ({"fieldPath": field} if field else {})


def python_side(rule: Mapping[str, Any]) -> Callable[[Any], bool] | None:
    """The `holds` of a CEL rule."""
    return _HOLDS[rule["rule"]]


def rules(*listed: dict[str, Any]) -> dict[str, Any]:
    """CEL rules of a type or a field, for `json_schema_extra`."""
    return {"x-kubernetes-validations": list(listed)}


def list_map(*keys: str) -> dict[str, Any]:
    """A list whose items are told apart by `keys`, so that server-side apply merges by name."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


ATOMIC: dict[str, Any] = {"x-kubernetes-list-type": "atomic"}
_PRESERVE: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

# A core/v1 object that is handed on as it is (an affinity, a volume ...); the API server checks it when
# the Deployment is created.
CoreObject = Annotated[dict[str, Any], Field(json_schema_extra=_PRESERVE)]
CoreObjects = Annotated[list[CoreObject], Field(max_length=64, json_schema_extra=ATOMIC)]
Name = Annotated[str, Field(min_length=1, max_length=253)]
Text = Annotated[str, Field(max_length=1024)]
# The value of one of vLLM's arguments: one line, and no dash in front that would make it a flag.
Argument = Annotated[str, Field(min_length=1, max_length=512, pattern=r"^[^\s-].*$")]
AnnotationValue = Annotated[str, Field(max_length=4096)]
StringMap = Annotated[dict[str, AnnotationValue], Field(max_length=64)]
