"""Rules on memory: what does not fit the GPUs of a pod, and what a drafter takes from the cache.

All but the first are estimates (`engine.memory`), so they warn and do not refuse.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.arguments import parallel_flags
from specdeploy.engine.memory import (
    Memory,
    baseline_memory,
    cache_lost,
    drafter_memory,
    resized,
    utilization,
)
from specdeploy.engine.serving import longest_request
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.sizes import Part, spreads_over, weights_gib

# Shares of the cache that a drafter may take unmentioned, and the size of draft logits that is worth a word.
_NOTABLE_SHARE = 0.1
_NOTABLE_LOGITS_GIB = 2.0
# Share of the longest request that has to fit by the estimate, which is no better than this.
_CERTAIN_SHARE = 0.9
# Share of a checkpoint's weights that every arm loads: layers for mtp are left out without that drafter.
_LOADED = 0.97
_NODE = 8  # GPUs

WEIGHTS_TOO_LARGE = Rule(
    "SD701",
    "weights-do-not-fit",
    Severity.ERROR,
    "The target's weights alone are larger than the memory that the engine may take",
    why=(
        "Every pod would load for minutes and end without memory for a cache, again and again. The engine "
        "may take --gpu-memory-utilization of each GPU, 0.92 by default."
    ),
    source="Memory of AMD's accelerators; size of the weights as published, or parameters times their size.",
    refused="{model: Qwen/Qwen3.5-397B-A17B, accelerator: {type: MI300X, count: 2}, drafters: []}",
    passed="{model: Qwen/Qwen3.5-397B-A17B, accelerator: {type: MI300X, count: 8}, drafters: []}",
    decided_by=Decider.LATER,
)


def _check_weights(setting: Setting) -> Iterator[Finding]:
    excess, accelerator = _excess(setting), setting.spec.accelerator
    if excess is None:
        return
    weights, device, share = excess
    reason = (
        f"{weights.words} are {weights.gib:.0f} GiB; of the {accelerator.count} x {device:g} GiB of a pod's "
        f"{accelerator.type} the engine may take {accelerator.count * device * share:.0f}"
    )
    enough = _enough(setting)
    more = f"use {enough} GPUs" if enough else "use more or larger GPUs"
    yield WEIGHTS_TOO_LARGE.at(
        "spec.accelerator.count", reason, f"{more}, or serve a smaller or quantised model"
    )


def _excess(setting: Setting) -> tuple[Part, float, float] | None:
    """Weights that are more than the engine may take of a pod's GPUs, GiB of one GPU, and the share of it. A
    name alone tells their size too roughly for an error."""
    device, target = setting.device_gib, setting.target
    if device is None or target is None or setting.taken_for or resized(setting):
        return None
    weights, count = weights_gib(target), setting.spec.accelerator.count
    share = 1.0 if setting.flag("--kv-cache-memory-bytes") else utilization(setting, device)
    if weights.gib is None or weights.gib * _LOADED <= count * device * share:
        return None
    return weights, device, share


def _enough(setting: Setting) -> int | None:
    """The fewest GPUs of one node that hold the model and a request; None: none do, or it can't be told."""
    if parallel_flags(setting.spec) or setting.target is None:
        return None
    for count in range(setting.spec.accelerator.count + 1, _NODE + 1):
        wider = replace(setting, parallel=replace(setting.parallel, tensor=count))
        memory = baseline_memory(wider)
        if memory is not None and not _too_small(wider, memory) and spreads_over(setting.target, count):
            return count
    return None


CACHE_TOO_SMALL = Rule(
    "SD702",
    "cache-too-small",
    Severity.WARNING,
    "What is left for the cache holds less than one request of the longest length",
    why=(
        "vLLM refuses to start unless one request of max_model_len fits the cache. This is an estimate: 6 "
        "GiB of work space are a round figure, and layers with a sliding window are left out. It is told "
        "from a tenth too little on."
    ),
    source="vLLM 0.32, check of the cache at start; sizes of the catalogue, as reckoned in the message.",
    refused=(
        "{model: meta-llama/Llama-3.3-70B-Instruct, accelerator: {type: MI300X, count: 1}, drafters: [], "
        'engine: {hfTokenSecretRef: {name: hub, key: token}, args: ["--gpu-memory-utilization", "0.8"]}}'
    ),
    passed=(
        "{model: meta-llama/Llama-3.3-70B-Instruct, accelerator: {type: MI300X, count: 2}, drafters: [], "
        "engine: {hfTokenSecretRef: {name: hub, key: token}}}"
    ),
)


def _check_baseline_cache(setting: Setting) -> Iterator[Finding]:
    if _excess(setting):
        return  # told already
    memory = baseline_memory(setting)
    if memory is not None and _too_small(setting, memory):
        yield CACHE_TOO_SMALL.at("spec.accelerator", _what_is_left(setting, memory), _MORE_ROOM)


def _check_drafter_cache(candidate: Candidate) -> Iterator[Finding]:
    setting, memory = candidate.setting, drafter_memory(candidate)
    before = baseline_memory(setting)
    if memory is None or before is None or _too_small(setting, before) or not _too_small(setting, memory):
        return
    reason = f"with this drafter {_what_is_left(setting, memory)}"
    yield CACHE_TOO_SMALL.at(candidate.path, reason, _MORE_ROOM)


