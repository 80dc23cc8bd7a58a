"""Rules on attention backends. Part of the rules on hardware."""

import difflib
from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule, Severity
from specdeploy.engine.accelerators import DOMAIN
from specdeploy.engine.attention import ALIEN, BACKENDS, FOREIGN, READ, UNUSUAL, Backend, Kind, takes_kv
from specdeploy.engine.backends import (
    Choice,
    backend_of_drafter,
    backend_of_target,
    kind_of_target,
    kv_format,
    last_part,
    named_of_drafter,
    own_attention,
    unreadable_cache,
)
from specdeploy.engine.precision import precision_of
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.versions import beyond_tables

_OF_KIND = {
    Kind.DENSE: "TRITON_ATTN",
    Kind.MLA: "TRITON_MLA",
    Kind.SPARSE_MLA: "ROCM_AITER_MLA_SPARSE",
}
_OTHER_NAMES = (*ALIEN, *UNUSUAL, *FOREIGN)
_V4 = "model: deepseek-ai/DeepSeek-V4-Flash\naccelerator: {type: MI355X, count: 8}\ndrafters: []\n"
_DFLASH = "{name: d, method: dflash, model: z-lab/gemma-4-26B-A4B-it-DFlash, numSpeculativeTokens: 7"

UNKNOWN_BACKEND = Rule(
    code="SD601",
    name="unknown-attention-backend",
    severity=Severity.ERROR,
    title="The attention backend is none that vLLM has",
    why="vLLM stops at start with the list of its backends.",
    source="v1/attention/backends/registry.py of vLLM 0.32, and ROCM_OCTAVE of 0.33",
    refused="engine: {attentionBackend: TRITON_ATN}",
    passed="engine: {attentionBackend: triton_attn}",
)
FOREIGN_BACKEND = Rule(
    code="SD602",
    name="attention-backend-of-another-vendor",
    severity=Severity.ERROR,
    title="The attention backend has no kernels for AMD's GPUs",
    why="vLLM refuses a named backend whose library or instruction set the hardware lacks.",
    source="platforms/rocm.py and v1/attention/backends of vLLM 0.32",
    refused="engine: {attentionBackend: FLASHINFER}",
    passed="engine: {attentionBackend: TRITON_ATTN}",
)
UNUSUAL_BACKEND = Rule(
    code="SD603",
    name="attention-backend-unusual-on-amd",
    severity=Severity.WARNING,
    title="The attention backend is one that vLLM itself never chooses on AMD",
    why="Others need the flash-attn package in the image and are hardly tested on ROCm.",
    source="platforms/rocm.py and v1/attention/backends/fa_utils.py of vLLM 0.32",
    refused="engine: {attentionBackend: FLASH_ATTN}",
    passed="engine: {attentionBackend: ROCM_ATTN}",
)
REFUSED_ARCHITECTURE = Rule(
    code="SD604",
    name="attention-backend-of-another-architecture",
    severity=Severity.ERROR,
    title="vLLM refuses the attention backend on this GPU",
    why="vLLM refuses it before anything is loaded.",
    source="v1/attention/backends of vLLM 0.32 (supports_compute_capability, supports_combination)",
    refused="accelerator: {type: MI250X}\nengine: {attentionBackend: ROCM_AITER_FA}",
    passed="accelerator: {type: MI325X}\nengine: {attentionBackend: ROCM_AITER_FA}",
)
UNTESTED_ARCHITECTURE = Rule(
    code="SD605",
    name="attention-backend-without-kernels-here",
    severity=Severity.WARNING,
    title="The attention backend needs AITER, which is not built for this GPU",
    why="The images bring AITER's kernels for gfx942 and gfx950 only.",
    source="_aiter_ops.py of vLLM 0.32 (CDNA 3 and newer); the ROCm images' list of architectures",
    refused="accelerator: {type: MI210}\nengine: {attentionBackend: ROCM_AITER_UNIFIED_ATTN}",
    passed="accelerator: {type: MI300X}\nengine: {attentionBackend: ROCM_AITER_UNIFIED_ATTN}",
)
WRONG_KIND = Rule(
    code="SD606",
    name="attention-backend-of-another-kind",
    severity=Severity.ERROR,
    title="The attention backend computes another kind of attention than the target's",
    why="vLLM refuses a backend for latent attention (MLA) on a dense target, and the other way round; "
    "sparse latent attention and the attention of DeepSeek-V4.1 have one backend each.",
    source="v1/attention/backend.py of vLLM 0.32 (validate_configuration); the catalogue for the kind",
    refused="model: Qwen/Qwen3-8B\nengine: {attentionBackend: TRITON_MLA}",
    passed="model: Qwen/Qwen3-8B\nengine: {attentionBackend: TRITON_ATTN}",
)
OWN_ATTENTION = Rule(
    code="SD617",
    name="attention-backend-ignored",
    severity=Severity.WARNING,
    title="The target has attention of its own, and the named backend is ignored",
    why="The models of DeepSeek-V4 bring their attention with them and never ask which backend is named.",
    source="models/deepseek_v4/amd of vLLM 0.32",
    refused=_V4 + "engine: {attentionBackend: TRITON_MLA}",
    passed=_V4 + "engine: {attentionBackend: ROCM_FLASHMLA_SPARSE_DSV4}",
)
CACHE_FORMAT = Rule(
    code="SD610",
    name="attention-backend-without-this-cache-format",
    severity=Severity.ERROR,
    title="The attention backend can't read this format of the KV cache",
    why="vLLM refuses a named backend that can't read --kv-cache-dtype.",
    source="v1/attention/backends of vLLM 0.32 (supported_kv_cache_dtypes)",
    refused="engine: {attentionBackend: ROCM_ATTN, args: [--kv-cache-dtype, int8_per_token_head]}",
    passed="engine: {attentionBackend: TRITON_ATTN, args: [--kv-cache-dtype, int8_per_token_head]}",
)

