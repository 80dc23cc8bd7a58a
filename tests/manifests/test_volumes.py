"""Volumes and mounts of an engine pod."""

from __future__ import annotations

from typing import Any

import pytest

from specdeploy.api.spec import Spec
from specdeploy.manifests.volumes import build_mounts, build_volumes
from tests.engine.specs import everything, smallest


def volume(spec: Spec, name: str) -> dict[str, Any]:
    return next(v for v in build_volumes(spec) if v["name"] == name)


@pytest.mark.parametrize("field", ["weights", "compileCache"])
@pytest.mark.parametrize(
    ("storage", "source", "read_only"),
    [
        (None, {"emptyDir": {}}, False),
        ({}, {"emptyDir": {}}, False),
        ({"emptyDir": {"sizeLimit": "9Gi"}}, {"emptyDir": {"sizeLimit": "9Gi"}}, False),
        (
            {"persistentVolumeClaim": {"claimName": "c"}},
            {"persistentVolumeClaim": {"claimName": "c", "readOnly": False}},
            False,
        ),
        (
            {"persistentVolumeClaim": {"claimName": "c", "readOnly": True}},
            {"persistentVolumeClaim": {"claimName": "c", "readOnly": True}},
            True,
        ),
        ({"hostPath": {"path": "/w"}}, {"hostPath": {"path": "/w", "type": "DirectoryOrCreate"}}, False),
        (
            {"hostPath": {"path": "/w", "readOnly": True}},
            {"hostPath": {"path": "/w", "type": "Directory"}},
            True,
        ),
        (
            {"ephemeral": {"size": "9Gi", "storageClassName": "fast"}},
            {
                "ephemeral": {
                    "volumeClaimTemplate": {
                        "spec": {
                            "accessModes": ["ReadWriteOnce"],
                            "resources": {"requests": {"storage": "9Gi"}},
                            "storageClassName": "fast",
                        }
                    }
                }
            },
            False,
        ),
    ],
)
def test_storage_becomes_a_volume_and_its_mount(
    field: str, storage: dict[str, Any] | None, source: dict[str, Any], read_only: bool
) -> None:
    name = {"weights": "weights", "compileCache": "compile-cache"}[field]
    spec = smallest(f"engine.{field}", storage)
    (mount,) = (m for m in build_mounts(spec) if m["name"] == name)
    assert volume(spec, name) == {"name": name, **source}
    assert mount.get("readOnly", False) is read_only


def test_without_a_storage_class_the_clusters_default_is_taken() -> None:
    found = volume(smallest("engine.weights", {"ephemeral": {"size": "9Gi"}}), "weights")
    assert "storageClassName" not in found["ephemeral"]["volumeClaimTemplate"]["spec"]


@pytest.mark.parametrize(("count", "size"), [(1, "8Gi"), (7, "8Gi"), (8, "20Gi"), (64, "20Gi")])
def test_shared_memory_is_in_memory_and_larger_for_many_gpus(count: int, size: str) -> None:
    found = volume(smallest("accelerator.count", count), "shm")
    assert found["emptyDir"] == {"medium": "Memory", "sizeLimit": size}


def test_every_mount_has_its_volume_and_the_users_come_last() -> None:
    spec = everything()
    names = [v["name"] for v in build_volumes(spec)]
    assert [m["name"] for m in build_mounts(spec)] == names
    assert names[-1] == "templates"
