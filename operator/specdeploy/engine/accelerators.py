"""AMD's GPUs: what each one can do, how its partitions are named, and which nodes have it.

Nodes are told apart by the device id that AMD's node labeller writes, not by product names: names are missing
on virtual functions of several clouds. `manifests.affinity` uses the node affinity, `rules.hardware` the
tables, `memory` the memory of a device, `node_advice` the labels (why is a pod not placed?), the reconciler
the rest (are both arms on the same kind of GPU?).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LABEL = "amd.com/gpu.device-id"
PARTITION_LABEL = "amd.com/gpu.compute-memory-partition"

# AMD's device plugin offers everything under this name, partitions too unless it names them one by one.
WHOLE = "amd.com/gpu"
DOMAIN = "amd.com/"

# Taints that AMD's tools put on nodes whose GPUs are sick or being partitioned anew. Source: AMD's GPU
# operator (auto-remediation, config manager) and its DRA driver.
HEALTH_TAINTS = ("amd-gpu-unhealthy", "amd-dcm", "gpu.amd.com/memory-partition-conflict")

_PARTITION = re.compile(r"amd\.com/([a-z]{3})_(nps\d)")


# The flavour of FP8 that checkpoints are in (OCP's). The same bits mean half as much in e4m3fnuz.
FP8_OF_CHECKPOINTS = "e4m3fn"


@dataclass(frozen=True)
class Architecture:
    """What the GPUs of one generation can do, as vLLM's ROCm platform sees it.

    Attributes:
        name: as the compiler calls it.
        fp8: flavour of 8-bit floats in hardware; None: there are none.
        mx: whether it computes in MXFP4 and MXFP8; elsewhere they are emulated or refused.
        aiter: whether vLLM uses AITER's kernels on it (CDNA 3 and newer).
    """

    name: str
    fp8: str | None
    mx: bool
    aiter: bool

    @property
    def converts_fp8(self) -> bool:
        """Whether its FP8 is another than that of checkpoints, so that vLLM converts them at load."""
        return self.fp8 not in (None, FP8_OF_CHECKPOINTS)


ARCHITECTURES: dict[str, Architecture] = {
    architecture.name: architecture
    for architecture in (
        Architecture("gfx90a", fp8=None, mx=False, aiter=False),
        Architecture("gfx942", fp8="e4m3fnuz", mx=False, aiter=True),
        Architecture("gfx950", fp8="e4m3fn", mx=True, aiter=True),
    )
}


CONVERTING_FP8 = tuple(each.name for each in ARCHITECTURES.values() if each.converts_fp8)


@dataclass(frozen=True)
class Gpu:
    """One model of accelerator.

    Attributes:
        name: as in spec.accelerator.type.
        architecture: a key of `ARCHITECTURES`.
        memory_gib: HBM of what one device is while nothing is partitioned. A board of MI250 or MI250X is two
            devices of 64.
        physical, virtual: PCI device ids of its physical and virtual functions, as the labeller writes them:
            lower-case hex, no 0x. 740c is MI250 as well as MI250X.
        compute: compute mode -> devices that it makes of one GPU; empty: it can't be partitioned; None: not
            known to us.
        pairs: compute and memory modes that go together.
    """

    name: str
    architecture: str
    memory_gib: int
    physical: tuple[str, ...]
    virtual: tuple[str, ...] = ()
    compute: Mapping[str, int] | None = field(default_factory=dict)
    pairs: frozenset[tuple[str, str]] = frozenset()

    @property
    def can(self) -> Architecture:
        """What its generation can do."""
        return ARCHITECTURES[self.architecture]


_EIGHT_DIES = {"spx": 1, "dpx": 2, "qpx": 4, "cpx": 8}
# The memory is never divided further than the compute units are: an undivided GPU has its memory undivided.
_MI300 = frozenset((*((compute, "nps1") for compute in _EIGHT_DIES), ("cpx", "nps4")))
_MI300X = _MI300 | {("dpx", "nps2")}  # of MI325X nobody says so
# QPX with NPS2: from ROCm 7.13 on.
_MI350 = _MI300 | {("dpx", "nps2"), ("qpx", "nps2"), ("cpx", "nps2")}

# Ids: the node feature rule of AMD's GPU operator (helm-charts-k8s/templates/gpu-nfd-default-rule.yaml); of
# MI350P ROCm/rocm-systems (rocprofiler-compute, mi_gpu_spec.yaml), its memory by ServeTheHome.
# Partitions: AMD's documentation of the config manager and of the DRA driver; the release notes of ROCm 7.13;
# of MI300X also ROCmValidationSuite#933 and the kernel's driver since March 2025.
GPUS: dict[str, Gpu] = {
    gpu.name: gpu
    for gpu in (
        Gpu("MI210", "gfx90a", 64, ("740f",), ("7410",)),
        Gpu("MI250", "gfx90a", 64, ("740c",)),
        Gpu("MI250X", "gfx90a", 64, ("7408", "740c")),
        Gpu("MI300A", "gfx942", 128, ("74a0",), compute=None),
        Gpu("MI300X", "gfx942", 192, ("74a1", "74a9"), ("74b5", "74bd"), _EIGHT_DIES, _MI300X),
        Gpu("MI308X", "gfx942", 192, ("74a2", "74a8"), ("74b6", "74bc"), None),
        Gpu("MI325X", "gfx942", 256, ("74a5",), ("74b9",), _EIGHT_DIES, _MI300),
        Gpu("MI350P", "gfx950", 144, ("75a8",), ("75b8",), None),
        Gpu("MI350X", "gfx950", 288, ("75a0",), ("75b0",), _EIGHT_DIES, _MI350),
        Gpu("MI355X", "gfx950", 288, ("75a3",), ("75b3",), _EIGHT_DIES, _MI350),
    )
}

DEVICE_IDS: dict[str, tuple[str, ...]] = {gpu.name: (*gpu.physical, *gpu.virtual) for gpu in GPUS.values()}


@dataclass(frozen=True)
class Partition:
    """A way to divide a GPU, by the name of its resource: amd.com/cpx_nps4 is `cpx`, `nps4`."""

    compute: str
    memory: str


def partition_of(resource_name: str) -> Partition | None:
    """What a resource name says of partitions; None where it says nothing.

    The device plugin names partitions only with its naming strategy `mixed`. With `single`, its default, a
    partition is an amd.com/gpu like a whole GPU.
    """
    found = _PARTITION.fullmatch(resource_name)
    return Partition(*found.groups()) if found else None


def is_known_partition(gpu: Gpu, partition: Partition) -> bool | None:
    """Whether this GPU can be divided so; None where its modes are not known to us."""
    if gpu.compute is None:
        return None
    return (partition.compute, partition.memory) in gpu.pairs


def memory_gib_of(gpu: Gpu, resource_name: str) -> float | None:
    """HBM of one schedulable device, in GiB; None where it can't be told.

    `amd.com/gpu` is taken for an undivided GPU. That is not so on a node that is partitioned while the device
    plugin names resources by its strategy `single`; nothing in a spec tells it. A partition has an equal
    share of the HBM, whatever the memory mode.
    """
    if resource_name == WHOLE:
        return float(gpu.memory_gib)
    partition = partition_of(resource_name)
    if partition is None or gpu.compute is None:
        return None
    devices = gpu.compute.get(partition.compute)
    return gpu.memory_gib / devices if devices else None


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
    return any(device in DEVICE_IDS[accelerator] for device in device_ids(node_labels))


def kind_of(node_labels: Mapping[str, str]) -> str | None:
    """Equal for two nodes with the same kind of GPU in the same partitioning, e.g. `MI300X/74a1/spx_nps1`.

    None when the labels do not tell: there are none, or the node has several kinds and a pod may have either.
    """
    ids = device_ids(node_labels)
    if len(ids) != 1:
        return None
    name = next((name for name, known in DEVICE_IDS.items() if ids[0] in known), None)
    parts = (name, ids[0], node_labels.get(PARTITION_LABEL))
    return "/".join(part for part in parts if part)


def device_ids(node_labels: Mapping[str, str]) -> list[str]:
    """All device ids of a node, sorted: of the plain label and of the counted ones."""
    plain = [node_labels[LABEL]] if LABEL in node_labels else []
    counted = [key.removeprefix(f"{LABEL}.") for key in node_labels if key.startswith(f"{LABEL}.")]
    return sorted({*plain, *counted})
