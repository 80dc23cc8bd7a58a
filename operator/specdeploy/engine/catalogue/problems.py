"""Everything that is wrong with an entry of a catalogue's file, where reading it ends at the first thing.

`load` asks here when an entry can't be read.
"""

from collections.abc import Iterator
from typing import Any, get_args, get_origin

import msgspec

# Instead of the pattern, which only releases have.
_RELEASE = "Expected a release such as 0.24 or 0.24.1"


def problems(entry: object, kind: type[msgspec.Struct], at: str = "") -> tuple[str, ...]:
    """A sentence for each thing that keeps `entry` from being a `kind`, with its place; empty: nothing does.

    `at`: where the entry stands in a larger one, `drafters[0]`.
    """
    if not isinstance(entry, dict):
        return _of_whole(entry, kind, at)
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    where = f" - at `{at}`" if at else ""
    found = [
        *(f"Object missing required field `{name}`{where}" for name in fields if _lacks(entry, fields[name])),
        *(f"Object contains unknown field `{key}`{where}" for key in entry if key not in fields),
    ]
    for key, value in entry.items():
        if key in fields:
            found += _of_value(value, fields[key].type, f"{at}.{key}" if at else str(key))
    return tuple(found) or _of_whole(entry, kind, at)


def _lacks(entry: dict[Any, Any], field: msgspec.structs.FieldInfo) -> bool:
    return field.required and field.encode_name not in entry


def _of_value(value: object, kind: Any, at: str) -> Iterator[str]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield from problems(value, kind, at)
        return
    inner = get_args(kind)[0] if get_origin(kind) is tuple else None
    if isinstance(value, list) and isinstance(inner, type) and issubclass(inner, msgspec.Struct):
        for index, each in enumerate(value):
            yield from problems(each, inner, f"{at}[{index}]")
        return
    yield from _of_whole(value, kind, at)


def _of_whole(value: object, kind: Any, at: str) -> tuple[str, ...]:
    """What msgspec says of it: the first thing that is wrong in it."""
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        said, _, place = str(error).partition(" - at `$")
        said = _RELEASE if "matching regex" in said else said
        inside = place.removesuffix("`")
        full = f"{at}{inside}" if at else inside.removeprefix(".")
        return (f"{said} - at `{full}`" if full else said,)
    return ()
