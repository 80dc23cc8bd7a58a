"""Reading the words of `engine.args` as vLLM's parser would: names, values and their spellings.

vLLM takes `--a-b`, `--a_b`, `--a-b=x`, `--a-b.key x` and, as argparse does, unambiguous beginnings of a name.
What each release knows is in `parser`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .tables import flags as table

SHORT = {
    "-h": "--help",
    "-ac": "--attention-config",
    "-asc": "--api-server-count",
    "-cc": "--compilation-config",
    "-dc": "--diffusion-config",
    "-dcp": "--decode-context-parallel-size",
    "-dp": "--data-parallel-size",
    "-dpa": "--data-parallel-address",
    "-dpb": "--data-parallel-backend",
    "-dpe": "--data-parallel-external-lb",
    "-dph": "--data-parallel-hybrid-lb",
    "-dpl": "--data-parallel-size-local",
    "-dpm": "--data-parallel-multi-port-external-lb",
    "-dpn": "--data-parallel-rank",
    "-dpp": "--data-parallel-rpc-port",
    "-dpr": "--data-parallel-start-rank",
    "-ep": "--enable-expert-parallel",
    "-n": "--nnodes",
    "-pcp": "--prefill-context-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-q": "--quantization",
    "-r": "--node-rank",
    "-sc": "--speculative-config",
    "-tp": "--tensor-parallel-size",
}
# How a value says that it is none.
ABSENT = (None, "", "None")
_NEGATIVE_NUMBER = re.compile(r"-\d+|-\d*\.\d+")
_OPTIMIZATION = re.compile(r"-O=?(.+)")
# What is a flag in any release is no beginning of another one: `--watermark` is not `--watermark-config`.
_WRITTEN_OUT = frozenset((*table.SPANS, *table.GONE_BEFORE))


def argument_path(index: int) -> str:
    """Where a word of engine.args stands."""
    return f"spec.engine.args[{index}]"


@dataclass(frozen=True)
class Flag:
    """One flag: its position in the list, its name in the long dashed spelling, its value if it has one.

    `key`: what follows a dot: of `--kv-transfer-config.kv_role x` it is `kv_role`.
    """

    index: int
    name: str
    value: str | None
    key: str = ""

    @property
    def path(self) -> str:
        """Where it stands: spec.engine.args[2]."""
        return argument_path(self.index)

    @property
    def text(self) -> str | None:
        """Its value; None where there is none, or where it says so: vLLM reads "" and None as absent."""
        return None if self.value in ABSENT else self.value

    def means(self, option: str) -> bool:
        """Whether it is `option`, written out or abbreviated."""
        shortened = len(self.name) > 2 and self.name not in _WRITTEN_OUT
        return self.name == option or (shortened and option.startswith(self.name))


def read_flags(words: Sequence[str]) -> tuple[Flag, ...]:
    """The flags among `words`, in order."""
    found: list[Flag] = []
    for index, word in enumerate(words):
        if not is_flag(word):
            continue
        name, equals, value = _expanded(word).partition("=")
        following = words[index + 1] if index + 1 < len(words) else None
        if following is not None and is_flag(following):
            following = None
        root, _, key = name.partition(".")
        found.append(Flag(index, _long(root), value if equals else following, key))
    return tuple(found)


def is_flag(word: str) -> bool:
    """Whether the parser takes it for a flag and not for a value: `-1` is a value."""
    return word.startswith("-") and len(word) > 1 and _NEGATIVE_NUMBER.fullmatch(word) is None


def _expanded(word: str) -> str:
    """`-O3` is short for `--optimization-level=3`."""
    level = _OPTIMIZATION.fullmatch(word)
    return f"--optimization-level={level[1]}" if level else word


def _long(root: str) -> str:
    if root.startswith("--"):
        return root.replace("_", "-")
    return "--optimization-level" if root == "-O" else SHORT.get(root, root)
