"""The stage of these tests: everything is applied at once, so that its waiting overlaps."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from tests.cluster.kube import Kubectl
from tests.cluster.live.cues import Cue, between_checks, serves_everywhere
from tests.cluster.live.journal import Journal, Status, ready_reason, trial_state
from tests.cluster.live.killing import NAME, Killed, killed_rollouts
from tests.cluster.live.objects import (
    FADING,
    LOSER,
    WINNER,
    Object,
    drafter,
    lower_acceptance,
    set_knobs,
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

# The step of two pods soaks, before the third of those that serve.
IN_STEPS: Object = {"steps": [50, 100], "soakWindows": 3}
KEPT: Object = {"retention": "Always", "probationSeconds": 0}
GIVEN_BACK: Object = {"retention": "Trials", "probationSeconds": 0, "recheckSeconds": 60}
PICKY_CLIENTS = "guarded-clients-picky"

OBJECTS: tuple[Object, ...] = (
    spec_deployment("story", LOSER, WINNER, replicas=4, promotion=IN_STEPS),
    spec_deployment("fades", FADING, replicas=3, baseline=KEPT),
    spec_deployment("checked", FADING, replicas=3, baseline=GIVEN_BACK),
    spec_deployment(
        "guarded", drafter("wrong", "corrupt_share=0.3"), drafter("narrow", "slots=1"), drafter("picky")
    ),
    spec_deployment("stalls", drafter("hangs"), trial=LONG_WINDOWS),
    spec_deployment("scaled", drafter("steady")),
    spec_deployment("edited", drafter("steady")),
    spec_deployment(
        "broken", drafter("crashes", "fail=crash-loading"), drafter("bad", "fail=bad-config"), UNKNOWN_KEY
    ),
    spec_deployment("taken", replicas=1),
)
WITH_CLIENTS = ("story", "fades", "checked", "guarded")
# When what serves becomes slow.
FADES: Mapping[str, Callable[[Status], bool]] = {
    "fades": serves_everywhere(FADING["name"]),
    "checked": between_checks(FADING["name"]),
}
# Longer than it takes to find a hang: a client that gives up takes its request away.
CLIENT_SECONDS = 600


@dataclass(frozen=True)
class Stage:
    """The namespace that the chart's operator serves, with the objects above in it; and two rollouts under
    operators of their own, which are killed."""

    kubectl: Kubectl
    journal: Journal
    killed: Mapping[str, Killed]

    def events(self, name: str, reason: str) -> list[str]:
        """Messages of the Events about a SpecDeployment."""
        found = self.kubectl.json(
            "get", "events", f"--field-selector=involvedObject.name={name},reason={reason}"
        )
        return [event["message"] for event in found["items"]]


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
        _let_fade(kubectl, journal)
        _let_hang(kubectl, journal)
        # First of all what takes longest: each restart costs it windows.
        killed = stack.enter_context(killed_rollouts(place, tmp_path_factory.mktemp("killed")))
        kubectl.apply(SOMEBODYS_SERVICE)
        for body in OBJECTS:
            kubectl.apply(body)
        for one in killed.values():
            one.journal.wait(NAME, _serves, what="a ready fleet")
            start_clients(one.kubectl, NAME)
        for name in WITH_CLIENTS:
            journal.wait(name, _serves, what="a ready fleet")
            start_clients(kubectl, name, timeout=CLIENT_SECONDS)
        start_clients(kubectl, "guarded", "--extra", '{"min_p": 0.1}', "--rate", "2", pod=PICKY_CLIENTS)
        yield Stage(kubectl, journal, killed)


def _serves(status: Status) -> bool:
    return ready_reason(status) == "Serving"


def _let_fade(kubectl: Kubectl, journal: Journal) -> None:
    """Drafters become slow as soon as they serve as FADES says."""
    for name, check in FADES.items():

        def act(name: str = name) -> None:
            lower_acceptance(kubectl, name, FADING["name"])

        journal.listeners.append(Cue(name, check, act).seen)


def _let_hang(kubectl: Kubectl, journal: Journal) -> None:
    """An engine hangs as soon as it is ready, before its first request: it shows none from then on."""

    def act() -> None:
        set_knobs(kubectl, "stalls", "hangs", "fail=hang")
        start_clients(kubectl, "stalls", timeout=CLIENT_SECONDS)

    journal.listeners.append(Cue("stalls", lambda s: trial_state(s) == "WarmingUp", act).seen)
