"""Rules on what vLLM refuses for some targets alone: by their weights, their attention or their family."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.serving import is_on, object_of
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.versions import LATELY, words

from .doubt import graded

_DEEPSEEK = "model: deepseek-ai/DeepSeek-V3.2\naccelerator: {count: 8}\ndrafters: []\n"
_INKLING = "model: thinkingmachines/Inkling-NVFP4\naccelerator: {count: 8}\ndrafters: []\n"

UNPREPARED = Rule(
    code="SD646",
    name="quantization-of-another-checkpoint",
    severity=Severity.ERROR,
    title="The quantisation is for weights that were prepared with it, and the target's were not",
    why="vLLM looks for the settings of the quantisation in the checkpoint, finds none and ends.",
    source="vLLM 0.32 and 0.33: get_quant_config and the quantisations' from_config",
    refused="model: Qwen/Qwen3-8B\nengine: {args: [--quantization, awq]}\ndrafters: []",
    passed="model: Qwen/Qwen3-8B\nengine: {args: [--quantization, fp8]}\ndrafters: []",
    decided_by=Decider.PARSER,
)
# Values of --quantization that need settings in the checkpoint.
PREPARED = words(
    """
        auto_awq auto_gptq awq awq_marlin compressed-tensors gptq inc modelopt modelopt_fp4 modelopt_mixed
        modelopt_mxfp8 quark torchao
    """
)
UNNAMED = Rule(
    code="SD647",
    name="online-quantization-of-nothing",
    severity=Severity.ERROR,
    title="--quantization online needs to be told what to quantise, and how",
    why="vLLM has no default for it and ends.",
    source="vLLM 0.32 and 0.33: OnlineQuantizationConfig",
    refused="engine: {args: [--quantization, online]}",
    passed="""engine:
  args: [--quantization, online, --quantization-config, '{"linear": "fp8_per_tensor_dynamic"}']""",
    decided_by=Decider.PARSER,
)
LATENT_CACHE = Rule(
    code="SD648",
    name="cache-type-not-for-latent-attention",
    severity=Severity.ERROR,
    title="The cache type is not for the target's latent attention",
    why="The plain NVFP4 layout divides heads that latent attention does not have; vLLM refuses it.",
    source="VllmConfig of vLLM 0.32 and 0.33: validate_nvfp4_kv_cache_with_mla",
    refused=_DEEPSEEK + "engine: {args: [--kv-cache-dtype, nvfp4]}",
    passed=_DEEPSEEK + "engine: {args: [--kv-cache-dtype, fp8]}",
    decided_by=Decider.PARSER,
)
INKLING_LORA = Rule(
    code="SD649",
    name="lora-on-inkling",
    severity=Severity.ERROR,
    title="LoRA on Inkling needs INKLING_MULTIMEM_AR=0",
    why="Its fused reduction would leave adapters out of small batches, so vLLM refuses the two together.",
    source="LoRAConfig of vLLM 0.32 and 0.33: verify_with_model_config",
    refused=_INKLING + "engine: {args: [--enable-lora]}",
    passed=_INKLING + "engine: {args: [--enable-lora], env: [{name: INKLING_MULTIMEM_AR, value: '0'}]}",
    decided_by=Decider.PARSER,
)
TOPK_IN_THE_TARGET = Rule(
    code="SD451",
    name="draft-topk-of-built-in-layers",
    severity=Severity.ERROR,
    title="dspark_draft_topk is not for layers within the target",
    why="vLLM has it for the drafters of Qwen3 and Qwen3-Omni alone, which are checkpoints of their own; the "
    "engine refuses to start.",
    source="SpeculativeConfig of vLLM 0.32 and 0.33",
    refused="model: deepseek-ai/DeepSeek-V4-Flash-0731\naccelerator: {type: MI355X, count: 8}\n"
    "drafters: [{name: d, method: dspark, numSpeculativeTokens: 5, options: {dspark_draft_topk: 8}}]",
    passed="model: deepseek-ai/DeepSeek-V4-Flash-0731\naccelerator: {type: MI355X, count: 8}\n"
    "drafters: [{name: d, method: dspark, numSpeculativeTokens: 5}]",
    decided_by=Decider.PARSER,
)


def _check_quantization(setting: Setting) -> Iterator[Finding]:
    flag, target = setting.flag("--quantization"), setting.as_published
    word = (flag.text or "").lower() if flag else ""
    rule = graded(setting, UNPREPARED, LATELY)
    if flag and rule and word in PREPARED and target and target.precision in ("bf16", "fp16"):
        reason = f"{target.model} is in {target.precision.upper()}, without settings for {word}"
        fix = f"serve a checkpoint that was made with {word}, or quantise with fp8 as it is loaded"
        yield rule.at(flag.path, reason, fix)
    config = object_of(setting, "--quantization-config") or {}
    rule = graded(setting, UNNAMED, LATELY)
    if (
        flag
        and rule
        and word == "online"
        and not any(config.get(key) for key in ("linear", "moe", "targets"))
    ):
        reason = "--quantization-config names neither linear nor moe nor targets"
        yield rule.at(flag.path, reason, "name one, or use fp8")


def _check_cache_type(setting: Setting) -> Iterator[Finding]:
    flag, target = setting.flag("--kv-cache-dtype"), setting.as_published
    word, rule = (flag.text or "") if flag else "", graded(setting, LATENT_CACHE, LATELY)
    plain = word.startswith("nvfp4") and not word.endswith("_ds_mla")
    if flag and rule and plain and target and target.attention in ("mla", "sparse-mla"):
        reason = f"{word} is not for latent attention, which {target.model} has"
        yield rule.at(flag.path, reason, "use fp8 or auto")


def _check_inkling(setting: Setting) -> Iterator[Finding]:
    flag, target, variable = setting.flag("--enable-lora"), setting.target, "INKLING_MULTIMEM_AR"
    rule = graded(setting, INKLING_LORA, LATELY)
    if not flag or not rule or not is_on(setting, "--enable-lora") or target is None:
        return
    if target.family == "inkling" and setting.variable(variable) not in ("0", ""):
        fix = f"set {variable} to 0 in spec.engine.env"
        yield rule.at(flag.path, "LoRA on Inkling is not for its fused reduction", fix)


def _check_topk(candidate: Candidate) -> Iterator[Finding]:
    key, drafter = "dspark_draft_topk", candidate.drafter
    rule = graded(candidate.setting, TOPK_IN_THE_TARGET, LATELY)
    within = drafter.method == "dspark" and drafter.model is None
    if rule and within and candidate.options.get(key) is not None:
        yield rule.at(f"{candidate.path}.options.{key}", "the drafter is layers of the target", "remove it")


RULES: tuple[Rule, ...] = (UNPREPARED, UNNAMED, LATENT_CACHE, INKLING_LORA, TOPK_IN_THE_TARGET)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (
    _check_quantization,
    _check_cache_type,
    _check_inkling,
)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (_check_topk,)
