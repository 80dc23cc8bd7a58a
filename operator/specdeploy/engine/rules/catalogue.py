"""Rules on checkpoints that the catalogue knows: what they need.

What they are for is in `belonging`, N above a checkpoint's block in `checkpoints`; backends and accelerators
are for `hardware`.
"""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule, Severity
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.versions import since

MISSING_OPTIONS = Rule(
    "SD803",
    "checkpoint-options",
    Severity.WARNING,
    "The draft checkpoint is published for options that are not set",
    why="Without them it drafts one token after another, fails at start, or accepts less than was published.",
    source="The catalogue: model cards and vllm-project/recipes.",
    refused=(
        "{model: openai/gpt-oss-20b, accelerator: {type: MI300X, count: 1}, drafters: [{name: d, "
        "method: eagle3, numSpeculativeTokens: 7, model: amazon/GPT-OSS-20B-P-EAGLE}]}"
    ),
    passed=(
        "{model: openai/gpt-oss-20b, accelerator: {type: MI300X, count: 1}, drafters: [{name: d, "
        "method: eagle3, numSpeculativeTokens: 7, model: amazon/GPT-OSS-20B-P-EAGLE, "
        "options: {parallel_drafting: true}}]}"
    ),
)


SAMPLING_OPTIONS = Rule(
    "SD810",
    "checkpoint-sampling",
    Severity.ADVICE,
    "Acceptance of the draft checkpoint was published with sampling options that are not set",
    why=(
        "It drafts without them too. Probabilistic drafts are accepted more often where requests are "
        "sampled, and keep logits for every request that --max-num-seqs lets in."
    ),
    source="The catalogue: model cards, vLLM's blog and vllm-project/recipes.",
    refused=(
        "{model: deepseek-ai/DeepSeek-V4-Pro-0813, accelerator: {type: MI355X, count: 8}, "
        "drafters: [{name: d, method: dspark, numSpeculativeTokens: 5}]}"
    ),
    passed=(
        "{model: deepseek-ai/DeepSeek-V4-Pro-0813, accelerator: {type: MI355X, count: 8}, "
        "drafters: [{name: d, method: dspark, numSpeculativeTokens: 5, "
        "options: {draft_sample_method: probabilistic}}]}"
    ),
)
_SAMPLING = ("draft_sample_method", "rejection_sample_method")
_KEEPS_LOGITS = "draft_sample_method"


def _check_options(candidate: Candidate) -> Iterator[Finding]:
    missing = _missing(candidate)
    needed = {key: value for key, value in missing.items() if key not in _SAMPLING}
    sampling = {key: value for key, value in missing.items() if key in _SAMPLING}
    field = f"{candidate.path}.options"
    if needed:
        reason = "this checkpoint is published for options that are not set"
        yield MISSING_OPTIONS.at(field, reason, f"set {_words(needed)}")
    if sampling:
        lower = _KEEPS_LOGITS in sampling and candidate.setting.flag("--max-num-seqs") is None
        reason = "its acceptance was published with sampling options that are not set"
        also = "; it keeps logits for each of --max-num-seqs, so lower that too" if lower else ""
        yield SAMPLING_OPTIONS.at(field, reason, f"try {_words(sampling)}{also}")


def _missing(candidate: Candidate) -> dict[str, object]:
    """Options that the checkpoint is published for and that are not in force."""
    known = candidate.known
    if known is None or known.method != candidate.drafter.method:
        return {}
    tensor = candidate.setting.parallel.tensor  # of the drafter too, unless it says otherwise
    given = {"draft_tensor_parallel_size": tensor}
    return {
        key: value
        for key, value in known.options.items()
        if key not in candidate.options and given.get(key) != value
    }


def _words(options: dict[str, object]) -> str:
    return ", ".join(f"{key}: {_word(value)}" for key, value in options.items())


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


TOO_OLD = Rule(
    "SD804",
    "checkpoint-needs-newer-vllm",
    Severity.WARNING,
    "The target or draft checkpoint is known from a newer vLLM on",
    why="Support for a model comes with a release. An older engine fails when it loads the checkpoint.",
    source="The catalogue: model cards and vllm-project/recipes (min_vllm_version).",
    refused=(
        "{model: MiniMaxAI/MiniMax-M3-MXFP8, accelerator: {type: MI355X, count: 8}, "
        "engine: {vllmVersion: 0.22.1}, drafters: []}"
    ),
    passed=(
        "{model: MiniMaxAI/MiniMax-M3-MXFP8, accelerator: {type: MI355X, count: 8}, "
        "engine: {vllmVersion: 0.24.0}, drafters: []}"
    ),
)


