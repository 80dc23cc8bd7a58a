"""Rules on what a drafter needs of attention backends. Part of the rules on hardware."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule, Severity
from specdeploy.engine.attention import BACKENDS, Backend, Kind
from specdeploy.engine.backends import NON_CAUSAL, backend_of_drafter, running_backend
from specdeploy.engine.kinds import as_switch
from specdeploy.engine.serving import size_of
from specdeploy.engine.setting import Candidate, Setting

_ADAPTIVE = "enable_adaptive_verification"
_KIMI = (
    "model: moonshotai/Kimi-K2.5\naccelerator: {type: MI355X, count: 8}\n%s\n"
    "drafters: [{name: d, method: dflash, model: z-lab/Kimi-K2.5-DFlash, numSpeculativeTokens: 7, "
    "options: {enable_adaptive_verification: true}}]"
)
_DFLASH = "{name: d, method: dflash, model: z-lab/gemma-4-26B-A4B-it-DFlash, numSpeculativeTokens: 7"

CAUSAL_ONLY = Rule(
    code="SD607",
    name="drafter-needs-a-backend-that-looks-both-ways",
    severity=Severity.ERROR,
    title="A block drafter's backend can't look both ways",
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
    title="A block drafter may get a backend that can't look both ways",
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
    title="Adaptive verification meets a target's backend whose graphs take even batches only",
    why="vLLM stops at start: the graphs of this backend can't replay a varying number of tokens a request.",
    source="v1/worker/gpu/spec_decode/adaptive_verification.py of vLLM 0.32",
    refused="engine: {attentionBackend: ROCM_AITER_FA}\n"
    f"drafters: [{_DFLASH}, options: {{enable_adaptive_verification: true}}}}]",
    passed="engine: {attentionBackend: TRITON_ATTN}\n"
    f"drafters: [{_DFLASH}, options: {{enable_adaptive_verification: true}}}}]",
)
MAYBE_UNIFORM_GRAPHS = Rule(
    code="SD618",
    name="adaptive-verification-may-meet-uniform-graphs",
    severity=Severity.WARNING,
    title="Adaptive verification is left to a backend of vLLM's choice whose graphs take even batches only",
    why="Where no backend is named, vLLM chooses without a look at the graphs and stops later at start.",
    source="platforms/rocm.py and v1/worker/gpu/spec_decode/adaptive_verification.py of vLLM 0.32",
    refused=_KIMI % "",
    passed=_KIMI % "engine: {vllmVersion: '0.33.0', env: [{name: VLLM_ROCM_USE_AITER, value: '1'}]}",
)


def _check_both_ways(candidate: Candidate) -> Iterator[Finding]:
    method, own = candidate.drafter.method, backend_of_drafter(candidate)
    if method not in NON_CAUSAL or own is None:
        return
    decides = own if own.named else running_backend(candidate.setting)
    backend = BACKENDS.get(decides.named or "")
    if backend is None or not _is_one_way(candidate.setting, backend):
        return
    where = f" on {candidate.setting.gpu.name}" if backend.non_causal and candidate.setting.gpu else ""
    other = "TRITON_ATTN" if backend.kind is Kind.DENSE else "TRITON_MLA"
    unknown = backend.non_causal is None
    verb = "is not known to run" if unknown else "can't run"
    reason = f"{backend.name} {verb} the non-causal attention of {method}{where}"
    sure = own.named and not unknown and not _may_have_windows_only(candidate)
    rule = CAUSAL_ONLY if sure else MAYBE_CAUSAL_ONLY
    yield rule.at(decides.field, reason, f"set {candidate.path}.attentionBackend, e.g. {other}")


def _is_one_way(setting: Setting, backend: Backend) -> bool:
    """Whether it is not known to look both ways on this GPU; on an unknown one, whether it does on none."""
    if setting.gpu is None or backend.non_causal is None:
        return not backend.non_causal
    return setting.gpu.architecture not in backend.non_causal


def _may_have_windows_only(candidate: Candidate) -> bool:
    """Drafters in the speculators format have sliding windows unless they were trained without."""
    return "speculator" in (candidate.drafter.model or "").lower()


def _check_uneven(candidate: Candidate) -> Iterator[Finding]:
    choice = running_backend(candidate.setting)
    backend = BACKENDS.get(choice.name or "")
    if backend is None or not as_switch(candidate.options.get(_ADAPTIVE)):
        return
    reason = _uniform(candidate.setting, backend)
    if reason is not None:
        rule = UNIFORM_GRAPHS if choice.named else MAYBE_UNIFORM_GRAPHS
        taken = "" if choice.named else "vLLM takes "
        fix = "remove it or name another spec.engine.attentionBackend"
        yield rule.at(f"{candidate.path}.options.{_ADAPTIVE}", f"{taken}{backend.name}, {reason}", fix)


def _uniform(setting: Setting, backend: Backend) -> str | None:
    """Why its graphs don't take uneven batches; None where they do."""
    if backend.uneven is None or not backend.uneven.holds(setting.version):
        return "which can't verify a varying number of tokens"
    if backend.kind is Kind.MLA and (size_of(setting, "--decode-context-parallel-size") or 1) > 1:
        return "which can't verify a varying number of tokens with --decode-context-parallel-size above 1"
    return None


RULES: tuple[Rule, ...] = (CAUSAL_ONLY, MAYBE_CAUSAL_ONLY, UNIFORM_GRAPHS, MAYBE_UNIFORM_GRAPHS)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = ()
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (_check_both_ways, _check_uneven)
