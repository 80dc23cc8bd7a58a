"""Rules on checkpoints that the catalogue knows: what they are, what they need, what was measured of them.

N above a checkpoint's block is for `methods`; backends and accelerators are for `hardware`.
"""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule, Severity
from specdeploy.engine.catalogue.entries import Checkpoint, Target
from specdeploy.engine.catalogue.evidence import best_measured, best_ratio, called, in_words
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.versions import since

# An unlisted drafter is worth a word when it was measured at this share of the best listed one, or better.
_WORTH_A_TRY = 0.9

OTHER_TARGET = Rule(
    "SD801",
    "head-of-another-target",
    Severity.WARNING,
    "The draft checkpoint was trained for another target",
    why=(
        "A head reads the hidden states of the model that it was trained for. On another it accepts next to "
        "nothing, or its shapes do not fit and the engine fails at start."
    ),
    source="The catalogue; vLLM's eagle and dflash heads take hidden states of the target.",
    refused=(
        "{model: google/gemma-4-31B-it, drafters: [{name: d, method: dflash, numSpeculativeTokens: 7, "
        "model: z-lab/gemma-4-26B-A4B-it-DFlash, attentionBackend: TRITON_ATTN}]}"
    ),
    passed=(
        "{model: google/gemma-4-26B-A4B-it, drafters: [{name: d, method: dflash, numSpeculativeTokens: 7, "
        "model: z-lab/gemma-4-26B-A4B-it-DFlash, attentionBackend: TRITON_ATTN}]}"
    ),
)


def _check_other_target(candidate: Candidate) -> Iterator[Finding]:
    served = candidate.setting.spec.model
    homes = [target.model for target, _ in _entries(candidate)]
    if not homes or any(_is_variant(served, home) for home in homes):
        return
    reason = f"this head was trained for {homes[0]}, the target is {served}"
    fix = f"use a head of {served}, or serve {homes[0]}"
    yield OTHER_TARGET.at(f"{candidate.path}.model", reason, fix)


def _is_variant(served: str, home: str) -> bool:
    """Whether `served` is `home`, or by its name a build of it: quantised, fine-tuned, in a local folder."""
    return served.startswith("/") or home.rpartition("/")[2].lower() in served.lower()


OTHER_METHOD = Rule(
    "SD802",
    "checkpoint-of-another-method",
    Severity.WARNING,
    "The draft checkpoint belongs to another method",
    why="The engine fails at start when it loads the checkpoint, or drafts what is never accepted.",
    source="The catalogue: each checkpoint's own model card.",
    refused=(
        "{model: Qwen/Qwen3-8B, accelerator: {type: MI300X, count: 1}, drafters: [{name: d, method: dflash, "
        "numSpeculativeTokens: 7, model: deepseek-ai/dspark_qwen3_8b_block7}]}"
    ),
    passed=(
        "{model: Qwen/Qwen3-8B, accelerator: {type: MI300X, count: 1}, drafters: [{name: d, method: dspark, "
        "numSpeculativeTokens: 7, model: deepseek-ai/dspark_qwen3_8b_block7}]}"
    ),
)


def _check_other_method(candidate: Candidate) -> Iterator[Finding]:
    known = _checkpoint(candidate)
    if known is None or known.method == candidate.drafter.method:
        return
    block = f" with block {known.block}" if known.block else ""
    reason = f"this checkpoint is {called(known.method)}{block}"
    most = known.longest or known.tokens.most
    fix = f"use method {known.method}, numSpeculativeTokens {most} or less"
    yield OTHER_METHOD.at(f"{candidate.path}.method", reason, fix)


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


