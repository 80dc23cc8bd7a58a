"""Rules on what engine.args make of the engine: its size, its role, its speed and what it shows of itself."""

import json
import math
from collections.abc import Callable, Iterator
from typing import Any

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.arguments import parallel_flags, whole
from specdeploy.engine.flags import Flag
from specdeploy.engine.graphs import without_graphs
from specdeploy.engine.serving import is_on, size_of
from specdeploy.engine.setting import Candidate, Setting

SIZE = Rule(
    code="SD160",
    name="parallel-size-not-a-number",
    severity=Severity.ERROR,
    title="A parallel size is no whole number",
    why="vLLM does not start with it.",
    source="vLLM's argument parser",
    refused="engine: {args: [--tensor-parallel-size, two]}",
    passed="engine: {args: [--tensor-parallel-size, '2']}",
    decided_by=Decider.PARSER,
)
PRODUCT = Rule(
    code="SD161",
    name="parallel-sizes-and-gpus",
    severity=Severity.ERROR,
    title="The parallel sizes do not multiply to the GPUs of a pod",
    why="Refused by policy: more ranks than GPUs do not start, and fewer leave GPUs idle that every pod of "
    "every arm would hold.",
    source="vLLM: world size is tensor x pipeline x prefill context parallel size, for each data parallel "
    "rank",
    refused="engine: {args: [--tensor-parallel-size, '4']}",
    passed="engine: {args: [--tensor-parallel-size, '1', --pipeline-parallel-size, '2']}",
    decided_by=Decider.POLICY,
)
ROLE = Rule(
    code="SD162",
    name="prefill-decode-role",
    severity=Severity.ERROR,
    title="The engine is one half of a prefill and decode pair",
    why="Refused by policy: such an engine serves only together with another one, so two arms of it can't be "
    "compared by what their own pods measure.",
    source="vLLM's KVTransferConfig: kv_role kv_producer and kv_consumer",
    refused="""\
engine:
  args: [--kv-transfer-config, '{"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}']""",
    passed="""\
engine:
  args: [--kv-transfer-config, '{"kv_connector": "OffloadingConnector", "kv_role": "kv_both"}']""",
    decided_by=Decider.POLICY,
)
SEVERAL_PODS = Rule(
    code="SD163",
    name="engine-across-pods",
    severity=Severity.ERROR,
    title="The engine waits for other nodes",
    why="SpecDeploy starts each engine as one pod, and every pod with the same arguments. One that is told "
    "of further nodes waits for them and never becomes ready.",
    source="vLLM's parallelism and scaling guide, ParallelConfig: --nnodes, --data-parallel-size-local",
    refused="engine: {args: [--nnodes, '2']}",
    passed="engine: {args: [--nnodes, '1']}",
)
EAGER = Rule(
    code="SD164",
    name="enforce-eager",
    severity=Severity.WARNING,
    title="The engine runs without graphs",
    why="Without graphs every small kernel is launched by the CPU. Both arms are slow, a drafter most of "
    "all, and what a trial finds does not hold for an engine with graphs.",
    source="vLLM's documentation of --enforce-eager, OptimizationLevel (-O0) and CUDAGraphMode (NONE)",
    refused="engine: {args: [--enforce-eager]}",
    passed="engine: {args: [--no-enforce-eager]}",
)
MEMORY_SHARE = Rule(
    code="SD165",
    name="memory-share",
    severity=Severity.ERROR,
    title="The share of the GPU's memory is not above 0 and at most 1",
    why="vLLM's configuration refuses it at the start.",
    source="vLLM's CacheConfig: gpu_memory_utilization, gt=0, le=1",
    refused="engine: {args: [--gpu-memory-utilization, '92']}",
    passed="engine: {args: [--gpu-memory-utilization, '0.92']}",
    decided_by=Decider.PARSER,
)
SEVERAL_SERVERS = Rule(
    code="SD166",
    name="several-api-servers",
    severity=Severity.WARNING,
    title="Several API servers write the metrics together",
    why="Prometheus' multiprocess mode has no process metrics, so that a restart is seen only by counters "
    "that go back. With data parallelism vLLM starts as many servers as ranks unless it is told a number.",
    source="vLLM: --api-server-count defaults to the data parallel size",
    refused="engine: {args: [--api-server-count, '4']}",
    passed="engine: {args: [--data-parallel-size, '2', --api-server-count, '1']}",
)
SLEEP = Rule(
    code="SD167",
    name="sleep-mode-with-drafters",
    severity=Severity.WARNING,
    title="Sleep mode and speculation crash on ROCm",
    why="An engine with both was reported to crash on AMD GPUs, and only the arms with a drafter would.",
    source="vllm-project/vllm#47548 (MI250)",
    refused="""\
engine: {args: [--enable-sleep-mode]}
drafters: [{name: n, method: ngram, numSpeculativeTokens: 3}]""",
    passed="drafters: [{name: n, method: ngram, numSpeculativeTokens: 3}]",
)

