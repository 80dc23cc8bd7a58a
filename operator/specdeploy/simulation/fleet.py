"""Fleets that run one configuration all the time: what a rollout is compared with.

They meet the same requests and the same luck as the rollout, and all their pods are as old as the rollout's
first ones: none is ever replaced. When the rollout's fleet has come up, from where on they are compared, they
go on with the queues that it has then. The oracle has, in every window, the figures of the fleet that was
best in it.

Speed of a fleet: decode tokens per request-second, the seconds that requests wait for a slot included; what
clients feel as tokens per second, and the inverse of a GPU's time for a token. Where no queue grows all
fleets complete the same tokens, since clients ask for the same; where one does, some are given up, and
`tokens` tells how many were completed.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from specdeploy.api.names import BASELINE
from specdeploy.simulation.engines import serve
from specdeploy.simulation.load import Place
from specdeploy.simulation.pods import Conditions, Running, work_of

OPERATOR, ORACLE = "SpecDeploy", "oracle"


class Account(NamedTuple):
    """What requests got: decode `tokens`, and the request-seconds that they took, decoding and waiting."""

    tokens: float = 0.0
    decoding: float = 0.0
    waiting: float = 0.0

    def add(self, other: "Account") -> "Account":
        """Both together."""
        return Account(
            self.tokens + other.tokens, self.decoding + other.decoding, self.waiting + other.waiting
        )

    @property
    def seconds(self) -> float:
        """Request-seconds, waiting included: requests in flight times the length of the time."""
        return self.decoding + self.waiting

    @property
    def speed(self) -> float:
        """Decode tokens per request-second; 0 where nothing was asked for."""
        return self.tokens / self.seconds if self.seconds > 0 else 0.0


def total(accounts: Iterable[Account]) -> Account:
    """All of them together."""
    whole = Account()
    for each in accounts:
        whole = whole.add(each)
    return whole


class AlwaysOn:
    """A fleet with the same configuration on every place."""

    def __init__(self, places: tuple[Place, ...]) -> None:
        self._places = places
        self._queues = [0.0] * len(places)

    def burst(self, requests: float) -> None:
        """Requests that come at once, over all pods."""
        self._queues = [queue + requests / len(self._queues) for queue in self._queues]

    def begin(self, queues: Iterable[float]) -> None:
        """Go on with these requests in the queues of the places."""
        self._queues = list(queues)

    def serve(self, running: Running, now: Conditions, *, rate: float, seconds: float, age: float) -> Account:
        """Serve the whole demand for some time with pods that were ready `age` seconds ago."""
        each, account = rate / max(1, len(self._places)), Account()
        for i, place in enumerate(self._places):
            work = work_of(running, now, place, rate=each, seconds=seconds, age=age)
            done = serve(running.pace, work, self._queues[i])
            self._queues[i] = done.queue
            account = account.add(Account(done.tokens, done.decode_seconds, done.waiting_seconds))
        return account


class Yardsticks:
    """One fleet for each configuration: the baseline, and every drafter."""

    def __init__(self, names: Iterable[str], places: tuple[Place, ...]) -> None:
        self._fleets = {name: AlwaysOn(places) for name in (BASELINE, *names)}

    def burst(self, requests: float) -> None:
        """Requests that come at once, to every fleet."""
        for fleet in self._fleets.values():
            fleet.burst(requests)

    def begin(self, queues: Iterable[float]) -> None:
        """Every fleet goes on with these requests in the queues of the places."""
        waiting = tuple(queues)
        for fleet in self._fleets.values():
            fleet.begin(waiting)

    def serve(
        self,
        running: Mapping[str, Running],
        now: Conditions,
        listed: Iterable[str],
        *,
        rate: float,
        seconds: float,
        age: float,
    ) -> dict[str, Account]:
        """What each fleet does for some time, and the oracle, which knows the drafters that are listed."""
        accounts = {
            name: fleet.serve(running[name], now, rate=rate, seconds=seconds, age=age)
            for name, fleet in self._fleets.items()
        }
        known = (accounts[name] for name in (BASELINE, *listed))
        return {**accounts, ORACLE: max(known, key=lambda account: account.speed)}
