"""Advice by the catalogue: tokens to begin with, drafters worth a try, revisions to pin."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule, Severity
from specdeploy.engine.catalogue.entries import Checkpoint
from specdeploy.engine.catalogue.evidence import best_measured, best_ratio, called, in_words
from specdeploy.engine.layout import is_address, is_on_hub
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.versions import since

# An unlisted drafter is worth a word when it was measured at this share of the best listed one, or better.
_WORTH_A_TRY = 0.9

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
    known, tokens = candidate.known, candidate.drafter.num_speculative_tokens
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
        on = setting.taken_for or "this target"
        reason = f"{called(best.method)} with {best.name} was measured on {on}: {in_words(measured)}"
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
        if not each.revision and is_on_hub(each.model or "")
    ]
    if with_heads and not setting.spec.model_revision and is_on_hub(setting.spec.model):
        loose.insert(0, "spec.modelRevision")
    if loose:
        more = f" and {len(loose) - 2} more" if len(loose) > 2 else ""
        others = f", nor at {loose[1]}{more}" if len(loose) > 1 else ""
        fix = "pin the revisions of target and drafters together"
        yield NOT_PINNED.at(loose[0], f"no revision is pinned{others}", fix)


TAKEN_BY_NAME = Rule(
    "SD809",
    "target-taken-by-its-name",
    Severity.ADVICE,
    "The target is taken for a build of a catalogued model, by its name",
    why=(
        "A copy or a quantised build has the architecture of the original, and heads trained for that are "
        "usually used with it. Quantisation moves what they accept, some builds lack the layers for mtp, "
        "and a name proves nothing."
    ),
    source="The catalogue has the original. The ending of the name tells the precision.",
    refused=(
        "{model: RedHatAI/Qwen3-8B-FP8-dynamic, accelerator: {type: MI300X, count: 1}, drafters: [{name: d, "
        "method: dspark, numSpeculativeTokens: 7, model: deepseek-ai/dspark_qwen3_8b_block7}]}"
    ),
    passed=(
        "{model: Qwen/Qwen3-8B, accelerator: {type: MI300X, count: 1}, drafters: [{name: d, method: dspark, "
        "numSpeculativeTokens: 7, model: deepseek-ai/dspark_qwen3_8b_block7}]}"
    ),
)


def _check_taken_by_name(setting: Setting) -> Iterator[Finding]:
    if setting.taken_for is None or setting.target is None or is_address(setting.spec.model):
        return
    precision = f" in {setting.target.precision}" if setting.target.precision else ""
    reason = f"by its name it is taken for {setting.taken_for}{precision}; its drafters may accept less"
    fix = "if it is another model, describe it in a file of your own (--catalog)"
    yield TAKEN_BY_NAME.at("spec.model", reason, fix)


def _gpu(setting: Setting) -> str | None:
    return setting.gpu.name if setting.gpu else None


RULES: tuple[Rule, ...] = (UNUSUAL_TOKENS, UNLISTED, NOT_PINNED, TAKEN_BY_NAME)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (
    _check_unlisted,
    _check_pinned,
    _check_taken_by_name,
)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (_check_tokens,)
