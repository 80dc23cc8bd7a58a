"""What to do where a pod with GPUs finds no room: what nodes lack, by their labels and by what they offer.

`nodes` in the shell lists the nodes and asks here; the conditions of the resource have the answer.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from specdeploy.api.engine_spec import Accelerator

from .accelerators import (
    DOMAIN,
    GPUS,
    LABEL,
    PARTITION_LABEL,
    WHOLE,
    device_ids,
    matches,
    memory_gib_of,
)

# Written by Node Feature Discovery with the rule of AMD's GPU operator.
_DISCOVERED = ("feature.node.kubernetes.io/amd-gpu", "feature.node.kubernetes.io/amd-vgpu")
_UNDIVIDED = "spx_nps1"
_MOST_NAMES = 3


class Node(NamedTuple):
    """Of a listed node: its name, its labels, and how much of each extended resource its pods may take."""

    name: str
    labels: Mapping[str, str]
    allocatable: Mapping[str, str]


def advice(wanted: Accelerator, nodes: Sequence[Node]) -> str | None:
    """What to do where no node offers the resource, none is labelled as having this accelerator, or what is
    offered is a part of a GPU; None where nothing of that holds, or there is no node to ask.

    A GPU that only a DRA driver offers is in no node's status.allocatable.
    """
    offering = [node for node in nodes if _offers(node, wanted.resource_name)]
    labelled = [node for node in nodes if wanted.type is None or matches(node.labels, wanted.type)]
    if offering and not labelled and wanted.type is not None:
        return _missing_label(wanted.type, wanted.resource_name)
    fitting = labelled or nodes
    if fitting and not any(node in offering for node in fitting):
        return _missing_resource(wanted, fitting)
    return _parts_of_gpus(wanted, [node for node in fitting if node in offering])


def _missing_label(accelerator: str, resource_name: str) -> str:
    return (
        f"no node says by the label {LABEL} that it has {accelerator} GPUs; install AMD's GPU operator, "
        f"whose node labeller writes it, or the ROCm device plugin's node labeller with -device-id; "
        f"or remove spec.accelerator.type to use any node that offers {resource_name}"
    )


def _missing_resource(wanted: Accelerator, nodes: Sequence[Node]) -> str:
    """`nodes`: those that could have it, of which none offers it."""
    what = f"no node offers {wanted.resource_name}"
    if wanted.type is not None and any(matches(node.labels, wanted.type) for node in nodes):
        what = f"no node with {wanted.type} offers {wanted.resource_name}"
    others = sorted({name for node in nodes for name in _offered_by_amd(node)})
    if others:
        return f"{what}; set spec.accelerator.resourceName to {' or '.join(others)}"
    silent = [node.name for node in nodes if _has_gpus(node.labels)]
    seen = f", though labels tell of AMD GPUs on {_listed(silent)}" if silent else ""
    return (
        f"{what} or any other resource of amd.com{seen}; install AMD's device plugin or "
        f"GPU operator. GPUs that only the DRA driver gpu.amd.com offers (as ResourceSlices) are not "
        f"supported yet, and on one node the driver and the device plugin exclude each other"
    )


def _parts_of_gpus(wanted: Accelerator, nodes: Sequence[Node]) -> str | None:
    """That a device is no whole GPU: with the device plugin's naming strategy `single` partitions are
    amd.com/gpu too."""
    if wanted.resource_name != WHOLE:
        return None
    modes = {node.name: node.labels.get(PARTITION_LABEL, _UNDIVIDED) for node in nodes}
    divided = [node for node in nodes if modes[node.name] != _UNDIVIDED]
    if not divided:
        return None
    mode = modes[divided[0].name]
    gib = memory_gib_of(GPUS[wanted.type], f"{DOMAIN}{mode}") if wanted.type else None
    size = f" of {gib:g} GiB" if gib else ""
    return (
        f"on {_listed([node.name for node in divided])} the GPUs are divided ({mode}), so that each {WHOLE} "
        f"there is a part{size} and not a whole GPU; divide them as {_UNDIVIDED}, "
        f"or use a model that fits a part"
    )


def _listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    shown, more = sorted(names)[:_MOST_NAMES], len(names) - _MOST_NAMES
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _has_gpus(labels: Mapping[str, str]) -> bool:
    return bool(device_ids(labels)) or any(labels.get(key) == "true" for key in _DISCOVERED)


def _offered_by_amd(node: Node) -> list[str]:
    return [name for name in node.allocatable if name.startswith(DOMAIN) and _offers(node, name)]


def _offers(node: Node, resource_name: str) -> bool:
    return str(node.allocatable.get(resource_name, "0")) != "0"