def _check_target_version(setting: Setting) -> Iterator[Finding]:
    if setting.target is not None:
        yield from _too_old(setting, "spec.model", setting.target.since)


def _check_drafter_version(candidate: Candidate) -> Iterator[Finding]:
    known = candidate.known
    if known is not None:
        field = f"{candidate.path}.{'model' if known.model else 'method'}"
        yield from _too_old(candidate.setting, field, known.since)


def _too_old(setting: Setting, field: str, first: str | None) -> Iterator[Finding]:
    version = setting.version
    if first is not None and version is not None and since(first).is_ahead_of(version):
        reason = f"it is known to run from vLLM {first} on, the image has {version}"
        yield TOO_OLD.at(field, reason, "use a newer spec.engine.image")


GATED = Rule(
    "SD805",
    "gated-without-token",
    Severity.WARNING,
    "The checkpoint is gated, and the engine gets no token of the hub",
    why="The hub answers 401 and the pod fails at start, unless the files are on the volume or in the image.",
    source="The hub: access to the repository is granted to accounts.",
    refused=(
        "{model: meta-llama/Llama-3.1-8B-Instruct, accelerator: {type: MI300X, count: 1}, drafters: []}"
    ),
    passed=(
        "{model: meta-llama/Llama-3.1-8B-Instruct, accelerator: {type: MI300X, count: 1}, drafters: [], "
        "engine: {hfTokenSecretRef: {name: hub, key: token}}}"
    ),
)


def _check_gated_target(setting: Setting) -> Iterator[Finding]:
    if setting.target is not None:
        yield from _gated(setting, "spec.model", setting.target.gated)


def _check_gated_drafter(candidate: Candidate) -> Iterator[Finding]:
    known = candidate.known
    if known is not None and known.model is not None:
        yield from _gated(candidate.setting, f"{candidate.path}.model", known.gated)


def _gated(setting: Setting, field: str, gated: bool | None) -> Iterator[Finding]:
    engine = setting.spec.engine
    offline = engine.weights is not None and engine.weights.offline
    if gated and engine.hf_token_secret_ref is None and setting.variable("HF_TOKEN") is None and not offline:
        fix = "set spec.engine.hfTokenSecretRef to a Secret with a token that may read it"
        yield GATED.at(field, "the checkpoint is gated, and no token of the hub is set", fix)


NO_MULTIPLE = Rule(
    "SD811",
    "tokens-no-multiple-of-the-chain",
    Severity.ERROR,
    "More tokens than the target's chain of mtp layers, and no multiple of it",
    why=(
        "Each layer of the chain drafts one token, and the whole chain is run again for more. vLLM refuses a "
        "number above its length that is no multiple of it."
    ),
    source="vLLM 0.32, n_predict in SpeculativeConfig; the catalogue has the length.",
    refused=(
        "{model: thinkingmachines/Inkling-NVFP4, accelerator: {type: MI355X, count: 8}, "
        "drafters: [{name: d, method: mtp, numSpeculativeTokens: 12}]}"
    ),
    passed=(
        "{model: thinkingmachines/Inkling-NVFP4, accelerator: {type: MI355X, count: 8}, "
        "drafters: [{name: d, method: mtp, numSpeculativeTokens: 16}]}"
    ),
)


def _check_chain(candidate: Candidate) -> Iterator[Finding]:
    known, tokens = candidate.checkpoint, candidate.drafter.num_speculative_tokens
    chain = known.chain if known is not None and candidate.setting.as_published else None
    if chain is not None and tokens > chain and tokens % chain:
        reason = f"the target drafts with a chain of {chain} layers, this asks for {tokens} tokens"
        fix = f"use {chain} or fewer, or {tokens // chain * chain + chain}"
        yield NO_MULTIPLE.at(f"{candidate.path}.numSpeculativeTokens", reason, fix)


RULES: tuple[Rule, ...] = (
    MISSING_OPTIONS,
    SAMPLING_OPTIONS,
    TOO_OLD,
    GATED,
    NO_MULTIPLE,
)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (
    _check_target_version,
    _check_gated_target,
)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (
    _check_options,
    _check_drafter_version,
    _check_gated_drafter,
    _check_chain,
)
