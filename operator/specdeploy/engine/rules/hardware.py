"""Rules on AMD's GPUs: what they can compute, and which settings are for them.

What depends on attention backends is in `attention`, `naming` and `drafting_attention`, on AITER in
`kernels`, on reports in `known`, on partitions in `partitions`.
"""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule, Severity
from specdeploy.engine.accelerators import DOMAIN, HEALTH_TAINTS
from specdeploy.engine.aiter import variable_of
from specdeploy.engine.backends import backend_of_drafter, known_backend
from specdeploy.engine.options import MODELS
from specdeploy.engine.precision import SUPPORTED, is_refused, other_build, precision_of
from specdeploy.engine.setting import Candidate, Setting

from . import attention, drafting_attention, kernels, known, naming, partitions

_DFLASH = "{name: d, method: dflash, model: z-lab/gemma-4-26B-A4B-it-DFlash, numSpeculativeTokens: 7"
_DEVICES = (
    "engine: {env: [{name: HIP_VISIBLE_DEVICES, value: '%s'}, {name: CUDA_VISIBLE_DEVICES, value: '%s'}]}"
)
_VISIBLE = ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")

# Settings that only NVIDIA's stack reads: beginnings of variables, and values of flags.
_NVIDIA_VARIABLES = ("NVIDIA_", "VLLM_FLASHINFER_", "VLLM_USE_FLASHINFER_", "VLLM_FLASH_ATTN_VERSION")
_NVIDIA_VALUES: dict[str, tuple[str, ...]] = {
    "--moe-backend": ("flashinfer", "deep_gemm", "cutlass", "marlin")
}
# The same among the options of a drafter.
_NVIDIA_OPTIONS: dict[str, tuple[str, ...]] = {
    "moe_backend": _NVIDIA_VALUES["--moe-backend"],
    "draft_lm_head_quantization": ("nvfp4",),
}