_MORE_ROOM = "use more GPUs, or lower --max-model-len in spec.engine.args"


def _too_small(setting: Setting, memory: Memory) -> bool:
    longest = longest_request(setting)
    if memory.cache_gib is not None and memory.cache_gib <= 0:
        return True
    tokens = memory.cache_tokens
    return longest is not None and tokens is not None and tokens < longest * _CERTAIN_SHARE


def _what_is_left(setting: Setting, memory: Memory) -> str:
    left, longest = memory.cache_gib or 0.0, longest_request(setting)
    holds = "" if memory.cache_tokens is None else f", {memory.cache_tokens} tokens"
    asked = "" if longest is None else f"; one request may have {longest}"
    gib = f"about {max(0.0, left):.0f} GiB of each GPU"
    return f"{gib} are left for the cache{holds}{asked} ({memory.reckoning})"


DRAFTER_TAKES_CACHE = Rule(
    "SD705",
    "drafter-takes-cache",
    Severity.ADVICE,
    "The drafter takes a notable share of the cache",
    why=(
        "Weights and cache of a drafter leave fewer tokens for requests: with long contexts or many requests "
        "they queue or are preempted, whatever the drafter's speed."
    ),
    source="Estimate from the catalogue; of Kimi-K3's DSpark heads as published (vLLM blog, 27 July 2026).",
    refused=(
        "{model: MiniMaxAI/MiniMax-M3-MXFP8, accelerator: {type: MI355X, count: 8}, drafters: [{name: d, "
        "method: eagle3, model: Inferact/MiniMax-M3-EAGLE3, numSpeculativeTokens: 3, "
        "attentionBackend: TRITON_ATTN}]}"
    ),
    passed=(
        "{model: MiniMaxAI/MiniMax-M3-MXFP8, accelerator: {type: MI355X, count: 8}, drafters: [{name: d, "
        "method: eagle3, model: Inferact/MiniMax-M3-EAGLE3-GQA, numSpeculativeTokens: 3, "
        "attentionBackend: TRITON_ATTN}]}"
    ),
)


def _check_share(candidate: Candidate) -> Iterator[Finding]:
    lost = cache_lost(candidate)
    if lost is None or lost < _NOTABLE_SHARE:
        return
    reason = f"it takes about {lost:.0%} of the cache{_tokens_lost(candidate)}"
    fix = "watch queueing and preemptions, or use a head with a smaller cache"
    yield DRAFTER_TAKES_CACHE.at(candidate.path, reason, fix)


def _tokens_lost(candidate: Candidate) -> str:
    before, after = baseline_memory(candidate.setting), drafter_memory(candidate)
    if before is None or after is None or after.cache_tokens is None:
        return ""
    return f", {after.cache_tokens} tokens instead of {before.cache_tokens}"


DRAFT_LOGITS = Rule(
    "SD706",
    "draft-logits",
    Severity.ADVICE,
    "Probabilistic drafts keep their logits, sized by requests at once",
    why="They are allocated for --max-num-seqs requests, however many run, and lessen the cache.",
    source="vLLM 0.32, draft_logits in v1/worker/gpu/spec_decode/speculator.py.",
    refused=(
        "{model: moonshotai/Kimi-K3, accelerator: {type: MI355X, count: 8}, engine: {vllmVersion: 0.32.0}, "
        "drafters: [{name: d, method: dspark, model: RedHatAI/Kimi-K3-speculator.dspark, "
        "numSpeculativeTokens: 8, options: {draft_sample_method: probabilistic}}]}"
    ),
    passed=(
        "{model: moonshotai/Kimi-K3, accelerator: {type: MI355X, count: 8}, "
        'engine: {vllmVersion: 0.32.0, args: ["--max-num-seqs", "128"]}, '
        "drafters: [{name: d, method: dspark, model: RedHatAI/Kimi-K3-speculator.dspark, "
        "numSpeculativeTokens: 8, options: {draft_sample_method: probabilistic}}]}"
    ),
)


def _check_logits(candidate: Candidate) -> Iterator[Finding]:
    memory = drafter_memory(candidate)
    parts = memory.parts if memory else ()
    for part in parts:
        if part.name == "draft logits" and part.gib is not None and part.gib >= _NOTABLE_LOGITS_GIB:
            reason = f"{part.words} take {part.gib:.1f} GiB of each GPU"
            fix = "set --max-num-seqs in spec.engine.args to the requests at once that you mean to serve"
            yield DRAFT_LOGITS.at(f"{candidate.path}.options.draft_sample_method", reason, fix)


RULES: tuple[Rule, ...] = (
    WEIGHTS_TOO_LARGE,
    CACHE_TOO_SMALL,
    DRAFTER_TAKES_CACHE,
    DRAFT_LOGITS,
)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (
    _check_weights,
    _check_baseline_cache,
)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (
    _check_drafter_cache,
    _check_share,
    _check_logits,
)