def _check_options(candidate: Candidate) -> Iterator[Finding]:
    known = _checkpoint(candidate)
    needed = known.options if known is not None and known.method == candidate.drafter.method else {}
    missing = [f"{key}: {_word(value)}" for key, value in needed.items() if key not in candidate.options]
    if missing:
        reason = "this checkpoint is published for options that are not set"
        yield MISSING_OPTIONS.at(f"{candidate.path}.options", reason, f"set {', '.join(missing)}")


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
    known = _checkpoint(candidate)
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
    known = _checkpoint(candidate)
    if known is not None and known.model is not None:
        yield from _gated(candidate.setting, f"{candidate.path}.model", known.gated)


def _gated(setting: Setting, field: str, gated: bool | None) -> Iterator[Finding]:
    engine = setting.spec.engine
    offline = engine.weights is not None and engine.weights.offline
    if gated and engine.hf_token_secret_ref is None and setting.variable("HF_TOKEN") is None and not offline:
        fix = "set spec.engine.hfTokenSecretRef to a Secret with a token that may read it"
        yield GATED.at(field, "the checkpoint is gated, and no token of the hub is set", fix)


UNUSUAL_TOKENS = Rule(
    "SD806",
    "unusual-number-of-tokens",
    Severity.ADVICE,
    "numSpeculativeTokens is outside the range that was measured or recommended for this drafter",
    why="Too few tokens pay a whole draft pass for little; too many are drafted to be thrown away.",
    source="The catalogue: measurements and recipes for each drafter.",
    refused=(
        "{model: google/gemma-4-26B-A4B-it, drafters: [{name: d, method: dflash, numSpeculativeTokens: 1, "
        "model: z-lab/gemma-4-26B-A4B-it-DFlash, attentionBackend: TRITON_ATTN}]}"
    ),
    passed=(
        "{model: google/gemma-4-26B-A4B-it, drafters: [{name: d, method: dflash, numSpeculativeTokens: 7, "
        "model: z-lab/gemma-4-26B-A4B-it-DFlash, attentionBackend: TRITON_ATTN}]}"
    ),
)


def _check_tokens(candidate: Candidate) -> Iterator[Finding]:
    known, tokens = _checkpoint(candidate), candidate.drafter.num_speculative_tokens
    if known is None or known.method != candidate.drafter.method:
        return
    if known.tokens.least <= tokens <= known.tokens.most or tokens > (known.longest or tokens):
        return
    reason = f"it is {tokens}; {_range(known)} is what is known to make sense for this drafter"
    best = best_measured(known, _gpu(candidate.setting))
    told = f", measured {in_words(best)}" if best else ""
    fix = f"begin with {known.tokens.suggested}{told}"
    yield UNUSUAL_TOKENS.at(f"{candidate.path}.numSpeculativeTokens", reason, fix)


def _range(known: Checkpoint) -> str:
    least, most = known.tokens.least, known.tokens.most
    return str(least) if least == most else f"{least} to {most}"


UNLISTED = Rule(
    "SD807",
    "known-drafter-not-listed",
    Severity.ADVICE,
    "The catalogue knows a drafter of this target that was measured about as fast or faster",
    why="A trial costs little, and the order of drafters differs with traffic, load and hardware.",
    source="The catalogue: published measurements; `specdeploy catalog MODEL` shows all.",
    refused=(
        "{model: Qwen/Qwen3.5-122B-A10B, accelerator: {type: MI300X, count: 4}, drafters: [{name: d, "
        "method: dflash, model: z-lab/Qwen3.5-122B-A10B-DFlash, numSpeculativeTokens: 7}]}"
    ),
    passed=(
        "{model: Qwen/Qwen3.5-122B-A10B, accelerator: {type: MI300X, count: 4}, drafters: [{name: d, "
        "method: mtp, numSpeculativeTokens: 5}]}"
    ),
)


