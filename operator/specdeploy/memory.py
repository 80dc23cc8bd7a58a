"""What a process remembers of one object between its passes. No I/O; losing it costs a window.

gather, apply -> memory -> the next pass. A call that the API server does not do is noted here under a key and
the pass goes on; the next one knows of it, tells it, and tries again.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from specdeploy.answers import Heard, Start
from specdeploy.measure import Watch
from specdeploy.rollout.observation import HICCUP_SECONDS
from specdeploy.rollout.quiet import Kept
from specdeploy.rollout.stalls import Remade, Signs

# Words that change each time (the id of a request) would change the status, which is a new pass, for ever.
WORDS_SECONDS = 60.0


@dataclass(frozen=True)
class Hindrance:
    """`since`: when it began; `worded`: when the words were heard (seconds since the epoch)."""

    words: str
    since: float
    worded: float


class Hindrances:
    """Key -> what is in its way now."""

    def __init__(self) -> None:
        self._known: dict[str, Hindrance] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._known

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[tuple[str, Hindrance]]:
        return iter(tuple(self._known.items()))

    def note(self, key: str, words: str, now: float) -> bool:
        """Whether the key is new; other words for a known one are no news."""
        before = self._known.get(key)
        if before is None:
            self._known[key] = Hindrance(words, now, now)
        elif words != before.words and not 0 <= now - before.worded < WORDS_SECONDS:
            self._known[key] = Hindrance(words, before.since, now)
        return before is None

    def clear(self, key: str) -> None:
        """It is over."""
        self._known.pop(key, None)

    def keep(self, keys: Collection[str]) -> None:
        """Forget all other keys: nobody wants them any more."""
        for key in self._known.keys() - set(keys):
            del self._known[key]

    def words(self) -> dict[str, str]:
        """Key -> words, of all."""
        return {key: found.words for key, found in self}

    def lasting(self, now: float) -> tuple[str, ...]:
        """Sentences on what is no hiccup."""
        return tuple(
            f"{key}: {found.words}" for key, found in self if not 0 <= now - found.since < HICCUP_SECONDS
        )


@dataclass(frozen=True)
class Pruned:
    """The CRD cut what was written last: in words, the meaning of what was sent, and until when (seconds
    since the epoch) the same is not sent again."""

    sentence: str
    meaning: object
    until: float


@dataclass
class Memory:
    """What is remembered of one object between passes, in this process only. Losing it costs a window.

    `refused`: templates whose Deployment will never be taken as it is; `unmade`: those whose Deployment could
    not be made for a reason that may pass. `conflicts`: names of ours that others hold, with who. `unread`,
    `unwritten`: what could not be done to other children. `repeats`: passes in a row that ended early;
    `failing`: in which something was in the way.
    `unreadable`: pod name -> why its counters could not be read in the last window. `troubles`: what was
    logged of that window. `kept`: quiet parts of the status that are not stored yet; `written`: when the
    status was last written, or first looked at (seconds since the epoch). `heard`: what engines answered
    before they were ready. `watch`: over its engines; `signs`: of their life, at the last reading; `remade`:
    how often its Deployments had to be made anew. `version`: an image and the version that an engine with it
    has told; `asked`: pod uid -> how often it was asked for it.
    """

    refused: Hindrances = field(default_factory=Hindrances)
    unmade: Hindrances = field(default_factory=Hindrances)
    conflicts: Hindrances = field(default_factory=Hindrances)
    unread: Hindrances = field(default_factory=Hindrances)
    unwritten: Hindrances = field(default_factory=Hindrances)
    repeats: int = 0
    failing: int = 0
    unreadable: Mapping[str, str] = field(default_factory=dict)
    troubles: Mapping[str, str] = field(default_factory=dict)
    pruned: Pruned | None = None
    kept: Kept | None = None
    written: float | None = None
    heard: dict[Start, Heard] = field(default_factory=dict)
    watch: Watch = field(default_factory=Watch)
    signs: Signs = field(default_factory=dict)
    remade: Remade = field(default_factory=Remade)
    version: tuple[str, str] | None = None
    asked: Counter[str] = field(default_factory=Counter)

    @property
    def obstructed(self) -> bool:
        """Whether something is in the way of the children."""
        return any((self.refused, self.unmade, self.conflicts, self.unread, self.unwritten))

    def hindered(self, now: float) -> tuple[str, ...]:
        """What was in the way for a while, in sentences."""
        return self.unread.lasting(now) + self.unwritten.lasting(now)
