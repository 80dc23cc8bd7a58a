"""Whether a live object holds what we would apply, and nothing that we applied before. Pure."""

from typing import Any

from specdeploy.api.names import FIELD_MANAGER
from specdeploy.cluster import Object


def contains(live: Any, wanted: Any) -> bool:
    """Whether a live object holds everything that we would apply; defaults and fields of others may be
    there too."""
    if isinstance(wanted, dict):
        return isinstance(live, dict) and all(contains(live.get(k), v) for k, v in wanted.items())
    if isinstance(wanted, list):
        return isinstance(live, list) and all(any(contains(one, item) for one in live) for item in wanted)
    return bool(live == wanted)


def abandons(live: Object, wanted: Object) -> bool:
    """Whether we own fields from an earlier apply that are wanted no more (an annotation left the spec)."""
    entries = live["metadata"].get("managedFields") or []
    return any(
        _more(entry.get("fieldsV1") or {}, wanted)
        for entry in entries
        if entry.get("manager") == FIELD_MANAGER and entry.get("operation") == "Apply"
    )


def _more(fields: Any, wanted: Any) -> bool:
    """Whether a set of fields (`{"f:spec": {"f:type": {}}}`) has one that `wanted` has not."""
    names = [key for key in fields if key.startswith("f:")]
    return any(
        not isinstance(wanted, dict) or key[2:] not in wanted or _more(fields[key], wanted[key[2:]])
        for key in names
    )
