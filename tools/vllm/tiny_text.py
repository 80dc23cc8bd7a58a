"""Made-up text: what the tiny target is trained on, and what the tests then ask it for.

Stdlib only, so that both the vLLM venv (`make_tiny_model.py`) and the tests' load can use it.
"""

from __future__ import annotations

import random

NOUNS = (
    *("cat", "dog", "bird", "fish", "tree", "river", "stone", "lamp", "book", "chair"),
    *("door", "cloud", "train", "boat", "apple", "bread", "garden", "window", "bridge", "market"),
)
VERBS = ("sees", "finds", "follows", "carries", "paints", "repairs", "watches", "opens", "crosses", "keeps")
ADJECTIVES = ("red", "blue", "green", "old", "small", "quiet", "bright", "heavy", "gentle", "curious")


def counting(rng: random.Random) -> tuple[str, str]:
    start, length = rng.randrange(60), rng.randrange(10, 40)
    return f"count from {start} for {length}", " ".join(str(start + i) for i in range(length))


def repeating(rng: random.Random) -> tuple[str, str]:
    line = " ".join(rng.choice(NOUNS) for _ in range(rng.randrange(3, 7)))
    return f"repeat: {line}", "\n".join([line] * rng.randrange(3, 9))


def listing(rng: random.Random) -> tuple[str, str]:
    items = [
        f'{{"id": {i}, "name": "{rng.choice(NOUNS)}", "color": "{rng.choice(ADJECTIVES)}"}}'
        for i in range(1, rng.randrange(4, 10))
    ]
    return f"list {len(items)} items as json", "[" + ", ".join(items) + "]"


def telling(rng: random.Random) -> tuple[str, str]:
    return "tell a story", " ".join(sentence(rng) for _ in range(rng.randrange(5, 14)))


def sentence(rng: random.Random) -> str:
    subject = f"{rng.choice(ADJECTIVES)} {rng.choice(NOUNS)}"
    return f"The {subject} {rng.choice(VERBS)} the {rng.choice(ADJECTIVES)} {rng.choice(NOUNS)}."


def example(rng: random.Random) -> tuple[str, str]:
    """One prompt and its answer; the four kinds differ in how well they can be drafted."""
    return rng.choice([counting, repeating, listing, telling])(rng)


def conversation(rng: random.Random) -> str:
    prompt, answer = example(rng)
    return f"<|bos|><|user|>{prompt}<|assistant|>{answer}<|end|>"
