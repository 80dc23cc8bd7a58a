"""One write that is refused, or one read that gets no answer, never stops the others: what serves is guarded,
scaled and taken back all the same, and somebody is told. Under virtual time, for a call may hang."""

import asyncio
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from specdeploy.answers import MOST_TRIES
from specdeploy.cluster import (
    BUDGETS,
    DEPLOYMENTS,
    EVENTS,
    NODES,
    PODS,
    SERVICES,
    ClusterError,
    Forbidden,
    Kind,
    Refused,
    Unavailable,
)
from specdeploy.cluster import SPEC_DEPLOYMENTS as SPEC
from specdeploy.workers import PASS_SECONDS
from tests.shell.stage import Stage, drafter, spec

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

QUOTA = '"x" is forbidden: exceeded quota: team, requested: count/deployments.apps=1, used: 2, limited: 2'
NEW_IMAGE = {"image": "vllm/vllm-openai-rocm:v0.34.0"}
Which = Callable[[str, Kind, str], bool]


def of(verbs: str, kind: Kind, name: str = "") -> Which:
    """Calls of these verbs on a kind, on names with this in them."""
    return lambda verb, asked, called: verb in verbs.split() and asked is kind and name in called


# A call -> its verbs and kind, and a part of the object's name.
CALLS: dict[str, Which] = {
    "POST of the next drafter's Deployment": of("create", DEPLOYMENTS, "eagle"),
    "apply of the Service": of("apply force", SERVICES),
    "apply of the budget": of("apply force", BUDGETS),
    "PATCH of the next drafter's Deployment": of("merge", DEPLOYMENTS, "eagle"),
    "POST of an Event": of("create", EVENTS),
    "GET of the Service": of("get", SERVICES),
    "GET of the budget": of("get", BUDGETS),
    "GET of a node": of("get", NODES),
    "LIST of nodes": of("list", NODES),
    "GET of a log": of("log", PODS),
}
REFUSALS: dict[str, ClusterError] = {
    "403": Forbidden(QUOTA),
    "422": Refused("spec: Invalid value"),
    "500": Unavailable("500: failed calling webhook"),
}
ERRORS: dict[str, ClusterError | None] = {**REFUSALS, "no answer": None}
REFUSED = pytest.mark.parametrize("error", REFUSALS.values(), ids=REFUSALS)


def fail(stage: Stage, which: Which, error: ClusterError | None) -> None:
    """From now on such calls fail; without an error they get no answer."""
    if error is None:
        stage.cluster.hangs = which
    else:
        stage.cluster.fault = lambda verb, kind, name: error if which(verb, kind, name) else None


async def pass_on(stage: Stage, steps: int, until: Callable[[Stage], bool] = lambda stage: False) -> None:
    """As the workers would run it: within the time of a pass, each pass."""
    for _ in range(steps):
        if until(stage):
            return
        async with asyncio.timeout(PASS_SECONDS):
            await stage.step()


_SERVED: list[Stage] = []


async def served() -> Stage:
    """dflash serves with 3 of 4 pods, beside the baseline."""
    if not _SERVED:
        _SERVED.append(await Stage(spec("dflash"), {"dflash": 1.8}).run(200, Stage.settled))
        assert _SERVED[0].replicas() == {"baseline": 1, "dflash": 3}
    twin = _SERVED[0].twin()
    twin.speeds = dict(twin.speeds)
    return twin


def edit(stage: Stage, **changes: Any) -> None:
    stage.cluster.edit(SPEC, "gemma", {"spec": changes})