BATCH = Rule(
    code="SD168",
    name="batch-below-its-requests",
    severity=Severity.ERROR,
    title="A step holds fewer tokens than requests",
    why="vLLM's configuration refuses it at the start: every running request needs at least one token of a "
    "step.",
    source="vLLM's SchedulerConfig: max_num_batched_tokens at least max_num_seqs",
    refused="engine: {args: [--max-num-batched-tokens, '128', --max-num-seqs, '256']}",
    passed="engine: {args: [--max-num-batched-tokens, 8k, --max-num-seqs, '256']}",
    decided_by=Decider.PARSER,
)
_HALVES = ("kv_producer", "kv_consumer")


def _check_parallelism(setting: Setting) -> Iterator[Finding]:
    flags = parallel_flags(setting.spec)
    wrong = [flag for flag in flags if whole(flag) is None]
    for flag in wrong:
        yield SIZE.at(flag.path, f"{flag.name} needs a whole number of at least 1", "give its value")
    sizes = setting.parallel
    product = math.prod((sizes.tensor, sizes.pipeline, sizes.data, sizes.prefill_context))
    count = setting.spec.accelerator.count
    if flags and not wrong and product != count:
        reason = f"the parallel sizes multiply to {product}, but a pod has {count} GPUs"
        yield PRODUCT.at("spec.engine.args", reason, "make their product equal to spec.accelerator.count")


def _check_role(setting: Setting) -> Iterator[Finding]:
    for flag in setting.flags:
        if flag.means("--kv-transfer-config") and (role := _half(flag)):
            reason = f"kv_role {role} makes it one half of a prefill and decode pair"
            yield ROLE.at(flag.path, reason, "use kv_both, or serve the pair without SpecDeploy")


def _half(flag: Flag) -> str | None:
    """The role, if it is one half of a pair: of the connector itself or of one within it."""
    if flag.key:
        return flag.value if flag.key.endswith("kv_role") and flag.value in _HALVES else None
    try:
        left: list[Any] = [json.loads(flag.value or "")]
    except (ValueError, RecursionError):
        return None
    while left:
        at = left.pop()
        if isinstance(at, dict) and at.get("kv_role") in _HALVES:
            return str(at["kv_role"])
        left += at.values() if isinstance(at, dict) else at if isinstance(at, list) else ()
    return None


def _check_pods(setting: Setting) -> Iterator[Finding]:
    fix = "make the engine fit the GPUs of one pod"
    nodes = setting.flag("--nnodes")
    if nodes and (whole(nodes) or 1) > 1:
        yield SEVERAL_PODS.at(nodes.path, f"it waits for {nodes.value} nodes, a pod is one", fix)
    local = setting.flag("--data-parallel-size-local")
    if local and (here := whole(local)) and here < setting.parallel.data:
        reason = f"{here} of {setting.parallel.data} data parallel ranks are in the pod"
        yield SEVERAL_PODS.at(local.path, reason, fix)


def _check_eager(setting: Setting) -> Iterator[Finding]:
    flag = without_graphs(setting)
    if flag:
        yield EAGER.at(flag.path, "the engine runs without graphs", "remove it")


def _check_memory_share(setting: Setting) -> Iterator[Finding]:
    for flag in setting.flags:
        options = ("--gpu-memory-utilization", "--device-memory-utilization")
        if flag.value and any(flag.means(option) for option in options) and not _is_share(flag.value):
            reason = f"it is {flag.value!r:.40}, not above 0 and at most 1"
            yield MEMORY_SHARE.at(flag.path, reason, "write a share such as 0.9")


def _is_share(text: str) -> bool:
    try:
        return 0 < float(text) <= 1
    except ValueError:
        return False


def _check_batch(setting: Setting) -> Iterator[Finding]:
    tokens, requests = (setting.flag(f"--max-num-{what}") for what in ("batched-tokens", "seqs"))
    most = {flag.name: size_of(setting, flag.name) for flag in (tokens, requests) if flag}
    if tokens and requests and 0 < (most[tokens.name] or 0) < (most[requests.name] or 0):
        reason = f"{tokens.value} tokens are fewer than the {requests.value} requests of --max-num-seqs"
        yield BATCH.at(tokens.path, reason, "raise it or lower --max-num-seqs")


def _check_servers(setting: Setting) -> Iterator[Finding]:
    given = setting.flag("--api-server-count")
    servers = (whole(given) if given else None) or (1 if given else setting.parallel.data)
    if servers > 1:
        reason = f"{servers} API servers write the metrics together, without process metrics"
        yield SEVERAL_SERVERS.at(
            setting.place_of("--api-server-count"), reason, "add --api-server-count 1 if one keeps up"
        )


def _check_sleep(setting: Setting) -> Iterator[Finding]:
    flag = setting.flag("--enable-sleep-mode")
    if flag and is_on(setting, "--enable-sleep-mode") and setting.spec.drafters:
        yield SLEEP.at(flag.path, "sleep mode and speculation crash together on ROCm", "remove it")


RULES: tuple[Rule, ...] = (
    SIZE,
    PRODUCT,
    ROLE,
    SEVERAL_PODS,
    EAGER,
    MEMORY_SHARE,
    SEVERAL_SERVERS,
    SLEEP,
    BATCH,
)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (
    _check_parallelism,
    _check_role,
    _check_pods,
    _check_eager,
    _check_memory_share,
    _check_batch,
    _check_servers,
    _check_sleep,
)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = ()
