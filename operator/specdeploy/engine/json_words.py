"""Numbers and JSON in the arguments of `vllm serve`, as its parser reads them: `16k` stands for 16000.

In JSON too, outside of strings. A binary suffix (`16K`) takes no decimals.
"""

import json
import re
from typing import Any

from .flags import Flag

_STRING = re.compile(r'("(?:[^"\\]|\\.)*")')
_SUFFIXED = re.compile(r"\b(\d+(?:\.\d+)?)([kKmMgGtT])\b")
_PLAIN = re.compile(r"\s*[-+]?\d+(_\d+)*\s*")
_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def read_json(text: str) -> Any:
    """The value that a text stands for.

    Raises:
        ValueError: it is no JSON, nor JSON with such numbers, or it is nested too deep.
    """
    parts = _STRING.split(text)
    parts[::2] = [_SUFFIXED.sub(_expanded, part) for part in parts[::2]]
    try:
        return json.loads("".join(parts))
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def object_in(flag: Flag) -> dict[str, Any] | None:
    """What one occurrence of a flag sets: its JSON, or `{"a": {"b": value}}` of `--x.a.b value`.

    None where it holds no object, or one that can't be read. A `+` at the end of a key adds to a list.
    """
    if not flag.key:
        try:
            given = read_json(flag.value or "")
        except ValueError:
            return None
        return given if isinstance(given, dict) else None
    try:
        value = read_json(flag.value or "")
    except ValueError:
        value = flag.value
    found: Any = value
    for key in reversed(flag.key.split(".")):
        found = {key.rstrip("+"): found}
    return dict(found)


def whole_in(text: str) -> int | None:
    """The whole number that a text stands for, `16k`, `1.5k` and `16K` included; None: it stands for none."""
    found = _SUFFIXED.fullmatch(text.strip())
    if found is not None:
        return _whole(*found.groups())
    return int(text) if _PLAIN.fullmatch(text) else None


def _whole(number: str, suffix: str) -> int | None:
    if suffix in _DECIMAL:
        return int(float(number) * _DECIMAL[suffix])
    return None if "." in number else int(number) * _BINARY[suffix]


def _expanded(found: re.Match[str]) -> str:
    read = _whole(*found.groups())
    return found[0] if read is None else str(read)