def passes_since(stage: Stage, writes: int) -> int:
    return sum(verb == "status" for verb, _, _ in stage.cluster.writes[writes:])


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
@pytest.mark.parametrize("which", CALLS.values(), ids=CALLS)
async def test_whatever_one_call_gets_for_an_answer_the_fleet_is_scaled_and_a_slow_drafter_taken_back(
    which: Which, error: ClusterError | None
) -> None:
    stage = await served()
    for kind in (SERVICES, BUDGETS):  # so that they are to be made anew
        stage.cluster.remove(kind, "gemma")
    stage.speeds["eagle"] = 1.0
    edit(stage, drafters=[drafter("dflash"), drafter("eagle")])
    fail(stage, which, error)
    await pass_on(stage, 6)
    edit(stage, replicas=8)
    await pass_on(stage, 20)
    assert sum(stage.replicas().values()) >= 7  # one waits for the next drafter
    stage.speeds["dflash"] = 0.2
    await pass_on(stage, 150, lambda s: "dflash" not in s.replicas())
    assert "dflash" not in stage.replicas()
    assert stage.verdicts()["dflash"] == "Slower"


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
async def test_a_deployment_of_no_use_that_can_not_be_deleted_holds_up_nothing(
    error: ClusterError | None,
) -> None:
    stage = await served()
    edit(stage, drafters=[drafter("dflash"), drafter("eagle")])
    await stage.run(20, lambda s: bool(s.pods_of("eagle")))
    fail(stage, of("delete", DEPLOYMENTS), error)
    edit(stage, drafters=[drafter("dflash")])
    await pass_on(stage, 20)
    assert ("delete", "deployments") in {write[:2] for write in stage.cluster.writes}
    edit(stage, replicas=8)
    await pass_on(stage, 10)
    assert stage.replicas() == {"baseline": 1, "dflash": 7}
    assert stage.condition("Ready")[0] == "True", "it serves nobody"
    assert "can't be written" in stage.condition("Trialing")[2]


@REFUSED
@pytest.mark.parametrize("kind", [SERVICES, BUDGETS], ids=lambda kind: kind.plural)
async def test_a_service_or_budget_that_can_not_be_written_is_told_and_tried_again(
    kind: Kind, error: ClusterError
) -> None:
    stage = Stage(spec(replicas=2))
    fail(stage, of("apply force", kind), error)
    await stage.run(20)
    status, reason, message = stage.condition("Ready")
    assert (status, reason) == ("False", "ChildRefused")
    assert str(error) in message
    assert stage.replicas() == {"baseline": 2}
    assert len(stage.cluster.of(SERVICES if kind is BUDGETS else BUDGETS)) == 1
    assert stage.latest is not None
    assert stage.latest <= 30
    stage.cluster.fault = lambda verb, kind, name: None
    await stage.run(8)
    assert stage.condition("Ready")[0] == "True"
    assert len(stage.cluster.of(kind)) == 1


async def test_a_hiccup_of_the_api_server_is_not_told() -> None:
    stage = Stage(spec(replicas=2))
    fail(stage, of("apply", SERVICES), Unavailable("etcdserver: leader changed"))
    await stage.run(3)
    stage.cluster.fault = lambda verb, kind, name: None
    await stage.run(10)
    told = [c.message for c in stage.status.conditions or [] if "etcdserver" in c.message]
    assert told == []
    assert len(stage.cluster.of(SERVICES)) == 1


@pytest.mark.parametrize("error", [Forbidden(QUOTA), Unavailable("500: failed calling webhook")], ids=str)
async def test_a_drafter_whose_deployment_a_quota_or_a_broken_webhook_keeps_out_is_tried_again_later(
    error: ClusterError,
) -> None:
    stage = Stage(spec("dflash"), {"dflash": 1.8})
    fail(stage, of("create", DEPLOYMENTS, "dflash"), error)
    for _ in range(60):
        await stage.step()
        assert stage.replicas() == {"baseline": 4}  # no pod is taken for what can't be made
    [verdict] = stage.status.verdicts or []
    assert (verdict.outcome.value, verdict.reason) == ("NoCapacity", "PodsRefused")
    assert verdict.retry_time is not None
    assert str(error) in str(verdict.message)
    assert stage.condition("Ready")[0] == "True"


@REFUSED
@pytest.mark.parametrize("replicas", [1, 4])
async def test_no_pod_is_taken_for_a_new_engine_whose_deployment_is_refused(
    replicas: int, error: ClusterError
) -> None:
    stage = await Stage(spec(replicas=replicas)).run(10)
    pods = {p["metadata"]["uid"] for p in stage.cluster.of(PODS)}
    fail(stage, of("create", DEPLOYMENTS), error)
    edit(stage, engine=NEW_IMAGE)
    await stage.run(30)
    assert {p["metadata"]["uid"] for p in stage.cluster.of(PODS)} == pods
    status, _, message = stage.condition("Ready")
    assert status == "False"
    assert str(error) in message
    edit(stage, replicas=replicas + 2)
    await stage.run(20)
    assert stage.replicas() == {"baseline": replicas + 2}
    stage.cluster.fault = lambda verb, kind, name: None
    await stage.run(80)
    assert stage.condition("Ready")[0] == "True"
    assert pods.isdisjoint(p["metadata"]["uid"] for p in stage.cluster.of(PODS))


