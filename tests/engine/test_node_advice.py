"""What nodes lack where a pod with GPUs finds no room."""

from typing import Any

import pytest

from specdeploy.api.engine_spec import Accelerator
from specdeploy.engine.accelerators import LABEL, PARTITION_LABEL
from specdeploy.engine.node_advice import Node, advice

MI300X = {LABEL: "74a1"}
MI325X = {LABEL: "74a5"}
NFD = {"feature.node.kubernetes.io/amd-gpu": "true"}
CPX = {**MI300X, PARTITION_LABEL: "cpx_nps4"}
EIGHT = {"amd.com/gpu": "8"}
DRA = ["DRA", "gpu.amd.com", "not supported yet", "device plugin"]


def told(wanted: dict[str, Any], *nodes: tuple[dict[str, str], dict[str, str]]) -> str | None:
    listed = [Node(f"n{number}", labels, offered) for number, (labels, offered) in enumerate(nodes)]
    return advice(Accelerator.model_validate(wanted), listed)


@pytest.mark.parametrize(
    ("wanted", "nodes"),
    [
        ({}, [({}, EIGHT)]),
        ({}, [({}, {}), ({}, EIGHT)]),
        ({}, []),
        ({"type": "MI300X"}, []),
        ({"type": "MI300X"}, [(MI300X, EIGHT)]),
        ({"type": "MI300X"}, [(MI300X, EIGHT), (MI325X, {})]),
        ({}, [({**MI300X, PARTITION_LABEL: "spx_nps1"}, EIGHT)]),
        ({"resourceName": "amd.com/cpx_nps4"}, [(CPX, {"amd.com/cpx_nps4": "64"})]),
        ({"resourceName": "example.com/gpu"}, [({}, {"example.com/gpu": "1"})]),
        ({"type": "MI300X"}, [(MI300X, EIGHT), ({**MI325X, PARTITION_LABEL: "cpx_nps4"}, EIGHT)]),
    ],
)
def test_nothing_is_advised_where_nodes_have_what_is_wanted(wanted: dict[str, Any], nodes: list[Any]) -> None:
    assert told(wanted, *nodes) is None


@pytest.mark.parametrize(
    ("wanted", "nodes", "parts"),
    [
        ({}, [({}, {})], ["no node offers amd.com/gpu or any other resource of amd.com; install", *DRA]),
        ({}, [({}, {"amd.com/gpu": "0"})], ["no node offers amd.com/gpu", *DRA]),
        ({}, [({}, {"nvidia.com/gpu": "8"})], ["any other resource of amd.com", *DRA]),
        (
            {},
            [({}, {"amd.com/cpx_nps4": "64"}), ({}, {"amd.com/spx_nps1": "8"})],
            [
                "no node offers amd.com/gpu; set spec.accelerator.resourceName to amd.com/cpx_nps4 or "
                "amd.com/spx_nps1"
            ],
        ),
        ({}, [(NFD, {}), ({}, {})], ["labels tell of AMD GPUs on n0;", *DRA]),
        ({}, [(MI300X, {})] * 5, ["labels tell of AMD GPUs on n0, n1, n2 and 2 more;"]),
        ({}, [({f"{LABEL}.74a1": "4", f"{LABEL}.74a5": "4"}, {})], ["labels tell of AMD GPUs on n0;"]),
        # Another node's resource is of no use where the accelerator is named.
        (
            {"type": "MI300X"},
            [(MI300X, {}), (MI325X, EIGHT)],
            ["no node with MI300X offers amd.com/gpu", "labels tell of AMD GPUs on n0;", *DRA],
        ),
        (
            {"type": "MI300X"},
            [(MI300X, {"amd.com/cpx_nps4": "64"}), (MI325X, EIGHT)],
            ["no node with MI300X offers amd.com/gpu; set spec.accelerator.resourceName to amd.com/cpx_nps4"],
        ),
        (
            {"type": "MI300X"},
            [({}, EIGHT), (MI325X, EIGHT)],
            [LABEL, "MI300X", "GPU operator", "node labeller", "remove spec.accelerator.type", "amd.com/gpu"],
        ),
        ({"type": "MI300X"}, [({}, {})], ["no node offers amd.com/gpu", *DRA]),
        # The naming strategy `single`: a part of a GPU is offered as amd.com/gpu.
        ({"type": "MI300X"}, [(CPX, {"amd.com/gpu": "64"})], ["on n0", "(cpx_nps4)", "a part of 24 GiB"]),
        (
            {},
            [(CPX, {"amd.com/gpu": "64"}), ({}, EIGHT)],
            ["on n0", "(cpx_nps4)", "a part and not a whole GPU"],
        ),
    ],
)
def test_what_nodes_lack_is_told_with_what_to_do(
    wanted: dict[str, Any], nodes: list[Any], parts: list[str]
) -> None:
    found = told(wanted, *nodes)
    assert found is not None
    for part in parts:
        assert part in found
