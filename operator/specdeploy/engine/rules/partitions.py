"""Rules on how GPUs are asked for and divided. Part of the rules on hardware."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule, Severity
from specdeploy.engine.accelerators import Gpu, is_known_partition, memory_gib_of, partition_of
from specdeploy.engine.setting import Candidate, Setting

_RESOURCE = "spec.accelerator.resourceName"
_OTHER_VENDORS = ("nvidia.com/", "gpu.intel.com/", "habana.ai/")

NOT_DIVIDED = Rule(
    code="SD628",
    name="gpu-has-no-partitions",
    severity=Severity.ERROR,
    title="Partitions are asked for of a GPU that has none",
    why="No node can offer such a resource for this GPU, so pods would wait for ever.",
    source="AMD's documentation of compute and memory partitions (MI300 and newer)",
    refused="accelerator: {type: MI210, resourceName: amd.com/cpx_nps4}",
    passed="accelerator: {type: MI210}",
)
UNKNOWN_PARTITION = Rule(
    code="SD629",
    name="partition-not-known-for-this-gpu",
    severity=Severity.WARNING,
    title="The partition is none that this GPU is documented to have",
    why="Pods wait for ever for a resource that no node offers.",
    source="AMD's documentation of the config manager and of the DRA driver",
    refused="model: Qwen/Qwen3-8B\naccelerator: {type: MI300X, resourceName: amd.com/cpx_nps2}",
    passed="model: Qwen/Qwen3-8B\naccelerator: {type: MI300X, resourceName: amd.com/cpx_nps4}",
)
TENSOR_OVER_PARTITIONS = Rule(
    code="SD630",
    name="tensor-parallelism-over-partitions",
    severity=Severity.WARNING,
    title="Tensor parallelism is over parts of GPUs",
    why="Partitions of one GPU share its links, and the scheduler may place a pod's partitions on several "
    "GPUs. For tensor parallelism the undivided mode (SPX) is meant; partitions are for small models.",
    source="AMD's documentation of compute partitions",
    refused="model: Qwen/Qwen3-8B\naccelerator: {type: MI300X, count: 2, resourceName: amd.com/cpx_nps4}",
    passed="model: Qwen/Qwen3-8B\naccelerator: {type: MI300X, resourceName: amd.com/cpx_nps4}",
)
OTHER_RESOURCE = Rule(
    code="SD631",
    name="resource-of-another-vendor",
    severity=Severity.ERROR,
    title="The resource is not offered by nodes with this GPU",
    why="A node with AMD's GPUs does not offer the resources of other vendors, so pods would wait for ever.",
    source="ROCm/k8s-device-plugin",
    refused="accelerator: {type: MI300X, resourceName: nvidia.com/gpu}",
    passed="accelerator: {type: MI300X, resourceName: amd.com/gpu}",
)


def _check_partition(setting: Setting) -> Iterator[Finding]:
    accelerator, gpu = setting.spec.accelerator, setting.gpu
    name, partition = accelerator.resource_name, partition_of(accelerator.resource_name)
    if gpu is not None and name.startswith(_OTHER_VENDORS):
        yield OTHER_RESOURCE.at(_RESOURCE, f"nodes with {gpu.name} don't offer {name}", "use amd.com/gpu")
    if partition is None:
        return
    if gpu is not None and gpu.compute == {}:
        reason = f"{gpu.name} can't be divided, so no node offers {name}"
        yield NOT_DIVIDED.at(_RESOURCE, reason, "use amd.com/gpu")
    elif gpu is not None and is_known_partition(gpu, partition) is False:
        reason = f"{gpu.name} is not known to have partitions {partition.compute}_{partition.memory}"
        yield UNKNOWN_PARTITION.at(_RESOURCE, reason, "use a resource that `kubectl describe node` lists")
    if partition.compute != "spx" and setting.parallel.tensor > 1:
        reason = f"each device is {_share(gpu, name)}, and the model is spread over {setting.parallel.tensor}"
        fix = "use amd.com/gpu on nodes in mode SPX, or accelerator.count 1"
        yield TENSOR_OVER_PARTITIONS.at(_RESOURCE, reason, fix)


def _share(gpu: Gpu | None, name: str) -> str:
    memory = memory_gib_of(gpu, name) if gpu else None
    return f"a part of a GPU with {memory:g} GiB" if memory else "a part of a GPU"


RULES: tuple[Rule, ...] = (NOT_DIVIDED, UNKNOWN_PARTITION, TENSOR_OVER_PARTITIONS, OTHER_RESOURCE)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (_check_partition,)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = ()
