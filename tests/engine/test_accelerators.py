"""Nodes by their AMD labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import pytest

from specdeploy.api.engine_spec import AcceleratorType
from specdeploy.engine.accelerators import (
    ARCHITECTURES,
    CONVERTING_FP8,
    DEVICE_IDS,
    GPUS,
    LABEL,
    is_known_partition,
    kind_of,
    matches,
    memory_gib_of,
    node_affinity,
    partition_of,
)


def test_every_accelerator_of_the_resource_has_device_ids_in_the_labellers_spelling() -> None:
    assert set(DEVICE_IDS) == set(get_args(AcceleratorType))
    for device in (device for ids in DEVICE_IDS.values() for device in ids):
        assert len(device) == 4
        assert device == f"{int(device, 16):x}"


def test_no_device_id_belongs_to_two_accelerators_but_the_shared_one_of_the_mi250s() -> None:
    ids = [device for known in DEVICE_IDS.values() for device in known]
    assert {device for device in ids if ids.count(device) > 1} == {"740c"}


def test_the_affinity_has_the_plain_label_or_each_counted_one() -> None:
    required = node_affinity("MI355X")["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required == {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": LABEL, "operator": "In", "values": ["75a3", "75b3"]}]},
            {"matchExpressions": [{"key": f"{LABEL}.75a3", "operator": "Exists"}]},
            {"matchExpressions": [{"key": f"{LABEL}.75b3", "operator": "Exists"}]},
        ]
    }


@pytest.mark.parametrize(
    ("labels", "kind", "is_mi300x"),
    [
        ({LABEL: "74a1"}, "MI300X/74a1", True),
        ({LABEL: "74a1", "amd.com/gpu.compute-memory-partition": "cpx_nps4"}, "MI300X/74a1/cpx_nps4", True),
        ({LABEL: "74b5"}, "MI300X/74b5", True),
        ({LABEL: "75b8"}, "MI350P/75b8", False),
        ({f"{LABEL}.74a1": "8"}, "MI300X/74a1", True),
        ({LABEL: "74a1", f"{LABEL}.74a1": "8"}, "MI300X/74a1", True),
        ({f"{LABEL}.74a1": "4", f"{LABEL}.74a5": "4"}, None, True),
        ({LABEL: "74a5"}, "MI325X/74a5", False),
        ({LABEL: "ffff"}, "ffff", False),
        ({"amd.com/gpu.family": "AI"}, None, False),
        ({}, None, False),
    ],
)
def test_labels_tell_the_kind_of_gpu(labels: Mapping[str, str], kind: str | None, is_mi300x: bool) -> None:
    assert kind_of(labels) == kind
    assert matches(labels, "MI300X") is is_mi300x


@pytest.mark.parametrize(
    ("gpu", "architecture", "fp8", "mx", "has_aiter"),
    [
        ("MI250X", "gfx90a", None, False, False),
        ("MI300X", "gfx942", "e4m3fnuz", False, True),
        ("MI325X", "gfx942", "e4m3fnuz", False, True),
        ("MI350P", "gfx950", "e4m3fn", True, True),
        ("MI355X", "gfx950", "e4m3fn", True, True),
    ],
)
def test_a_gpu_can_do_what_its_generation_can(
    gpu: str, architecture: str, fp8: str | None, mx: bool, has_aiter: bool
) -> None:
    can = GPUS[gpu].can
    assert (can.name, can.fp8, can.mx, can.aiter) == (architecture, fp8, mx, has_aiter)
    assert can is ARCHITECTURES[architecture]


def test_checkpoints_in_fp8_are_converted_where_the_hardware_has_the_other_flavour() -> None:
    assert CONVERTING_FP8 == ("gfx942",)
    assert [each.converts_fp8 for each in ARCHITECTURES.values()] == [False, True, False]


@pytest.mark.parametrize(
    ("gpu", "resource", "gib"),
    [
        ("MI210", "amd.com/gpu", 64),
        ("MI250X", "amd.com/gpu", 64),  # one of its two dies
        ("MI300X", "amd.com/gpu", 192),
        ("MI300X", "amd.com/spx_nps1", 192),
        ("MI300X", "amd.com/dpx_nps1", 96),
        ("MI300X", "amd.com/qpx_nps1", 48),
        ("MI300X", "amd.com/cpx_nps1", 24),
        ("MI300X", "amd.com/cpx_nps4", 24),
        ("MI325X", "amd.com/cpx_nps4", 32),
        ("MI355X", "amd.com/dpx_nps2", 144),
        ("MI355X", "amd.com/cpx_nps2", 36),
        ("MI350X", "amd.com/qpx_nps2", 72),
        ("MI350P", "amd.com/gpu", 144),
        ("MI350P", "amd.com/cpx_nps1", None),
        ("MI300X", "amd.com/tpx_nps1", None),
        ("MI300A", "amd.com/cpx_nps1", None),
        ("MI210", "amd.com/cpx_nps4", None),
        ("MI300X", "nvidia.com/gpu", None),
        ("MI300X", "amd.com/gpu-shared", None),
    ],
)
def test_the_memory_of_a_device_follows_from_the_name_of_its_resource(
    gpu: str, resource: str, gib: float | None
) -> None:
    assert memory_gib_of(GPUS[gpu], resource) == gib


@pytest.mark.parametrize(
    ("gpu", "resource", "known"),
    [
        ("MI300X", "amd.com/cpx_nps4", True),
        ("MI300X", "amd.com/cpx_nps2", False),
        ("MI300X", "amd.com/spx_nps1", True),
        ("MI300X", "amd.com/dpx_nps1", True),
        ("MI300X", "amd.com/spx_nps4", False),
        ("MI300X", "amd.com/dpx_nps4", False),
        ("MI300X", "amd.com/dpx_nps2", True),
        ("MI325X", "amd.com/dpx_nps2", False),
        ("MI355X", "amd.com/dpx_nps2", True),
        ("MI355X", "amd.com/cpx_nps2", True),
        ("MI350X", "amd.com/qpx_nps2", True),
        ("MI355X", "amd.com/qpx_nps2", True),
        ("MI300X", "amd.com/qpx_nps2", False),
        ("MI355X", "amd.com/spx_nps2", False),
        ("MI350P", "amd.com/dpx_nps1", None),
        ("MI210", "amd.com/spx_nps1", False),
        ("MI300A", "amd.com/tpx_nps1", None),
    ],
)
def test_a_partition_is_one_that_the_gpu_is_documented_to_have(
    gpu: str, resource: str, known: bool | None
) -> None:
    partition = partition_of(resource)
    assert partition is not None
    assert is_known_partition(GPUS[gpu], partition) is known


@pytest.mark.parametrize("resource", ["amd.com/gpu", "amd.com/CPX_NPS4", "amd.com/cpx", "x.com/cpx_nps4"])
def test_other_names_say_nothing_of_partitions(resource: str) -> None:
    assert partition_of(resource) is None


def test_a_gpu_that_has_pairs_of_modes_has_compute_modes() -> None:
    for gpu in GPUS.values():
        assert gpu.physical
        assert bool(gpu.pairs) is bool(gpu.compute)
