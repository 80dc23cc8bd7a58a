"""A state as a short text for the resource's status, and back, bit for bit.

All numbers of nested tuples in their fixed order as little-endian float64, after a version, in base64. The
version changes with the order or the meaning of any number. pack() and unpack() are for a trial; what else
the judge remembers uses pack_tuple() and unpack_tuple() with its own version.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeVar

from specdeploy.judge.comparison import LARGEST_LOG, Comparison
from specdeploy.judge.noise import LARGEST_PHI
from specdeploy.judge.pods import LARGEST_POD_SD
from specdeploy.judge.settings import Settings
from specdeploy.judge.state import LARGEST_WEIGHT, TrialState, start

VERSION = 5
LARGEST = 1e19
SMALLEST_ALPHA = 1e-7
SMALLEST_PROMOTION_ALPHA = 1e-20
LARGEST_INVERSE = 2 / (1 - LARGEST_WEIGHT) ** 2 * 1.01

_TEMPLATE = start(Settings())

Packed = TypeVar("Packed", bound=tuple[Any, ...])


class UnknownVersion(ValueError):  # noqa: N818
    """The state was written by another version of the judge: what it was for must start again."""


class MalformedState(ValueError):  # noqa: N818
    """The text is no state of this kind."""


def pack(state: TrialState) -> str:
    """The state of a trial as ASCII text, always of the same length, under 3 KB."""
    return pack_tuple(VERSION, state)


@lru_cache(maxsize=32)  # a pass asks for the same text several times
def unpack(text: str) -> TrialState:
    """The state that `pack` gave. Raises UnknownVersion or MalformedState, nothing else."""
    state = unpack_tuple(VERSION, _TEMPLATE, text)
    _check(state)
    return state


def pack_tuple(version: int, value: tuple[Any, ...]) -> str:
    """Nested tuples (NamedTuples, too) of floats and ints as ASCII text; 32 characters for 3 numbers."""
    numbers = [float(version), *_numbers(value)]
    return base64.b64encode(struct.pack(f"<{len(numbers)}d", *numbers)).decode("ascii")


def unpack_tuple(version: int, like: Packed, text: str) -> Packed:
    """What `pack_tuple` gave, in the shape and the types of `like`: ints where `like` has ints.

    Raises UnknownVersion, or MalformedState for a text of another shape and for numbers that are not finite
    or beyond 1e19. Whether the numbers make sense together is for the caller to check.
    """
    try:
        raw = base64.b64decode(text, validate=True)
        numbers = struct.unpack(f"<{len(raw) // 8}d", raw)
    except (binascii.Error, ValueError, struct.error) as error:
        raise MalformedState(f"not a packed state: {error}") from None
    if not numbers:
        raise MalformedState("an empty state")
    if numbers[0] != version:
        raise UnknownVersion(f"state version {numbers[0]:g}, this judge reads {version}")
    if not all(math.isfinite(number) and abs(number) <= LARGEST for number in numbers):
        raise MalformedState("a number of the state is out of range")
    rest = iter(numbers[1:])
    try:
        state: Packed = _shaped(like, rest)
    except StopIteration:
        raise MalformedState("the state is too short") from None
    if next(rest, None) is not None:
        raise MalformedState("the state is too long")
    return state


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, tuple):
        for item in value:
            yield from _numbers(item)
    else:
        yield float(value)


def _shaped(like: Any, numbers: Iterator[float]) -> Any:
    """Fills the shape of `like` with the next numbers."""
    if isinstance(like, tuple):
        items = [_shaped(item, numbers) for item in like]
        return like._make(items) if hasattr(like, "_make") else tuple(items)
    number = next(numbers)
    if isinstance(like, float):
        return number
    if not number.is_integer():
        raise MalformedState("a count of the state is not whole")
    return int(number)


def _check(state: TrialState) -> None:
    """Refuses values with which the arithmetic of the judge could fail."""
    frozen, learned = state.frozen, state.frozen.learned
    comparisons = (state.baseline, state.serving)
    sane = (
        min(_integers(state._replace(last_index=0, last_reason=0))) >= 0
        and SMALLEST_ALPHA <= frozen.alpha < 1
        and SMALLEST_PROMOTION_ALPHA <= frozen.promotion_alpha <= frozen.alpha
        and 0 <= frozen.phi <= LARGEST_PHI
        and 0 <= frozen.weight <= LARGEST_WEIGHT
        and max(frozen.pod_sd, learned.pod_sd) <= LARGEST_POD_SD
        and min(frozen.pod_sd, learned.pod_sd) >= 0
        and min(frozen.pod_freedom, learned.pod_freedom) >= 3
        and 0 <= learned.weight_se <= 1
        and frozen.disaster_sd >= 0.01
        and -1 <= state.last_reason < len(state.skipped)
        and all(_consistent(comparison) for comparison in comparisons)
        and state.watch.guards.sound
    )
    if not sane:
        raise MalformedState("the numbers of the state contradict each other")


def _integers(value: Any) -> Iterator[int]:
    if isinstance(value, tuple):
        for item in value:
            yield from _integers(item)
    elif isinstance(value, int):
        yield value


def _consistent(comparison: Comparison) -> bool:
    """The recent half is never empty once there is evidence: a mean is taken over it."""
    whole, half, next_half = comparison.whole, comparison.half, comparison.next_half
    n = whole.n
    return (
        all(sums.pairs <= sums.n for sums in (whole, half, next_half))
        and half.n <= next_half.n <= n
        and half.pairs <= whole.pairs
        and n - half.n >= min(1, n)
        and abs(comparison.batch) <= n * LARGEST_LOG
        and 0 <= comparison.inverse_pods <= n * LARGEST_INVERSE
    )