def _check_unlisted(setting: Setting) -> Iterator[Finding]:
    target = setting.target
    if target is None:
        return
    listed = {(each.method, each.model) for each in setting.spec.drafters or []}
    gpu = _gpu(setting)
    mine = [best_ratio(each, gpu) for each in target.drafters if (each.method, each.model) in listed]
    bar = max(1.0, _WORTH_A_TRY * max(mine, default=0.0))
    rest = [each for each in target.drafters if (each.method, each.model) not in listed]
    worthy = [each for each in rest if best_ratio(each, gpu) > bar and _runs(each, setting)]
    best = max(worthy, key=lambda each: best_ratio(each, gpu), default=None)
    measured = best_measured(best, gpu) if best else None
    if best is not None and measured is not None:
        reason = f"{called(best.method)} with {best.name} was measured on this target: {in_words(measured)}"
        yield UNLISTED.at("spec.drafters", reason, "list it to have it tried on your traffic")


def _runs(known: Checkpoint, setting: Setting) -> bool:
    too_old = known.since is not None and since(known.since).is_ahead_of(setting.version)
    return not too_old and (setting.gpu is None or setting.gpu.name not in known.unsupported)


NOT_PINNED = Rule(
    "SD808",
    "revision-not-pinned",
    Severity.ADVICE,
    "Target or drafter follows a branch of the hub that may move",
    why=(
        "A head belongs to one revision of its target. When one of the two moves on the hub, acceptance "
        "drops to nothing at the next restart, and the evidence is of something else."
    ),
    source="vime issue 351: a target updated under its draft head, acceptance about 0, throughput -26 %.",
    refused=(
        "{model: Qwen/Qwen3-8B, accelerator: {type: MI300X, count: 1}, drafters: [{name: d, method: dspark, "
        "numSpeculativeTokens: 7, model: deepseek-ai/dspark_qwen3_8b_block7}]}"
    ),
    passed=(
        "{model: Qwen/Qwen3-8B, modelRevision: b968826d, accelerator: {type: MI300X, count: 1}, "
        "drafters: [{name: d, method: dspark, numSpeculativeTokens: 7, revision: 4f0c8a1e, "
        "model: deepseek-ai/dspark_qwen3_8b_block7}]}"
    ),
)


def _check_pinned(setting: Setting) -> Iterator[Finding]:
    drafters = setting.spec.drafters or []
    with_heads = [(index, each) for index, each in enumerate(drafters) if each.model]
    loose = [
        f"spec.drafters[{index}].revision"
        for index, each in with_heads
        if not each.revision and not _is_local(each.model or "")
    ]
    if with_heads and not setting.spec.model_revision and not _is_local(setting.spec.model):
        loose.insert(0, "spec.modelRevision")
    if loose:
        others = f"; the same goes for {len(loose) - 1} more, {loose[1]} first" if len(loose) > 1 else ""
        fix = "pin the revisions of target and drafters together"
        yield NOT_PINNED.at(loose[0], f"no revision is pinned{others}", fix)


def _is_local(model: str) -> bool:
    return model.startswith(("/", "./", "../"))


def _gpu(setting: Setting) -> str | None:
    return setting.gpu.name if setting.gpu else None


def _entries(candidate: Candidate) -> list[tuple[Target, Checkpoint]]:
    """Every entry of the drafter's checkpoint, with the target that it is for."""
    name = candidate.drafter.model
    entries = ((target, each) for target in candidate.setting.catalogue for each in target.drafters)
    return [(target, each) for target, each in entries if name is not None and each.model == name]


def _checkpoint(candidate: Candidate) -> Checkpoint | None:
    """What is known of it: as a drafter of this target, else of the target that it was trained for."""
    return candidate.checkpoint or next((each for _, each in _entries(candidate)), None)


RULES: tuple[Rule, ...] = (
    OTHER_TARGET,
    OTHER_METHOD,
    MISSING_OPTIONS,
    TOO_OLD,
    GATED,
    UNUSUAL_TOKENS,
    UNLISTED,
    NOT_PINNED,
)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (
    _check_target_version,
    _check_gated_target,
    _check_unlisted,
    _check_pinned,
)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (
    _check_other_target,
    _check_other_method,
    _check_options,
    _check_drafter_version,
    _check_gated_drafter,
    _check_tokens,
)
