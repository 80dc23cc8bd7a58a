"""Rules on a target's shape: heads and experts that do not fit the GPUs, requests longer than it can take.

A length that is only published, and not read in its config.json, is a reason to warn and no more; what
another config replaces, or what is taken by the name of a build, is none at all.
"""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.serving import is_on, size_of
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.sizes import has_kv_heads, spreads_over

_LONG = "VLLM_ALLOW_LONG_MAX_MODEL_LEN"
_EXPERTS = "--enable-expert-parallel"
_LENGTH = "--max-model-len"
_NODE = 8  # GPUs

HEADS = Rule(
    "SD814",
    "heads-that-do-not-divide",
    Severity.ERROR,
    "The target's attention heads can't be spread evenly over the GPUs",
    why=(
        "Tensor parallelism gives every GPU the same number of attention heads, and of key-value heads the "
        "same number or one copy. vLLM refuses what does not divide, at the start or as it loads the model."
    ),
    source="vLLM 0.32: ModelConfig.verify_with_parallel_config; total_num_kv_heads of its attention layers.",
    refused="{model: Qwen/Qwen3.5-27B, accelerator: {type: MI300X, count: 5}, drafters: []}",
    passed="{model: Qwen/Qwen3.5-27B, accelerator: {type: MI300X, count: 4}, drafters: []}",
    decided_by=Decider.PARSER,
)


def _check_heads(setting: Setting) -> Iterator[Finding]:
    target, ranks = setting.as_published, setting.parallel.tensor
    if target is None or target.heads is None or spreads_over(target, ranks):
        return
    kept = f" and {target.kv_heads} key-value heads" if has_kv_heads(target) else ""
    reason = f"the target has {target.heads} attention heads{kept}, which can't be spread over {ranks} GPUs"
    sizes = [str(size) for size in range(1, max(ranks, _NODE) + 1) if spreads_over(target, size)]
    fix = f"use a tensor parallel size of {', '.join(sizes[:-1])} or {sizes[-1]}"
    field = "spec.engine.args" if setting.flag("--tensor-parallel-size") else "spec.accelerator.count"
    yield HEADS.at(field, reason, fix)


EXPERTS = Rule(
    "SD815",
    "expert-parallelism-without-experts",
    Severity.ERROR,
    f"{_EXPERTS} is for a target with experts",
    why="vLLM refuses to start a dense model with it.",
    source="vLLM 0.32: ModelConfig.verify_with_parallel_config.",
    refused=(
        "{model: Qwen/Qwen3-8B, accelerator: {type: MI300X, count: 2}, "
        "engine: {args: [--enable-expert-parallel]}, drafters: []}"
    ),
    passed=(
        "{model: Qwen/Qwen3-30B-A3B, accelerator: {type: MI300X, count: 2}, "
        "engine: {args: [--enable-expert-parallel]}, drafters: []}"
    ),
    decided_by=Decider.PARSER,
)


def _check_experts(setting: Setting) -> Iterator[Finding]:
    target, flag = setting.as_published, setting.flag(_EXPERTS)
    if flag is not None and is_on(setting, _EXPERTS) and target is not None and target.experts == 0:
        yield EXPERTS.at(flag.path, "the target is dense, it has no experts", "remove it")


TOO_LONG = Rule(
    "SD816",
    "longer-than-the-model",
    Severity.ERROR,
    f"{_LENGTH} is above what the target's config.json allows",
    why="vLLM refuses to start: positions that a model was not made for give wrong answers.",
    source=f"vLLM 0.32: max_model_len in ModelConfig, {_LONG}.",
    refused="{model: Qwen/Qwen3-8B, engine: {args: [--max-model-len, '131072']}, drafters: []}",
    passed="{model: Qwen/Qwen3-8B, engine: {args: [--max-model-len, '32768']}, drafters: []}",
    decided_by=Decider.PARSER,
)
LONGER_THAN_PUBLISHED = Rule(
    "SD817",
    "longer-than-published",
    Severity.WARNING,
    f"{_LENGTH} is above the context that is published for the target",
    why="vLLM refuses to start where its config.json says the same, which was not read for the catalogue.",
    source="The catalogue; vLLM 0.32: max_model_len in ModelConfig.",
    refused="{model: Qwen/Qwen3-4B, engine: {args: [--max-model-len, '131072']}, drafters: []}",
    passed="{model: Qwen/Qwen3-4B, engine: {args: [--max-model-len, '32768']}, drafters: []}",
)


def _check_length(setting: Setting) -> Iterator[Finding]:
    target, asked, flag = setting.as_published, size_of(setting, _LENGTH), setting.flag(_LENGTH)
    if flag is None or asked is None or target is None or target.context is None or asked <= target.context:
        return
    if setting.variable(_LONG) not in (None, "", "0"):
        return
    rule = TOO_LONG if target.config else LONGER_THAN_PUBLISHED
    reason = f"it is {asked}, the target's context is {target.context} tokens"
    fix = f"lower it, stretch the context with --hf-overrides, or set {_LONG}=1 if you know better"
    yield rule.at(flag.path, reason, fix)


RULES: tuple[Rule, ...] = (HEADS, EXPERTS, TOO_LONG, LONGER_THAN_PUBLISHED)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (
    _check_heads,
    _check_experts,
    _check_length,
)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = ()
