"""What the argument parser of one release of vLLM makes of `engine.args`. `rules.flags` asks here.

The names are in `tables.flags`; this module knows how argparse uses them.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache

from .flags import Flag, read_flags
from .tables import flags as table
from .versions import Version, since


class Takes(Enum):
    """How many words a flag takes after it."""

    NONE = (0, 0)
    ONE = (1, 1)
    MAYBE = (0, 1)
    SOME = (1, 1000)
    # Of a flag that the tables don't know.
    ANY = (0, 1000)


@lru_cache(maxsize=64)
def options(version: Version | None) -> Mapping[str, Takes]:
    """Every long flag of a release, with what it takes; of the newest, where `version` is None."""
    found: dict[str, Takes] = {}
    paired = since(table.PAIRED_SINCE).holds(version)
    for name, span in table.SPANS.items():
        if span.holds(version):
            takes = _takes(name)
            found[name] = takes
            if takes is Takes.NONE and name not in table.PLAIN:
                found |= dict.fromkeys(inverses(name, paired), takes)
    return found


def matches(name: str, version: Version | None) -> tuple[str, ...]:
    """The flags that a word can mean: itself, or all that it is the beginning of; sorted."""
    known = options(version)
    if name in known:
        return (name,)
    return tuple(sorted(option for option in known if option.startswith(name)))


def stray_words(words: Sequence[str], version: Version | None) -> Iterator[int]:
    """Positions of words that the parser refuses: those that no flag takes, and switches written `--x=y`."""
    flags = {flag.index: flag for flag in read_flags(words)}
    left = 0
    for index, word in enumerate(words):
        if index in flags:
            takes = _takes_of(flags[index], version)
            left = 0 if "=" in word else takes.value[1]
            if "=" in word and takes is Takes.NONE:
                yield index
        elif left > 0:
            left -= 1
        else:
            yield index


def follows_switch(words: Sequence[str], version: Version | None) -> bool:
    """Whether the last of these words is a switch, or stands behind one."""
    flags = read_flags(words)
    near = bool(flags) and flags[-1].index >= len(words) - 2
    return near and _takes_of(flags[-1], version) is Takes.NONE


def lacks_value(flag: Flag, version: Version | None) -> bool:
    """Whether it needs a value and has none."""
    return flag.value is None and _takes_of(flag, version).value[0] > 0


def _takes(name: str) -> Takes:
    if name in table.SWITCHES:
        return Takes.NONE
    if name in table.OPTIONAL:
        return Takes.MAYBE
    return Takes.SOME if name in table.LISTS else Takes.ONE


def inverses(name: str, paired: bool) -> Iterator[str]:
    """What turns a switch off; `paired`: by --disable-x, where it is --enable-x, and the other way round."""
    yield f"--no-{name.removeprefix('--')}"
    for prefix, inverse in (("--enable-", "--disable-"), ("--disable-", "--enable-")):
        if paired and name.startswith(prefix):
            yield inverse + name.removeprefix(prefix)


def _takes_of(flag: Flag, version: Version | None) -> Takes:
    if flag.key:
        return Takes.ONE
    found = matches(flag.name, version)
    return options(version)[found[0]] if len(found) == 1 else Takes.ANY
