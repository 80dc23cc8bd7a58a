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
    is_configured,
    kind_of_target,
    known_backend,
    kv_format,
    named_of_drafter,
)
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.versions import beyond_tables

_OTHER_NAMES = (*ALIEN, *UNUSUAL, *FOREIGN)
_DFLASH = "{name: d, method: dflash, model: z-lab/gemma-4-26B-A4B-it-DFlash, numSpeculativeTokens: 7"

UNKNOWN_BACKEND = Rule(
    code="SD601",
    name="unknown-attention-backend",
    severity=Severity.ERROR,
    title="The attention backend is one that vLLM has",
    why="vLLM stops at start with the list of its backends.",
    source="v1/attention/backends/registry.py of vLLM 0.32, and ROCM_OCTAVE of 0.33",
    refused="engine: {attentionBackend: TRITON_ATN}",
    passed="engine: {attentionBackend: triton_attn}",
)
FOREIGN_BACKEND = Rule(
    code="SD602",
    name="attention-backend-of-another-vendor",
    severity=Severity.ERROR,
    title="The attention backend has kernels for AMD's GPUs",
    why="vLLM refuses a named backend whose library or instruction set the hardware lacks.",
    source="platforms/rocm.py and v1/attention/backends of vLLM 0.32",
    refused="engine: {attentionBackend: FLASHINFER}",
    passed="engine: {attentionBackend: TRITON_ATTN}",
)
UNUSUAL_BACKEND = Rule(
    code="SD603",
    name="attention-backend-unusual-on-amd",
    severity=Severity.WARNING,
    title="The attention backend is one that vLLM itself would choose on AMD",
    why="Others need the flash-attn package in the image and are hardly tested on ROCm.",
    source="platforms/rocm.py and v1/attention/backends/fa_utils.py of vLLM 0.32",
    refused="engine: {attentionBackend: FLASH_ATTN}",
    passed="engine: {attentionBackend: ROCM_ATTN}",
)
REFUSED_ARCHITECTURE = Rule(
    code="SD604",
    name="attention-backend-of-another-architecture",
    severity=Severity.ERROR,
    title="vLLM takes the attention backend on this GPU",
    why="vLLM refuses it before anything is loaded.",
    source="v1/attention/backends of vLLM 0.32 (supports_compute_capability, supports_combination)",
    refused="accelerator: {type: MI250X}\nengine: {attentionBackend: ROCM_AITER_FA}",
    passed="accelerator: {type: MI325X}\nengine: {attentionBackend: ROCM_AITER_FA}",
)
UNTESTED_ARCHITECTURE = Rule(
    code="SD605",
    name="attention-backend-without-kernels-here",
    severity=Severity.WARNING,
    title="AITER is built for this GPU",
    why="The images bring AITER's kernels for gfx942 and gfx950 only.",
    source="_aiter_ops.py of vLLM 0.32 (CDNA 3 and newer); the ROCm images' list of architectures",
    refused="accelerator: {type: MI210}\nengine: {attentionBackend: ROCM_AITER_UNIFIED_ATTN}",
    passed="accelerator: {type: MI300X}\nengine: {attentionBackend: ROCM_AITER_UNIFIED_ATTN}",
)
WRONG_KIND = Rule(
    code="SD606",
    name="attention-backend-of-another-kind",
    severity=Severity.ERROR,
    title="The attention backend computes the target's kind of attention",
    why="vLLM refuses a backend for latent attention (MLA) on a dense target, and the other way round.",
    source="v1/attention/backend.py of vLLM 0.32 (validate_configuration); the catalogue for the kind",
    refused="model: Qwen/Qwen3-8B\nengine: {attentionBackend: TRITON_MLA}",
    passed="model: Qwen/Qwen3-8B\nengine: {attentionBackend: TRITON_ATTN}",
)
CACHE_FORMAT = Rule(
    code="SD610",
    name="attention-backend-without-this-cache-format",
    severity=Severity.ERROR,
    title="The attention backend takes the format of the KV cache",
    why="vLLM refuses a named backend that can't read --kv-cache-dtype.",
    source="v1/attention/backends of vLLM 0.32 (supported_kv_cache_dtypes)",
    refused="engine: {attentionBackend: ROCM_ATTN, args: [--kv-cache-dtype, int8_per_token_head]}",
    passed="engine: {attentionBackend: TRITON_ATTN, args: [--kv-cache-dtype, int8_per_token_head]}",
)
TARGET_NOT_NAMED = Rule(
    code="SD611",
    name="name-the-target-attention-backend",
    severity=Severity.ADVICE,
    title="The target's attention backend is named where drafters are tried",
    why="vLLM's own choice differs by release and image, is ROCM_ATTN for most targets even with AITER on, "
    "and decides how fast several tokens are verified. Named, it stays the same after an upgrade.",
    source="#46596; platforms/rocm.py of vLLM 0.32",
    refused=f"drafters: [{_DFLASH}, attentionBackend: TRITON_ATTN}}]",
    passed="engine: {attentionBackend: TRITON_ATTN}\n"
    f"drafters: [{_DFLASH}, attentionBackend: TRITON_ATTN}}]",
)
DRAFTER_NOT_NAMED = Rule(
    code="SD612",
    name="name-the-drafter-attention-backend",
    severity=Severity.ADVICE,
    title="A drafter's attention backend is named",
    why="Without one vLLM chooses, by rules that differ by release, method and runner; the acceptance of "
    "some drafters depends on it.",
    source="#47854; v1/spec_decode/llm_base_proposer.py and v1/worker/gpu/spec_decode of vLLM 0.32",
    refused="drafters: [{name: d, method: dflash, model: org/draft, numSpeculativeTokens: 7}]",
    passed="drafters: [{name: d, method: dflash, model: org/draft, numSpeculativeTokens: 7, "
    "attentionBackend: TRITON_ATTN}]",
)


