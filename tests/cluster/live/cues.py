"""What changes while an object serves: done once, as soon as its status shows that it is time."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from tests.cluster.live.journal import Status, condition, trial_state


@dataclass
class Cue:
    """A listener of the journal: `act` runs in a thread of its own when `check` first holds for `name`."""

    name: str
    check: Callable[[Status], bool]
    act: Callable[[], None]
    given: bool = False

    def seen(self, name: str, status: Status) -> None:
        if name == self.name and not self.given and self.check(status):
            self.given = True
            threading.Thread(target=self.act).start()


def serves_everywhere(drafter: str) -> Callable[[Status], bool]:
    """Whether a drafter has every pod that it will get: nothing moves any more."""

    def check(status: Status) -> bool:
        serving = (status.get("serving") or {}).get("name")
        moves = condition(status, "Progressing").get("status")
        return serving == drafter and not trial_state(status) and moves == "False"

    return check


def between_checks(drafter: str) -> Callable[[Status], bool]:
    """Whether it serves with the baseline's pods, too, which were given back."""
    everywhere = serves_everywhere(drafter)
    return lambda s: everywhere(s) and condition(s, "Protected").get("reason") == "BetweenChecks"
