"""Rules on attention backends. Part of the rules on hardware."""

import difflib
from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule, Severity
from specdeploy.engine.accelerators import DOMAIN
from specdeploy.engine.attention import ALIEN, BACKENDS, FOREIGN, READ, UNUSUAL, Backend, Kind, takes_kv
from specdeploy.engine.backends import (
    NON_CAUSAL,
    Choice,
    backend_of_drafter,
    backend_of_target,
    is_configured,
    kind_of_target,
    known_backend,
    kv_format,
)
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.versions import beyond_tables

_NAMES = (*BACKENDS, *ALIEN, *UNUSUAL, *FOREIGN)
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
CAUSAL_ONLY = Rule(
    code="SD607",
    name="drafter-needs-a-backend-that-looks-both-ways",
    severity=Severity.ERROR,
    title="A block drafter's backend can look both ways",
    why="DFlash and DSpark draft a block at once and attend within it in both directions; vLLM refuses a "
    "named backend that can't.",
    source="v1/attention/backends of vLLM 0.32 (supports_non_causal)",
    refused=f"drafters: [{_DFLASH}, attentionBackend: ROCM_AITER_UNIFIED_ATTN}}]",
    passed=f"drafters: [{_DFLASH}, attentionBackend: TRITON_ATTN}}]",
)
MAYBE_CAUSAL_ONLY = Rule(
    code="SD608",
    name="drafter-may-need-a-backend-that-looks-both-ways",
    severity=Severity.WARNING,
    title="A block drafter names a backend of its own where the target's can't look both ways",
    why="Releases differ in whether a drafter without a backend of its own gets the target's, and some "
    "checkpoints have sliding windows only, which look one way.",
    source="config/speculative.py and v1/worker/gpu/spec_decode of vLLM 0.32; models/qwen3_dflash.py",
    refused=f"engine: {{attentionBackend: ROCM_AITER_UNIFIED_ATTN}}\ndrafters: [{_DFLASH}}}]",
    passed="engine: {attentionBackend: ROCM_AITER_UNIFIED_ATTN}\n"
    f"drafters: [{_DFLASH}, attentionBackend: TRITON_ATTN}}]",
)
UNIFORM_GRAPHS = Rule(
    code="SD609",
    name="adaptive-verification-needs-uneven-batches",
    severity=Severity.ERROR,
    title="Adaptive verification has a target's backend whose graphs take uneven batches",
    why="vLLM stops at start: the graphs of this backend can't replay a varying number of tokens a request.",
    source="v1/worker/gpu/spec_decode/adaptive_verification.py of vLLM 0.32",
    refused="engine: {attentionBackend: ROCM_AITER_FA}\n"
    f"drafters: [{_DFLASH}, options: {{enable_adaptive_verification: true}}}}]",
    passed="engine: {attentionBackend: TRITON_ATTN}\n"
    f"drafters: [{_DFLASH}, options: {{enable_adaptive_verification: true}}}}]",
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
    if name in FOREIGN:
        yield FOREIGN_BACKEND.at(
            choice.field, f"{name} has no kernels for AMD's GPUs", "use TRITON_ATTN, say"
        )
    elif name in UNUSUAL:
        reason = f"vLLM never chooses {name} itself on AMD, and it needs the flash-attn package in the image"
        yield UNUSUAL_BACKEND.at(choice.field, reason, "use TRITON_ATTN or ROCM_AITER_FA")
    elif backend is not None:
        yield from _check_architecture(setting, choice, backend)
    elif name not in ALIEN and READ.holds(setting.version) and not beyond_tables(setting.version):
        near = difflib.get_close_matches(name, _NAMES, n=1)
        fix = f"write {near[0]}" if near else f"use one of {', '.join(BACKENDS)}"
        yield UNKNOWN_BACKEND.at(choice.field, f"vLLM has no attention backend {name}", fix)


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


def _check_both_ways(candidate: Candidate) -> Iterator[Finding]:
    method, own = candidate.drafter.method, backend_of_drafter(candidate)
    if method not in NON_CAUSAL or own is None:
        return
    decides = own if own.named else backend_of_target(candidate.setting)
    backend = BACKENDS.get(decides.named or "")
    if backend is None or not _is_one_way(candidate.setting, backend):
        return
    where = f" on {candidate.setting.gpu.name}" if backend.non_causal and candidate.setting.gpu else ""
    other = "TRITON_ATTN" if backend.kind is Kind.DENSE else "TRITON_MLA"
    reason = f"{backend.name} can't run the non-causal attention of {method}{where}"
    sure = own.named and not _may_have_windows_only(candidate)
    rule = CAUSAL_ONLY if sure else MAYBE_CAUSAL_ONLY
    yield rule.at(decides.field, reason, f"set {candidate.path}.attentionBackend, e.g. {other}")


def _is_one_way(setting: Setting, backend: Backend) -> bool:
    """Whether it can't look both ways on this GPU; on an unknown one, whether it can on none."""
    if setting.gpu is None:
        return not backend.non_causal
    return setting.gpu.architecture not in backend.non_causal


def _may_have_windows_only(candidate: Candidate) -> bool:
    """Drafters in the speculators format have sliding windows unless they were trained without."""
    return "speculator" in (candidate.drafter.model or "").lower()


def _check_uneven(candidate: Candidate) -> Iterator[Finding]:
    key = "enable_adaptive_verification"
    backend = BACKENDS.get(backend_of_target(candidate.setting).named or "")
    if candidate.options.get(key) is not True or backend is None:
        return
    if backend.uneven is None or not backend.uneven.holds(candidate.setting.version):
        reason = f"attention backend {backend.name} can't verify a varying number of tokens"
        fix = "remove it or set another spec.engine.attentionBackend"
        yield UNIFORM_GRAPHS.at(f"{candidate.path}.options.{key}", reason, fix)


def _check_named(setting: Setting) -> Iterator[Finding]:
    choice = backend_of_target(setting)
    if choice.named or is_configured(setting) or not setting.spec.drafters:
        return
    reason = f"it is left to vLLM, which takes {choice.own}" if choice.own else "it is left to vLLM"
    yield TARGET_NOT_NAMED.at(choice.field, reason, f"name {choice.own or 'the one that suits the target'}")


def _check_drafter_named(candidate: Candidate) -> Iterator[Finding]:
    choice = backend_of_drafter(candidate)
    if choice is None or choice.named or choice.inherited or known_backend(candidate):
        return
    reason = f"it is left to vLLM, which takes {choice.own}" if choice.own else "it is left to vLLM"
    yield DRAFTER_NOT_NAMED.at(choice.field, reason, f"name {choice.own or 'the one that suits it'}")


RULES: tuple[Rule, ...] = (
    UNKNOWN_BACKEND,
    FOREIGN_BACKEND,
    UNUSUAL_BACKEND,
    REFUSED_ARCHITECTURE,
    UNTESTED_ARCHITECTURE,
    WRONG_KIND,
    CAUSAL_ONLY,
    MAYBE_CAUSAL_ONLY,
    UNIFORM_GRAPHS,
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
    _check_both_ways,
    _check_uneven,
    _check_drafter_named,
)
