"""Volumes of engine pods and where the engine's container mounts them."""

from typing import Any

from specdeploy.api.engine_spec import EphemeralSource, Storage
from specdeploy.api.spec import Spec
from specdeploy.engine import layout

_MANY_GPUS = 8


def build_volumes(spec: Spec) -> list[dict[str, Any]]:
    """Ours, then the user's."""
    engine = spec.engine
    given = (engine.pod_template.volumes if engine.pod_template else None) or []
    # Workers pass tensors through shared memory: rings grow with the number of GPUs.
    shm = "20Gi" if spec.accelerator.count >= _MANY_GPUS else "8Gi"
    return [
        {"name": layout.WEIGHTS_VOLUME, **_source(engine.weights)},
        {"name": layout.CACHE_VOLUME, **_source(engine.compile_cache)},
        {"name": layout.HOME_VOLUME, "emptyDir": {}},
        {"name": layout.SHM_VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": shm}},
        *given,
    ]


def build_mounts(spec: Spec) -> list[dict[str, Any]]:
    """Ours, then the user's."""
    engine = spec.engine
    given = (engine.pod_template.volume_mounts if engine.pod_template else None) or []
    return [
        _mount(layout.WEIGHTS_VOLUME, layout.WEIGHTS_PATH, _is_read_only(engine.weights)),
        _mount(layout.CACHE_VOLUME, layout.CACHE_PATH, _is_read_only(engine.compile_cache)),
        _mount(layout.HOME_VOLUME, layout.HOME_PATH),
        _mount(layout.SHM_VOLUME, layout.SHM_PATH),
        *given,
    ]


def _mount(name: str, path: str, read_only: bool = False) -> dict[str, Any]:
    return {"name": name, "mountPath": path, **({"readOnly": True} if read_only else {})}


def _is_read_only(storage: Storage | None) -> bool:
    if storage is None:
        return False
    sources = (storage.persistent_volume_claim, storage.host_path)
    return any(source.read_only for source in sources if source)


def _source(storage: Storage | None) -> dict[str, Any]:
    """The volume's source; none named: an emptyDir."""
    if storage and (claim := storage.persistent_volume_claim):
        return {"persistentVolumeClaim": claim.wire()}
    if storage and (host := storage.host_path):
        kind = "Directory" if host.read_only else "DirectoryOrCreate"
        return {"hostPath": {"path": host.path, "type": kind}}
    if storage and storage.ephemeral:
        return {"ephemeral": {"volumeClaimTemplate": {"spec": _claim(storage.ephemeral)}}}
    return {"emptyDir": storage.empty_dir.wire() if storage and storage.empty_dir else {}}


def _claim(source: EphemeralSource) -> dict[str, Any]:
    named = {"storageClassName": source.storage_class_name} if source.storage_class_name else {}
    return {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": source.size}},
        **named,
    }
