"""Which nodes have a kind of AMD GPU: by the device id that AMD's node labeller writes.

Device ids, not product names: names are missing on virtual functions of several clouds. `manifests.affinity`
uses the node affinity, the reconciler the rest (are both arms on the same kind of GPU? why is a pod not
placed?).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LABEL = "amd.com/gpu.device-id"
PARTITION_LABEL = "amd.com/gpu.compute-memory-partition"

# PCI device ids as the labeller writes them (lower-case hex, no 0x): physical functions, then virtual ones.
# Source: the node feature rule of AMD's GPU operator (helm-charts-k8s/templates/gpu-nfd-default-rule.yaml).
# 740c is MI250 as well as MI250X.
DEVICE_IDS: dict[str, tuple[str, ...]] = {
    "MI210": ("740f", "7410"),
    "MI250": ("740c",),
    "MI250X": ("7408", "740c"),
    "MI300A": ("74a0",),
    "MI300X": ("74a1", "74a9", "74b5", "74bd"),
    "MI308X": ("74a2", "74a8", "74b6", "74bc"),
    "MI325X": ("74a5", "74b9"),
    "MI350X": ("75a0", "75b0"),
    "MI355X": ("75a3", "75b3"),
}


@dataclass(frozen=True)
class Gpu:
    """One model of accelerator, unpartitioned. `memory_gib`: HBM of one GPU."""

    name: str
    architecture: str
    memory_gib: int


GPUS: dict[str, Gpu] = {
    gpu.name: gpu
    for gpu in (
        Gpu("MI210", "gfx90a", 64),
        Gpu("MI250", "gfx90a", 128),
        Gpu("MI250X", "gfx90a", 128),
        Gpu("MI300A", "gfx942", 128),
        Gpu("MI300X", "gfx942", 192),
        Gpu("MI308X", "gfx942", 192),
        Gpu("MI325X", "gfx942", 256),
        Gpu("MI350X", "gfx950", 288),
        Gpu("MI355X", "gfx950", 288),
    )
}


def node_affinity(accelerator: str) -> dict[str, Any]:
    """A core/v1 NodeAffinity for nodes with this accelerator.

    A node with one kind of GPU has the plain label; one with several has `<label>.<id>=<count>` for each.
    """
    ids = DEVICE_IDS[accelerator]
    plain = {"key": LABEL, "operator": "In", "values": list(ids)}
    counted = [{"key": f"{LABEL}.{device}", "operator": "Exists"} for device in ids]
    terms = [{"matchExpressions": [expression]} for expression in (plain, *counted)]
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}


def matches(node_labels: Mapping[str, str], accelerator: str) -> bool:
    """Whether `node_affinity(accelerator)` accepts a node with these labels."""
    return any(device in DEVICE_IDS[accelerator] for device in _device_ids(node_labels))


def kind_of(node_labels: Mapping[str, str]) -> str | None:
    """Equal for two nodes with the same kind of GPU in the same partitioning, e.g. `MI300X/74a1/spx_nps1`.

    None when the labels do not tell: there are none, or the node has several kinds and a pod may have either.
    """
    ids = _device_ids(node_labels)
    if len(ids) != 1:
        return None
    name = next((name for name, known in DEVICE_IDS.items() if ids[0] in known), None)
    parts = (name, ids[0], node_labels.get(PARTITION_LABEL))
    return "/".join(part for part in parts if part)


def missing_label_advice(accelerator: str, resource_name: str) -> str:
    """What to tell when no node has the label that `accelerator.type` needs."""
    return (
        f"no node says by the label {LABEL} that it has {accelerator} GPUs; install AMD's GPU operator, "
        f"whose node labeller writes it, or the ROCm device plugin's node labeller with -device-id; "
        f"or remove spec.accelerator.type to use any node that offers {resource_name}"
    )


def _device_ids(node_labels: Mapping[str, str]) -> list[str]:
    """All device ids of a node, sorted: of the plain label and of the counted ones."""
    plain = [node_labels[LABEL]] if LABEL in node_labels else []
    counted = [key.removeprefix(f"{LABEL}.") for key in node_labels if key.startswith(f"{LABEL}.")]
    return sorted({*plain, *counted})
