"""How many trials run in the cluster at once. In memory, primed at start from every object's status."""

from collections.abc import Iterable

from specdeploy.api.findings import read_status
from specdeploy.api.reasons import TrialState
from specdeploy.api.status import Status
from specdeploy.cluster import Object
from specdeploy.rollout.scene import ON_STAGE


def holds_pod(status: Status) -> bool:
    """Whether the trial of a status borrows a pod, until it is given back.

    A promotion borrows nothing, nor does one that is reversed (it has a fallback): it may be stuck for days
    while others could be tried.
    """
    trial = status.trial
    if trial is None:
        return False
    returning = trial.state is TrialState.ROLLING_BACK and trial.fallback is None
    return trial.state in ON_STAGE or returning


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

    def take(self, key: tuple[str, str]) -> bool:
        """Hold a slot from now on, before the decision is stored: two passes at once can't take the same one.
        False if there is none left."""
        if not self.free(key):
            return False
        self._held.add(key)
        return True

    def note(self, key: tuple[str, str], *, holds: bool) -> None:
        """What the stored status of a key says."""
        if holds:
            self._held.add(key)
        else:
            self._held.discard(key)

    def prime(self, objects: Iterable[Object]) -> None:
        """Take over from a process that ended."""
        for raw in objects:
            meta = raw["metadata"]
            self.note((meta["namespace"], meta["name"]), holds=holds_pod(read_status(raw.get("status"))[0]))