@pytest.mark.parametrize("error", [Refused, Forbidden, Unavailable])
@pytest.mark.parametrize("which", [of("create", DEPLOYMENTS), of("apply", SERVICES)], ids=["POST", "apply"])
async def test_a_refusal_in_other_words_each_time_makes_no_hot_loop(
    which: Which, error: type[ClusterError]
) -> None:
    stage = await served()
    stage.cluster.remove(SERVICES, "gemma")
    asked = {"n": 0}

    def numbered(verb: str, kind: Kind, name: str) -> ClusterError | None:
        asked["n"] += which(verb, kind, name)
        return error(f"not signed (request 8f3a-{asked['n']})") if which(verb, kind, name) else None

    stage.cluster.fault = numbered
    writes = len(stage.cluster.writes)
    edit(stage, engine=NEW_IMAGE, replicas=8)
    await stage.run(60)  # 5 minutes
    assert sum(stage.replicas().values()) >= 7  # one may be moving
    assert asked["n"] <= 70
    assert passes_since(stage, writes) <= 45  # one a window of 10 s, and a few
    assert any("not signed" in c.message for c in stage.status.conditions or [])


async def test_a_pass_that_ends_early_again_and_again_is_repeated_ever_more_slowly() -> None:
    stage = await Stage(spec(paused=True)).run(5)
    [name] = [d["metadata"]["name"] for d in stage.cluster.of(DEPLOYMENTS)]
    labels = deepcopy(stage.cluster.one(DEPLOYMENTS, name)["metadata"]["labels"])
    delays = []
    for _ in range(6):  # somebody's controller edits the label each time that it is put right
        stage.cluster.edit(DEPLOYMENTS, name, {"metadata": {"labels": {"specdeploy.dev/name": "other"}}})
        delays.append(await stage.reconciler.reconcile(("default", "gemma")))
        assert stage.cluster.one(DEPLOYMENTS, name)["metadata"]["labels"] == labels
    assert delays == [0.0, 1.0, 2.0, 4.0, 8.0, 16.0]


@pytest.mark.parametrize("pods", [3, 40])
async def test_logs_that_can_not_be_read_hold_up_no_pass(pods: int) -> None:
    stage = Stage(spec("dflash", replicas=pods + 2, trial={"replicas": pods}), {"dflash": 1.8})
    stage.traffic = 0.0
    await stage.run(300, lambda s: len(s.pods_of("dflash")) == pods)
    stage.cluster.hangs = of("log", PODS)
    stage.restart()
    stage.cluster.logs_read.clear()
    loop, longest = asyncio.get_running_loop(), 0.0
    for _ in range(25):
        began = loop.time()
        await pass_on(stage, 1)
        longest = max(longest, loop.time() - began)
    assert set(Counter(stage.cluster.logs_read).values()) == {MOST_TRIES}
    assert len(set(stage.cluster.logs_read)) > pods
    assert longest <= 12.0


async def test_nodes_that_can_not_be_read_hold_up_no_pass_and_are_not_asked_in_each() -> None:
    stage = await Stage(spec(replicas=40)).run(2)
    asked = {"n": 0}
    for number, pod in enumerate(stage.cluster.of(PODS)):
        stage.cluster.edit(PODS, pod["metadata"]["name"], {"spec": {"nodeName": f"m{number}"}})

    def hangs(verb: str, kind: Kind, name: str) -> bool:
        asked["n"] += kind is NODES
        return kind is NODES

    stage.cluster.hangs = hangs
    began = asyncio.get_running_loop().time()
    await pass_on(stage, 6)
    assert asyncio.get_running_loop().time() - began <= 12.0
    assert asked["n"] <= 41
