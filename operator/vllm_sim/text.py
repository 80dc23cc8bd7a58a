"""What the simulated model says: plausible words, the same for the same prompt whatever arm answers."""

from __future__ import annotations

import math
import random
import zlib
from itertools import accumulate

_WORDS = (  # noqa: SIM905 - words read better than a list
    "the a of and to in is that it for as with on be this by are from at which or an but not have its more "
    "one river morning light window garden engine signal letter small quiet green careful bright narrow "
    "open steady walks carries follows opens repairs measures reads answers gathers returns holds crosses "
    "slowly often then"
).split()
_LENGTH = 4096
_CORRUPTED = " ???"


def _corpus() -> list[str]:
    rng = random.Random(4096)  # noqa: S311 - chance, not cryptography
    return [" " + rng.choice(_WORDS) + ("." if rng.random() < 0.08 else "") for _ in range(_LENGTH)]


_TOKENS = _corpus()
_TEXT = "".join(_TOKENS)
_OFFSETS = [0, *accumulate(map(len, _TOKENS))]


def start_of(prompt: str) -> int:
    """Where in the text the answer to `prompt` begins."""
    return zlib.crc32(prompt.encode()) % _LENGTH


def words(start: int, count: int, corrupt: float = 0.0) -> str:
    """`count` tokens from position `start` on; the text goes round. `corrupt`: see `tokens`."""
    if corrupt > 0:
        return "".join(tokens(start, count, corrupt))
    parts = []
    while count > 0:
        first = start % _LENGTH
        last = min(first + count, _LENGTH)
        parts.append(_TEXT[_OFFSETS[first] : _OFFSETS[last]])
        start, count = last, count - (last - first)
    return "".join(parts)


def tokens(start: int, count: int, corrupt: float = 0.0) -> list[str]:
    """The same, one by one. `corrupt`: the share of them that are not what the model says; which ones,
    depends on the position alone."""
    places = range(start, start + count)
    if corrupt <= 0:
        return [_TOKENS[place % _LENGTH] for place in places]
    return [_CORRUPTED if _chance(place, "say") < corrupt else _TOKENS[place % _LENGTH] for place in places]


def logprobs(place: int) -> tuple[float, float]:
    """Of the first and the second choice for the token at a position, alike in all arms: mostly far apart."""
    gap = 0.2 + 8 * _chance(place, "gap")
    first = -math.log1p(math.exp(-gap))
    return first, first - gap


def _chance(place: int, what: str) -> float:
    return zlib.crc32(f"{what} {place % _LENGTH}".encode()) / 2**32


def answer_tokens(prompt: str, mean: float) -> int:
    """Where the answer to `prompt` ends by itself: at least 1 token, `mean` on average over prompts."""
    return 1 + int(random.Random(prompt).expovariate(1 / mean))  # noqa: S311 - chance, not cryptography


def token_count(prompt: str) -> int:
    """About four characters a token, at least one."""
    return max(1, (len(prompt) + 3) // 4)
