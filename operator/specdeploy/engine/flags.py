"""Reading the words of `engine.args` as vLLM's parser would: names, values and their spellings.

vLLM takes `--a-b`, `--a_b`, `--a-b=x`, `--a-b.key x` and, as argparse does, unambiguous beginnings of a name.
"""

from collections.abc import Sequence
from dataclasses import dataclass

SHORT = {
    "-sc": "--speculative-config",
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-pcp": "--prefill-context-parallel-size",
}


@dataclass(frozen=True)
class Flag:
    """One flag: its position in the list, its name in the long dashed spelling, its value if it has one."""

    index: int
    name: str
    value: str | None

    def means(self, option: str) -> bool:
        """Whether it is `option`, written out or abbreviated."""
        return self.name == option or (len(self.name) > 2 and option.startswith(self.name))


def read_flags(words: Sequence[str]) -> tuple[Flag, ...]:
    """The flags among `words`, in order."""
    found: list[Flag] = []
    for index, word in enumerate(words):
        if not word.startswith("-"):
            continue
        name, equals, value = word.partition("=")
        following = words[index + 1] if index + 1 < len(words) else None
        if following is not None and following.startswith("-"):
            following = None
        found.append(Flag(index, _long(name), value if equals else following))
    return tuple(found)


def _long(name: str) -> str:
    root = name.partition(".")[0]
    if root.startswith("--"):
        return root.replace("_", "-")
    return SHORT.get(root, root)