CACHE_AND_WEIGHTS = Rule(
    code="SD619",
    name="cache-format-beside-fp8-weights",
    severity=Severity.WARNING,
    title="The KV cache is in fp8_e5m2 and the checkpoint in FP8",
    why="vLLM stops where a checkpoint's quantisation has scales for a cache in FP8, which are for e4m3. "
    "Before 0.24 that is every checkpoint in FP8; since then not one of compressed-tensors whose config.json "
    "has no kv_cache_scheme.",
    source="layers/attention/attention.py of vLLM 0.18 to 0.33; #8409 and #45040",
    refused="model: Qwen/Qwen3-32B-FP8\nengine: {args: [--kv-cache-dtype, fp8_e5m2]}",
    passed="model: Qwen/Qwen3-32B-FP8\nengine: {args: [--kv-cache-dtype, fp8_e4m3]}",
)


def _check_target(setting: Setting) -> Iterator[Finding]:
    choice = backend_of_target(setting)
    own = own_attention(setting)
    yield from _check_name(setting, choice) if own is None else _check_own(setting, choice, own)
    yield from _check_chosen_cache(setting)
    backend = BACKENDS.get(choice.named or "")
    if backend is None:
        return
    yield from _check_kind(setting, choice, backend)
    yield from _check_cache(setting, choice, backend, kv_format(setting))


def _check_drafter(candidate: Candidate) -> Iterator[Finding]:
    choice, setting = backend_of_drafter(candidate), candidate.setting
    if choice is None:  # vLLM reads the name although nothing runs on it
        unused = named_of_drafter(candidate)
        yield from _check_known(setting, unused) if unused.named else ()
    if choice is None or choice.inherited:
        return
    yield from _check_name(setting, choice)
    backend = BACKENDS.get(choice.named or "")
    if backend is not None:
        kv = str(candidate.options.get("kv_cache_dtype") or kv_format(setting))
        yield from _check_cache(setting, choice, backend, kv)


def _check_name(setting: Setting, choice: Choice) -> Iterator[Finding]:
    """One finding at most on the name alone."""
    name, backend = choice.named, BACKENDS.get(choice.named or "")
    if name is None or not setting.spec.accelerator.resource_name.startswith(DOMAIN):
        return
    yield from _check_known(setting, choice)
    if name in FOREIGN:
        yield FOREIGN_BACKEND.at(
            choice.field, f"{name} has no kernels for AMD's GPUs", "use TRITON_ATTN, say"
        )
    elif name in UNUSUAL:
        reason = f"vLLM never chooses {name} itself on AMD, and it needs the flash-attn package in the image"
        yield UNUSUAL_BACKEND.at(choice.field, reason, "use TRITON_ATTN or ROCM_AITER_FA")
    elif backend is not None:
        yield from _check_architecture(setting, choice, backend)


