"""Rules on the memory of hybrid targets: those in which some layers keep a state instead of a cache."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule, Severity
from specdeploy.engine.memory import baseline_memory, requests_at_once
from specdeploy.engine.serving import sequences
from specdeploy.engine.setting import Candidate, Setting

STATES_DO_NOT_FIT = Rule(
    "SD703",
    "states-do-not-fit",
    Severity.WARNING,
    "A hybrid target has fewer state blocks than requests at once",
    why=(
        "Layers without a cache keep a state for each request. vLLM refuses to start when --max-num-seqs "
        "(default 1024) is above the number of blocks. This is an estimate."
    ),
    source="vLLM 0.32, resolve_cudagraph_mode_and_sizes in config/compilation.py; vllm-project/vllm 34094.",
    refused=(
        "{model: Qwen/Qwen3.5-122B-A10B, accelerator: {type: MI325X, count: 1}, drafters: [], "
        'engine: {args: ["--max-model-len", "32768", "--max-num-seqs", "2048", '
        '"--gpu-memory-utilization", "0.94"]}}'
    ),
    passed=(
        "{model: Qwen/Qwen3.5-122B-A10B, accelerator: {type: MI325X, count: 2}, drafters: [], "
        'engine: {args: ["--max-num-seqs", "64"]}}'
    ),
)


def _check_states(setting: Setting) -> Iterator[Finding]:
    memory, asked = baseline_memory(setting), sequences(setting)
    blocks = memory.state_blocks if memory else None
    if memory is None or not blocks or asked is None or asked <= blocks:  # no block at all is told by itself
        return
    reason = f"{asked} requests at once, about {blocks} state blocks ({memory.reckoning})"
    yield STATES_DO_NOT_FIT.at(
        "spec.engine.args", reason, f"set --max-num-seqs to {_round_down(blocks)} or less"
    )


def _round_down(blocks: int) -> int:
    return max(1, blocks // 64 * 64 or blocks)


HYBRID_DEFAULT = Rule(
    "SD704",
    "hybrid-default-requests",
    Severity.WARNING,
    "A hybrid target with the default number of requests at once may be refused at start",
    why=(
        "vLLM's default of 1024 requests at once has been above the number of state blocks of hybrid targets "
        "on GPUs of 192 GB, and the start was refused; 64 started."
    ),
    source="vllm-project/recipes and vllm-project/vllm 34094; the size of this target's states is not known.",
    refused=(
        "{model: nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16, drafters: [], "
        "accelerator: {type: MI300X, count: 4}}"
    ),
    passed=(
        "{model: nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16, drafters: [], "
        'accelerator: {type: MI300X, count: 4}, engine: {args: ["--max-num-seqs", "64"]}}'
    ),
)


def _check_hybrid_default(setting: Setting) -> Iterator[Finding]:
    target, device, requests = setting.target, setting.device_gib, sequences(setting)
    if target is None or target.attention != "hybrid" or target.state_mib is not None:
        return
    if setting.flag("--max-num-seqs") or requests is None or device is None or device > 192:
        return
    reason = f"the default of {requests} requests at once can be above the state blocks of this hybrid target"
    yield HYBRID_DEFAULT.at("spec.engine.args", reason, "set --max-num-seqs (64 is known to start)")


SPECULATIVE_STATES = Rule(
    "SD707",
    "speculative-states",
    Severity.ADVICE,
    "On a hybrid target each drafted token keeps one more state for every request",
    why=(
        "States of drafted tokens come from the same memory as the cache. Fewer requests run at once than "
        "on the baseline, and the rest queues."
    ),
    source="vLLM 0.32, MambaSpec.num_speculative_blocks in kv_cache_interface.py; vllm-project/vllm 57261.",
    refused=(
        "{model: Qwen/Qwen3.5-27B, accelerator: {type: MI300X, count: 2}, "
        "drafters: [{name: d, method: mtp, numSpeculativeTokens: 5}]}"
    ),
    passed=(
        "{model: Qwen/Qwen3.5-27B, accelerator: {type: MI300X, count: 2}, "
        'engine: {args: ["--max-num-seqs", "256"]}, '
        "drafters: [{name: d, method: mtp, numSpeculativeTokens: 5}]}"
    ),
)


def _check_speculative_states(setting: Setting) -> Iterator[Finding]:
    """Told once, of the drafter with the most tokens: what suits it suits every arm."""
    drafters = setting.spec.drafters or []
    if not drafters:
        return
    most = max(each.num_speculative_tokens for each in drafters)
    index = next(index for index, each in enumerate(drafters) if each.num_speculative_tokens == most)
    fit, asked = requests_at_once(setting, most), sequences(setting)
    if fit is None or asked is None or fit[0] >= min(asked, fit[1]):
        return
    reason = f"states of about {fit[0]} requests at once fit with it, {min(asked, fit[1])} without a drafter"
    fix = f"set --max-num-seqs to at most {_round_down(fit[0])}, if that many are enough, or fewer tokens"
    yield SPECULATIVE_STATES.at(f"spec.drafters[{index}].numSpeculativeTokens", reason, fix)


RULES: tuple[Rule, ...] = (STATES_DO_NOT_FIT, HYBRID_DEFAULT, SPECULATIVE_STATES)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (
    _check_states,
    _check_hybrid_default,
    _check_speculative_states,
)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = ()
