"""What is told where pods find no room: that no node offers the resource, or none has the label."""

from typing import Any

import pytest

from specdeploy.api.engine_spec import Accelerator
from specdeploy.cluster import NODES, Forbidden
from specdeploy.nodes import Nodes
from tests.fake_cluster import FakeCluster
from tests.shell.stage import START, Stage, spec

LABELLED = {"amd.com/gpu.device-id": "74a1"}


def node(labels: dict[str, str] | None = None, **allocatable: str) -> dict[str, Any]:
    offered = {name.replace("_", "/", 1): amount for name, amount in allocatable.items()}
    return {"metadata": {"labels": labels or {}}, "status": {"allocatable": {"cpu": "8", **offered}}}


async def advice(wanted: dict[str, Any], *nodes: dict[str, Any]) -> str | None:
    cluster = FakeCluster()
    for number, body in enumerate(nodes):
        cluster.put(NODES, "", {**body, "metadata": {**body.get("metadata", {}), "name": f"n{number}"}})
    return await Nodes(cluster, lambda: START).advice(Accelerator.model_validate(wanted))


GPU = {"amd.com_gpu": "8"}


@pytest.mark.parametrize(
    ("wanted", "nodes", "words"),
    [
        ({}, [node(**GPU)], None),
        ({}, [node(), node(**GPU)], None),
        ({}, [], None),
        ({"type": "MI300X"}, [node(LABELLED, **GPU)], None),
        ({"type": "MI300X"}, [node(**GPU)], "label"),
        ({}, [node()], "no node offers amd.com/gpu or any other resource of amd.com"),
        ({}, [node(**{"amd.com_gpu": "0"})], "no node offers amd.com/gpu"),
        ({"type": "MI300X"}, [node(LABELLED)], "DRA driver"),
        ({}, [node(**{"amd.com_cpx_nps4": "8"})], "accelerator.resourceName to amd.com/cpx_nps4"),
        ({"resourceName": "example.com/gpu"}, [node(**{"example.com_gpu": "1"})], None),
        ({}, [{"metadata": {}}], "no node offers"),
        ({}, [{"metadata": {}, "status": {"allocatable": "none"}}], "no node offers"),
    ],
)
async def test_the_advice_names_what_nodes_lack(
    wanted: dict[str, Any], nodes: list[dict[str, Any]], words: str | None
) -> None:
    found = await advice(wanted, *nodes)
    assert (found is None) if words is None else (found is not None and words in found)


async def test_without_the_right_to_list_nodes_nothing_is_advised() -> None:
    cluster = FakeCluster(fault=lambda verb, kind, name: Forbidden("no") if verb == "list" else None)
    assert await Nodes(cluster, lambda: START).advice(Accelerator.model_validate({})) is None


async def test_the_advice_stands_in_the_condition_of_a_fleet_without_room() -> None:
    stage = Stage(spec())
    stage.cluster.put(NODES, "", {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "8"}}})
    await stage.step()
    stage.cluster.settle()
    for pod in stage.pods_of("baseline"):
        unscheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1"}
        pod["status"]["conditions"].append(unscheduled)
        pod["spec"] = {}
        stage.cluster.objects["pods", "default", pod["metadata"]["name"]] = pod
    await stage.look()
    status, reason, message = stage.condition("Ready")
    assert (status, reason) == ("False", "Unschedulable")
    assert "no node offers amd.com/gpu" in message
