"""Rules on what a drafter needs of attention backends. Part of the rules on hardware."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule, Severity
from specdeploy.engine.attention import BACKENDS, Backend, Kind
from specdeploy.engine.backends import NON_CAUSAL, backend_of_drafter, backend_of_target
from specdeploy.engine.setting import Candidate, Setting

_DFLASH = "{name: d, method: dflash, model: z-lab/gemma-4-26B-A4B-it-DFlash, numSpeculativeTokens: 7"

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


RULES: tuple[Rule, ...] = (CAUSAL_ONLY, MAYBE_CAUSAL_ONLY, UNIFORM_GRAPHS)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = ()
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (_check_both_ways, _check_uneven)