def _check_target(setting: Setting) -> Iterator[Finding]:
    choice = backend_of_target(setting)
    yield from _check_name(setting, choice)
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


def _check_kind(setting: Setting, choice: Choice, backend: Backend) -> Iterator[Finding]:
    kind = kind_of_target(setting)
    if kind is None or (kind is Kind.DENSE) == (backend.kind is Kind.DENSE):
        return
    reason = f"{backend.name} computes {backend.kind} attention, {setting.spec.model} has {kind} attention"
    yield WRONG_KIND.at(choice.field, reason, f"use {'TRITON_ATTN' if kind is Kind.DENSE else 'TRITON_MLA'}")


def _check_cache(setting: Setting, choice: Choice, backend: Backend, kv: str) -> Iterator[Finding]:
    # With a packed cache vLLM itself gives layers that a named backend can't serve another one.
    packed = kv.startswith(("turboquant_", "ultraquant_"))
    if takes_kv(backend, kv) or packed or not READ.holds(setting.version) or beyond_tables(setting.version):
        return
    reason = f"{backend.name} can't read a cache of --kv-cache-dtype {kv}"
    fix = f"use one of {', '.join(backend.kv)}" if backend.kv else "name the backend's own format"
    yield CACHE_FORMAT.at(choice.field, reason, f"{fix}, or another backend")


def _check_named(setting: Setting) -> Iterator[Finding]:
    choice = backend_of_target(setting)
    if choice.named or is_configured(setting) or not setting.spec.drafters:
        return
    faster = ", or ROCM_AITER_FA, which was measured faster with speculation"
    rival = faster if choice.own == "ROCM_ATTN" and setting.gpu and setting.gpu.can.aiter else ""
    yield _left_to_vllm(TARGET_NOT_NAMED, choice, "the one that suits the target", rival)


def _check_drafter_named(candidate: Candidate) -> Iterator[Finding]:
    choice = backend_of_drafter(candidate)
    if choice is None or choice.named or choice.inherited or known_backend(candidate):
        return
    yield _left_to_vllm(DRAFTER_NOT_NAMED, choice, "the one that suits it", "")


def _left_to_vllm(rule: Rule, choice: Choice, unknown: str, rival: str) -> Finding:
    reason = f"it is left to vLLM, which takes {choice.own}" if choice.own else "it is left to vLLM"
    return rule.at(choice.field, reason, f"name {choice.own or unknown}{rival}")


RULES: tuple[Rule, ...] = (
    UNKNOWN_BACKEND,
    FOREIGN_BACKEND,
    UNUSUAL_BACKEND,
    REFUSED_ARCHITECTURE,
    UNTESTED_ARCHITECTURE,
    WRONG_KIND,
    CACHE_FORMAT,
    TARGET_NOT_NAMED,
    DRAFTER_NOT_NAMED,
)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (
    _check_target,
    _check_named,
)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (
    _check_drafter,
    _check_drafter_named,
)