def _check_known(setting: Setting, choice: Choice) -> Iterator[Finding]:
    """Names of releases whose list was read."""
    name, version = choice.named or "", setting.version
    backend = BACKENDS.get(name)
    known = name in _OTHER_NAMES or (backend is not None and backend.span.holds(version))
    if known or not READ.holds(version) or beyond_tables(version):
        return
    near = difflib.get_close_matches(name, [each for each in (*BACKENDS, *_OTHER_NAMES) if each != name], n=1)
    fix = f"write {near[0]}" if near else f"use one of {', '.join(BACKENDS)}"
    reason = (
        f"vLLM {version} has no attention backend {name}"
        if version
        else f"vLLM has no attention backend {name}"
    )
    yield UNKNOWN_BACKEND.at(choice.field, reason, fix)


def _check_architecture(setting: Setting, choice: Choice, backend: Backend) -> Iterator[Finding]:
    gpu = setting.gpu
    if gpu is None or gpu.architecture in backend.architectures:
        return
    if backend.strict:
        reason = f"vLLM refuses {backend.name} on {gpu.name} ({gpu.architecture})"
        yield REFUSED_ARCHITECTURE.at(choice.field, reason, "use TRITON_ATTN")
    else:
        reason = f"{backend.name} needs AITER, which is not built for {gpu.name} ({gpu.architecture})"
        fix = "use TRITON_ATTN" if backend.kind is Kind.DENSE else "use TRITON_MLA"
        yield UNTESTED_ARCHITECTURE.at(choice.field, reason, fix)


def _check_own(setting: Setting, choice: Choice, own: str) -> Iterator[Finding]:
    if choice.named in (None, own):
        return
    if choice.named not in BACKENDS and choice.named not in _OTHER_NAMES:
        yield from _check_known(setting, choice)
    elif last_part(setting.spec.model).startswith("deepseek-v4.1"):
        yield WRONG_KIND.at(choice.field, f"{setting.spec.model} takes {own} only", f"use {own} or remove it")
    else:
        reason = f"{setting.spec.model} has its own attention, {own}; {choice.named} is ignored"
        yield OWN_ATTENTION.at(choice.field, reason, "remove it")


def _check_kind(setting: Setting, choice: Choice, backend: Backend) -> Iterator[Finding]:
    kind = kind_of_target(setting)
    if kind is None or kind is backend.kind:
        return
    reason = f"{backend.name} computes {backend.kind} attention, {setting.spec.model} has {kind} attention"
    yield WRONG_KIND.at(choice.field, reason, f"use {_OF_KIND[kind]}")


def _check_cache(setting: Setting, choice: Choice, backend: Backend, kv: str) -> Iterator[Finding]:
    # With a packed cache vLLM itself gives layers that a named backend can't serve another one.
    packed = kv.startswith(("turboquant_", "ultraquant_"))
    if takes_kv(backend, kv) or packed or not READ.holds(setting.version) or beyond_tables(setting.version):
        return
    reason = f"{backend.name} can't read a cache of --kv-cache-dtype {kv}"
    fix = f"use one of {', '.join(backend.kv)}" if backend.kv else "name the backend's own format"
    yield CACHE_FORMAT.at(choice.field, reason, f"{fix}, or another backend")


def _check_chosen_cache(setting: Setting) -> Iterator[Finding]:
    """A cache that none of the backends reads among which vLLM chooses."""
    flag = setting.flag("--kv-cache-dtype")
    sure = READ.holds(setting.version) and not beyond_tables(setting.version)
    if flag is not None and sure and unreadable_cache(setting):
        reason = f"no attention backend for {setting.spec.model} reads a cache of {flag.value} on AMD's GPUs"
        yield CACHE_FORMAT.at(flag.path, reason, "use fp8 or remove it")


def _check_weights(setting: Setting) -> Iterator[Finding]:
    flag, precision = setting.flag("--kv-cache-dtype"), precision_of(setting)
    if flag is not None and flag.value == "fp8_e5m2" and precision is not None and precision[1] == "fp8":
        reason = f"vLLM takes no cache in fp8_e5m2 beside weights in FP8 ({precision[0]})"
        yield CACHE_AND_WEIGHTS.at(flag.path, reason, "use fp8_e4m3, or remove it")


RULES: tuple[Rule, ...] = (
    UNKNOWN_BACKEND,
    FOREIGN_BACKEND,
    UNUSUAL_BACKEND,
    REFUSED_ARCHITECTURE,
    UNTESTED_ARCHITECTURE,
    WRONG_KIND,
    OWN_ATTENTION,
    CACHE_FORMAT,
    CACHE_AND_WEIGHTS,
)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (_check_target, _check_weights)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (_check_drafter,)