VISIBLE_DEVICES = Rule(
    code="SD620",
    name="visible-devices-differ",
    severity=Severity.ERROR,
    title="HIP_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES differ",
    why="vLLM raises an error while its ROCm platform is imported.",
    source="platforms/rocm.py of vLLM 0.32",
    refused=_DEVICES % (0, 1),
    passed=_DEVICES % (0, 0),
)
NVIDIA_ONLY = Rule(
    code="SD621",
    name="setting-of-another-vendor",
    severity=Severity.WARNING,
    title="A setting means nothing on AMD",
    why="They do nothing on ROCm, or choose kernels that are not there.",
    source="envs.py and platforms/rocm.py of vLLM 0.32",
    refused="engine: {env: [{name: VLLM_USE_FLASHINFER_SAMPLER, value: '1'}]}",
    passed="engine: {env: [{name: VLLM_ROCM_USE_AITER, value: '1'}]}",
)
QUANTIZATION = Rule(
    code="SD622",
    name="quantization-not-on-amd",
    severity=Severity.ERROR,
    title="The quantisation is none that vLLM has for AMD",
    why="vLLM stops at start.",
    source="platforms/rocm.py of vLLM 0.32 (supported_quantization)",
    refused="engine: {args: [--quantization, bitsandbytes]}",
    passed="engine: {args: [--quantization, fp8]}",
)
EMULATED = Rule(
    code="SD623",
    name="precision-is-emulated",
    severity=Severity.WARNING,
    title="The GPU does not compute in the precision of the checkpoint",
    why="Where the hardware lacks a format, vLLM widens the weights and computes in 16 bits: that may run, "
    "as Inkling in MXFP4 does on MI300X, but it is slow, and not every model has a kernel for it. MXFP4 and "
    "MXFP8 need gfx950 (MI350P, MI350X, MI355X); NVFP4 is NVIDIA's.",
    source="platforms/rocm.py (supports_mx) and the quark and modelopt layers of vLLM 0.32; recipes#926 "
    "(Ling-3.0-flash on MI300X: 83 tokens/s in MXFP4, 589 in INT4); vllm-project/recipes, Inkling",
    refused="model: MiniMaxAI/MiniMax-M3-MXFP8\naccelerator: {type: MI300X, count: 8}",
    passed="model: MiniMaxAI/MiniMax-M3-MXFP8\naccelerator: {type: MI355X, count: 8}",
)
NO_FP8 = Rule(
    code="SD624",
    name="no-fp8-in-hardware",
    severity=Severity.WARNING,
    title="FP8 is used on a GPU that lacks it",
    why="MI200 GPUs (gfx90a) have no 8-bit floats; vLLM starts, and then has slow kernels or none.",
    source="AMD's table of data types by architecture",
    refused="accelerator: {type: MI210}\nengine: {args: [--quantization, fp8]}",
    passed="accelerator: {type: MI300X}\nengine: {args: [--quantization, fp8]}",
)
UNSUPPORTED = Rule(
    code="SD625",
    name="checkpoint-does-not-run-here",
    severity=Severity.ERROR,
    title="The drafter is known to fail on this GPU",
    why="Its makers or vLLM's recipes say that it does not run there.",
    source="the catalogue, which names the source of each entry",
    refused="model: deepseek-ai/DeepSeek-V4-Flash-0731\naccelerator: {type: MI300X, count: 8}\n"
    "drafters: [{name: d, method: dspark, numSpeculativeTokens: 5}]",
    passed="model: deepseek-ai/DeepSeek-V4-Flash-0731\naccelerator: {type: MI355X, count: 8}\n"
    "drafters: [{name: d, method: dspark, numSpeculativeTokens: 5}]",
)
BACKEND_ADVISED = Rule(
    code="SD626",
    name="checkpoint-has-a-backend",
    severity=Severity.ADVICE,
    title="A drafter with a known backend does not name it",
    why="It was measured with this one; left to vLLM, another may run.",
    source="the catalogue, which names the source of each entry",
    refused=f"drafters: [{_DFLASH}}}]",
    passed=f"drafters: [{_DFLASH}, attentionBackend: TRITON_ATTN}}]",
)
BACKEND_DIFFERS = Rule(
    code="SD627",
    name="checkpoint-has-another-backend",
    severity=Severity.WARNING,
    title="A drafter with a known backend has another one",
    why="It was measured with another one.",
    source="the catalogue, which names the source of each entry",
    refused=f"drafters: [{_DFLASH}, attentionBackend: ROCM_ATTN}}]",
    passed=f"drafters: [{_DFLASH}, attentionBackend: TRITON_ATTN}}]",
)
HEALTH_TAINT = Rule(
    code="SD632",
    name="tolerates-sick-gpus",
    severity=Severity.WARNING,
    title="Pods go to nodes whose GPUs are sick or being divided anew",
    why="AMD's tools taint such nodes; an engine there fails or slows down, and its drafter would be blamed.",
    source="ROCm/gpu-operator (auto-remediation, config manager), ROCm/k8s-gpu-dra-driver",
    refused="engine: {podTemplate: {tolerations: [{key: amd-gpu-unhealthy, operator: Exists}]}}",
    passed="engine: {podTemplate: {tolerations: [{key: amd.com/gpu, operator: Exists}]}}",
)


def _check_visible(setting: Setting) -> Iterator[Finding]:
    given = [variable_of(setting, name) for name in _VISIBLE]
    values = {each.value for each in given if each is not None and each.value}
    if len(values) > 1:
        reason = f"{' and '.join(_VISIBLE)} differ: {' and '.join(sorted(values))}"
        yield VISIBLE_DEVICES.at(
            "spec.engine.env", reason, "remove both; the device plugin gives a pod its GPUs"
        )


def _check_vendor(setting: Setting) -> Iterator[Finding]:
    if not setting.spec.accelerator.resource_name.startswith(DOMAIN):
        return
    for index, variable in enumerate(setting.spec.engine.env or []):
        if variable.name.startswith(_NVIDIA_VARIABLES):
            yield NVIDIA_ONLY.at(
                f"spec.engine.env[{index}]", f"{variable.name} is for NVIDIA's GPUs", "remove it"
            )
    for option, values in _NVIDIA_VALUES.items():
        flag = setting.flag(option)
        if flag is not None and (flag.value or "").lower().startswith(values):
            reason = f"{option} {flag.value} is for NVIDIA's GPUs"
            yield NVIDIA_ONLY.at(flag.path, reason, "remove it, or use triton or aiter")


def _check_draft_vendor(candidate: Candidate) -> Iterator[Finding]:
    amd = candidate.setting.spec.accelerator.resource_name.startswith(DOMAIN)
    if not amd or candidate.drafter.method not in MODELS:
        return
    for key, values in _NVIDIA_OPTIONS.items():
        value = candidate.options.get(key)
        if isinstance(value, str) and value.lower().startswith(values):
            field = f"{candidate.path}.options.{key}"
            yield NVIDIA_ONLY.at(field, f"{value} is for NVIDIA's GPUs", "remove it")


