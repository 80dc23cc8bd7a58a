"""Kinds of values in a speculative config: what vLLM means, and what its parser takes for it besides.

The parser (pydantic) reads `"5"` as 5 and `"yes"` as true. That starts, so it is no error; but it is hardly
what somebody meant to write. `options` gives each key its kind; rules that compare values read them by
`as_whole` and `as_switch`, as the engine will.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

_WHOLE = re.compile(r"\s*[+-]?\d+(_\d+)*(\.0+)?\s*")
_TRUE = frozenset(("1", "on", "t", "true", "y", "yes"))
_FALSE = frozenset(("0", "off", "f", "false", "n", "no"))

# Keys of LoadConfig, which forbids all others.
LOAD_KEYS: tuple[str, ...] = (
    "load_format",
    "download_dir",
    "safetensors_load_strategy",
    "safetensors_prefetch_num_threads",
    "safetensors_prefetch_block_size",
    "model_loader_extra_config",
    "device",
    "ignore_patterns",
    "use_tqdm_on_load",
    "pt_load_map_location",
)


def _never(_: object) -> bool:
    return False


@dataclass(frozen=True)
class Kind:
    """A kind of value: how to say it, whether a JSON value is one, and whether vLLM reads it as one."""

    wanted: str
    accepts: Callable[[object], bool]
    tolerates: Callable[[object], bool] = _never


def as_whole(value: object) -> int | None:
    """The whole number that vLLM reads in a JSON value; None: it reads none."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value.partition(".")[0])
    return None


def as_number(value: object) -> float | None:
    """The number that vLLM reads in a JSON value; None: it reads none."""
    if not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def as_switch(value: object) -> bool | None:
    """What vLLM reads in a JSON value for true or false; None: it reads neither."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return bool(value) if value in (0, 1) else None
    word = value.lower() if isinstance(value, str) else ""
    return True if word in _TRUE else False if word in _FALSE else None


def whole(least: int | None = None) -> Kind:
    """Whole numbers from `least` on, None: all; JSON's true and false are none."""
    bottom = -math.inf if least is None else least
    return Kind(
        "a whole number" if least is None else f"a whole number of at least {least}",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= bottom,
        lambda value: (read := as_whole(value)) is not None and read >= bottom,
    )


def number(least: float = -math.inf, most: float = math.inf) -> Kind:
    """Numbers from `least` to `most`, both included."""
    from_ = "" if least == -math.inf else f" of at least {least:g}"
    return Kind(
        f"a number from {least:g} to {most:g}" if most < math.inf else f"a number{from_}",
        lambda value: (
            isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
        ),
        lambda value: (read := as_number(value)) is not None and least <= read <= most,
    )


def one_of(*words: str) -> Kind:
    """One of these words, spelled exactly so."""
    return Kind(f"one of {', '.join(words)}", lambda value: isinstance(value, str) and value in words)


def rows_of(value: object) -> list[tuple[int, int, int]] | None:
    """[first batch size, last batch size, tokens] rows by their first; None where one is no such row."""
    if not isinstance(value, list):
        return None
    rows = [[as_whole(item) for item in row] if isinstance(row, list) else [] for row in value]
    read = [(row[0], row[1], row[2]) for row in rows if len(row) == 3]
    whole_rows = [(a, b, c) for a, b, c in read if a is not None and b is not None and c is not None]
    return sorted(whole_rows) if len(whole_rows) == len(value) else None


def _is_schedule(value: object) -> bool:
    """Rows that begin at 1 and do not overlap, in any order."""
    rows = rows_of(value)
    if not rows or any(first < 1 or last < first or tokens < 0 for first, last, tokens in rows):
        return False
    apart = all(later[0] > before[1] for before, later in pairwise(rows))
    return rows[0][0] == 1 and apart


def _is_plain_schedule(value: object) -> bool:
    """The same, with nothing but whole numbers in it."""
    if not _is_schedule(value) or not isinstance(value, list):
        return False
    return all(type(item) is int for row in value for item in row)


def _is_load_config(value: object) -> bool:
    return isinstance(value, dict) and all(key in LOAD_KEYS for key in value)


TEXT = Kind("a text", lambda value: isinstance(value, str) and value != "", lambda value: value == "")
WORD = Kind("a word", lambda value: isinstance(value, str) and value != "")
SWITCH = Kind(
    "true or false", lambda value: isinstance(value, bool), lambda value: as_switch(value) is not None
)
OBJECT = Kind(f"an object with keys of {', '.join(LOAD_KEYS[:3])} ...", _is_load_config)
SCHEDULE = Kind(
    "a list of [first, last, tokens] rows, from batch size 1 on, without overlap",
    _is_plain_schedule,
    _is_schedule,
)
