"""Prompts to send: varied everyday ones, or structured ones whose answers repeat text."""

from __future__ import annotations

import random
from collections.abc import Iterator

_ASKS = (
    "Explain to a new colleague how {} works, and where it goes wrong.",
    "Write a short story about {}.",
    "List five questions that one should ask about {}, each with an answer.",
    "Compare {} with {} and say which one you would choose.",
    "Summarise the history of {} in plain words.",
    "A friend is worried about {}. What do you tell them?",
    "Draft an e-mail to the team on {}; keep it friendly.",
    "What would a world without {} look like?",
)
_TOPICS = (
    *(
        "tidal power",
        "a railway timetable",
        "sourdough bread",
        "public libraries",
        "message queues",
        "bee keeping",
    ),
    *(
        "a lighthouse keeper",
        "garbage collection",
        "the metric system",
        "night trains",
        "urban trees",
        "map making",
    ),
    *(
        "consensus in distributed systems",
        "a lost letter",
        "glass blowing",
        "weather forecasts",
        "chess openings",
    ),
)
_NOUNS = ("cat", "dog", "bird", "fish", "tree", "river", "stone", "lamp", "book", "chair", "door", "cloud")
_PADDING = "Take your time, give examples, and keep the sentences short. "


def _varied(rng: random.Random) -> str:
    ask = rng.choice(_ASKS)
    topics = rng.sample(_TOPICS, ask.count("{}"))
    return ask.format(*topics) + " " + _PADDING * rng.randrange(4)


def _structured(rng: random.Random) -> str:
    kind = rng.randrange(3)
    if kind == 0:
        return f"count from {rng.randrange(60)} for {rng.randrange(20, 40)}"
    if kind == 1:
        return "repeat: " + " ".join(rng.choice(_NOUNS) for _ in range(rng.randrange(3, 7)))
    return f"list {rng.randrange(4, 10)} items as json"


_SETS = {"varied": _varied, "structured": _structured}
NAMES = tuple(_SETS)


def stream(name: str, seed: int) -> Iterator[str]:
    """Prompts of the set `name` without end; the same for the same seed."""
    rng = random.Random(seed)  # noqa: S311 - chance, not cryptography
    while True:
        yield _SETS[name](rng)