def _check_quantization(setting: Setting) -> Iterator[Finding]:
    flag = setting.flag("--quantization")
    if flag is not None and flag.text and is_refused(setting, flag.text):
        reason = f"vLLM has no quantisation {flag.text} on AMD"
        yield QUANTIZATION.at(flag.path, reason, f"use one of {', '.join(SUPPORTED)}")


def _check_draft_quantization(candidate: Candidate) -> Iterator[Finding]:
    value = candidate.options.get("quantization")
    if candidate.drafter.method not in MODELS:
        return  # vLLM loads nothing and does not look at it
    if isinstance(value, str) and is_refused(candidate.setting, value):
        reason = f"vLLM has no quantisation {value} on AMD"
        field = f"{candidate.path}.options.quantization"
        yield QUANTIZATION.at(field, reason, f"use one of {', '.join(SUPPORTED)}")


def _check_precision(setting: Setting) -> Iterator[Finding]:
    gpu, precision = setting.gpu, precision_of(setting)
    if gpu is None or precision is None:
        return
    field, name = precision
    if name == "nvfp4" or (name in ("mxfp4", "mxfp8") and not gpu.can.mx):
        reason = f"{gpu.name} ({gpu.architecture}) does not compute in {name.upper()}"
        other = other_build(setting) if field == "spec.model" else None
        named = f"use {other}, or another" if other else "use a"
        yield EMULATED.at(field, reason, f"{named} checkpoint in {'FP8 or BF16' if gpu.can.fp8 else 'BF16'}")
    elif name == "fp8" and gpu.can.fp8 is None:
        reason = f"{gpu.name} ({gpu.architecture}) has no FP8"
        yield NO_FP8.at(field, reason, "use BF16, or 8-bit or 4-bit integers")


def _check_unsupported(candidate: Candidate) -> Iterator[Finding]:
    gpu, checkpoint = candidate.setting.gpu, candidate.checkpoint
    if gpu is not None and checkpoint is not None and gpu.name in checkpoint.unsupported:
        what = candidate.drafter.model or f"{candidate.drafter.method} of {candidate.setting.spec.model}"
        reason = f"{what} is known not to run on {gpu.name} ({checkpoint.source})"
        yield UNSUPPORTED.at(candidate.path, reason, "use another drafter or another GPU")


def _check_known_backend(candidate: Candidate) -> Iterator[Finding]:
    wanted, choice = known_backend(candidate), backend_of_drafter(candidate)
    if wanted is None or choice is None or choice.name == wanted:
        return
    if choice.named is None:
        reason = f"it is left to vLLM; this checkpoint is known with {wanted}"
        yield BACKEND_ADVISED.at(choice.field, reason, f"set it to {wanted}")
    else:
        reason = f"it is {choice.named}; this checkpoint is known with {wanted}"
        yield BACKEND_DIFFERS.at(choice.field, reason, f"set it to {wanted}, or try both as two drafters")


def _check_tolerations(setting: Setting) -> Iterator[Finding]:
    template = setting.spec.engine.pod_template
    for index, toleration in enumerate((template.tolerations if template else None) or []):
        key = toleration.get("key")
        if key in HEALTH_TAINTS or not key:
            what = key or "every taint, those of sick GPUs too"
            field = f"spec.engine.podTemplate.tolerations[{index}]"
            yield HEALTH_TAINT.at(
                field, f"it tolerates {what}", "remove it, or name the taints of your cluster"
            )


_PARTS = (attention, naming, drafting_attention, kernels, known, partitions)

RULES: tuple[Rule, ...] = (
    *(rule for part in _PARTS for rule in part.RULES),
    VISIBLE_DEVICES,
    NVIDIA_ONLY,
    QUANTIZATION,
    EMULATED,
    NO_FP8,
    UNSUPPORTED,
    BACKEND_ADVISED,
    BACKEND_DIFFERS,
    HEALTH_TAINT,
)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (
    *(check for part in _PARTS for check in part.SPEC_CHECKS),
    _check_visible,
    _check_vendor,
    _check_quantization,
    _check_precision,
    _check_tolerations,
)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (
    *(check for part in _PARTS for check in part.DRAFTER_CHECKS),
    _check_draft_vendor,
    _check_draft_quantization,
    _check_unsupported,
    _check_known_backend,
)
