"""Nodes by their AMD labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import pytest

from specdeploy.api.engine_spec import AcceleratorType
from specdeploy.engine.accelerators import (
    DEVICE_IDS,
    LABEL,
    kind_of,
    matches,
    missing_label_advice,
    node_affinity,
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


def test_the_advice_names_the_label_what_to_install_and_what_to_drop() -> None:
    advice = missing_label_advice("MI300X", "amd.com/gpu")
    for part in (LABEL, "MI300X", "GPU operator", "node labeller", "spec.accelerator.type", "amd.com/gpu"):
        assert part in advice
