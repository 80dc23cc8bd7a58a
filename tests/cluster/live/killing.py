"""Rollouts whose operators are killed again and again: in every state, and between two writes."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cluster.kube import Kubectl
from tests.cluster.live.gate import Gate
from tests.cluster.live.journal import Journal, Status, trial_state
from tests.cluster.live.local import LocalOperator
from tests.cluster.live.objects import LOSER, WINNER, Object, spec_deployment
from tests.cluster.live.place import Place

STATES = ("Starting", "WarmingUp", "Measuring", "RollingBack", "Promoting")
SOAKED, CHECKING, COMPARED = "Promoting, soaked", "Checking", "Checking, compared"
# These have something to write to Deployments when they begin.
WITH_CHILD_WRITES = ("Starting", "RollingBack", "Promoting")
LIVES_ON_SECONDS = 2.0
NAME = "killed"

# One object has all that follows a promotion, the other one a loser before and steps with soak.
OBJECTS: Mapping[str, Object] = {
    "state": spec_deployment(
        NAME,
        WINNER,
        replicas=3,
        baseline={"retention": "Trials", "probationSeconds": 0, "recheckSeconds": 60},
    ),
    "write": spec_deployment(
        NAME, LOSER, WINNER, replicas=4, promotion={"steps": [50, 100], "soakWindows": 3}
    ),
}


def point(status: Status) -> str:
    """Where a rollout is: the state of its trial, a soak that has begun, or a re-check."""
    check = (status.get("baseline") or {}).get("check")
    if check:
        compared = status["serving"].get("comparedTime", "")
        return COMPARED if compared > check["startTime"] else CHECKING
    return SOAKED if (status.get("trial") or {}).get("soaked") else trial_state(status)


@dataclass
class InEveryState:
    """Kills the operator some time after each state was first seen, while the rollout is in that state."""

    operator: LocalOperator | None = None
    left: set[str] = field(default_factory=lambda: {*STATES, CHECKING, COMPARED} - {"RollingBack"})
    struck: list[str] = field(default_factory=list)

    def seen(self, _: str, status: Status) -> None:
        state = point(status)
        if state in self.left and self.operator is not None:
            self.left.discard(state)
            self.struck.append(state)
            # A promotion moves a pod every few seconds; the other states last longer than this.
            threading.Timer(LIVES_ON_SECONDS, self.operator.kill).start()


@dataclass
class BetweenWrites:
    """Strikes right after the status that begins a state was stored, and again after the first write to a
    Deployment that follows."""

    left: list[str] = field(
        default_factory=lambda: [*STATES, SOAKED, *(f"{state}, first child" for state in WITH_CHILD_WRITES)]
    )
    struck: list[str] = field(default_factory=list)
    state: str = ""

    def strike(self, _: str, path: str, body: Mapping[str, Any]) -> bool:
        if path.endswith(f"/{NAME}/status"):
            self.state = point(body.get("status") or {})
            return self._strike(self.state)
        return "/deployments" in path and self._strike(f"{self.state}, first child")

    def _strike(self, point: str) -> bool:
        if point not in self.left:
            return False
        self.left.remove(point)
        self.struck.append(point)
        return True


@dataclass(frozen=True)
class Killed:
    """A rollout whose operator is killed again and again, under way."""

    kubectl: Kubectl
    journal: Journal
    operator: LocalOperator
    plan: InEveryState | BetweenWrites


@contextmanager
def killed_rollouts(place: Place, folder: Path) -> Iterator[Mapping[str, Killed]]:
    """Two rollouts side by side, clients not yet running: "state" is killed in every state, "write" between
    writes."""
    with ExitStack() as stack:
        found = {}
        for how, begin in (("state", _in_every_state), ("write", _between_writes)):
            kubectl = place.within(place.namespace(how))
            stack.callback(kubectl.run, "delete", "namespace", kubectl.namespace, "--wait=false")
            (folder / how).mkdir()
            found[how] = begin(kubectl, folder / how, stack)
        yield found


def _in_every_state(kubectl: Kubectl, folder: Path, stack: ExitStack) -> Killed:
    plan = InEveryState()
    journal = _journal(kubectl, stack)
    journal.listeners.append(plan.seen)
    plan.operator = LocalOperator(kubectl.kubeconfig, kubectl.namespace, folder)
    stack.callback(plan.operator.close)
    kubectl.apply(OBJECTS["state"])
    return Killed(kubectl, journal, plan.operator, plan)


def _between_writes(kubectl: Kubectl, folder: Path, stack: ExitStack) -> Killed:
    plan = BetweenWrites()

    def kill() -> None:
        operator.kill()

    journal = _journal(kubectl, stack)
    gate = Gate(kubectl.kubeconfig, plan.strike, kill)
    stack.callback(gate.close)
    operator = LocalOperator(gate.kubeconfig(folder), kubectl.namespace, folder)
    stack.callback(operator.close)
    kubectl.apply(OBJECTS["write"])
    return Killed(kubectl, journal, operator, plan)


def _journal(kubectl: Kubectl, stack: ExitStack) -> Journal:
    journal = Journal(kubectl)
    stack.callback(journal.close)
    return journal
