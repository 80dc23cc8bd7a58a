"""The stage of these tests: everything is applied at once, so that its waiting overlaps."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from tests.cluster.kube import Kubectl
from tests.cluster.live.journal import Journal, ready_reason
from tests.cluster.live.killing import Killed, killed_rollouts
from tests.cluster.live.objects import (
    LOSER,
    WINNER,
    Object,
    drafter,
    spec_deployment,
    start_clients,
)
from tests.cluster.live.place import Place, chart_operator, dev_place

# A Service that somebody made before the SpecDeployment of that name.
SOMEBODYS_SERVICE: Object = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "taken", "labels": {"whose": "somebody-else"}},
    "spec": {"selector": {"app": "something-else"}, "ports": [{"port": 8000}]},
}

# A hang takes 60 s without a token. With shorter windows the guard of waiting requests is there before.
LONG_WINDOWS: Object = {
    "windowSeconds": 65,
    "warmupSeconds": 65,
    "deadlineSeconds": 2600,
    "totalDeadlineSeconds": 2600,
}
UNKNOWN_KEY = drafter("unknown-key", options={"no_such_key": 1})

OBJECTS: tuple[Object, ...] = (
    spec_deployment("story", LOSER, WINNER, replicas=3),
    spec_deployment("stalls", drafter("hangs", "fail=hang&fail_after=5"), trial=LONG_WINDOWS),
    spec_deployment("scaled", drafter("steady")),
    spec_deployment("edited", drafter("steady")),
    spec_deployment(
        "broken", drafter("crashes", "fail=crash-loading"), drafter("bad", "fail=bad-config"), UNKNOWN_KEY
    ),
    spec_deployment("taken", replicas=1),
)
WITH_CLIENTS = ("story", "stalls")
# Longer than it takes to find a hang: a client that gives up takes its request away.
CLIENT_SECONDS = 600


@dataclass(frozen=True)
class Stage:
    """The namespace that the chart's operator serves, with the objects above in it; and two rollouts under
    operators of their own, which are killed."""

    kubectl: Kubectl
    journal: Journal
    killed: Mapping[str, Killed]


@pytest.fixture(scope="package")
def place() -> Iterator[Place]:
    """The development cluster with the images of this checkout."""
    with dev_place() as found:
        yield found


@pytest.fixture(scope="package")
def stage(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """All objects applied under the operator that the chart has installed, clients running."""
    kubectl = place.within(place.namespace("live"))
    with ExitStack() as stack:
        stack.enter_context(chart_operator(place, (kubectl.namespace,)))
        journal = Journal(kubectl)
        stack.callback(journal.close)
        kubectl.apply(SOMEBODYS_SERVICE)
        for body in OBJECTS:
            kubectl.apply(body)
        for name in WITH_CLIENTS:
            journal.wait(name, lambda s: ready_reason(s) == "Serving", seconds=120, what="a ready fleet")
            start_clients(kubectl, name, timeout=CLIENT_SECONDS)
        killed = stack.enter_context(killed_rollouts(place, tmp_path_factory.mktemp("killed")))
        yield Stage(kubectl, journal, killed)
