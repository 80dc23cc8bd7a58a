"""How many trials run in the cluster at once. In memory, primed at start from every object's status."""

from collections.abc import Iterable

from specdeploy.api.findings import read_status
from specdeploy.cluster import Object


class TrialSlots:
    """A bounded set of keys that hold a borrowed pod. One event loop, no locks."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: set[tuple[str, str]] = set()

    def __len__(self) -> int:
        return len(self._held)

    def free(self, key: tuple[str, str]) -> bool:
        """Whether this key may hold a slot: it has one, or there is one left."""
        return key in self._held or len(self._held) < self._most

    def note(self, key: tuple[str, str], *, holds: bool) -> None:
        """What the stored status of a key says."""
        if holds:
            self._held.add(key)
        else:
            self._held.discard(key)

    def prime(self, objects: Iterable[Object]) -> None:
        """Take over from a process that ended."""
        for raw in objects:
            trial = read_status(raw.get("status"))[0].trial
            if trial is not None and trial.evidence is not None:
                self.note((raw["metadata"]["namespace"], raw["metadata"]["name"]), holds=True)
