"""Rules on what a draft checkpoint was made for: another target, another method, by the catalogue."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.belonging import is_whole_model
from specdeploy.engine.catalogue.evidence import called
from specdeploy.engine.catalogue.variants import build_of
from specdeploy.engine.layout import is_path
from specdeploy.engine.setting import Candidate, Setting

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
    served, known = candidate.setting.spec.model, candidate.setting.target is not None
    homes = [target.model for target, _ in candidate.homes]
    if not homes or any(_is_build(served, home) for home in homes) or (is_path(served) and not known):
        return
    reason = f"this head was trained for {homes[0]}, the target is {served}"
    fix = f"use a head of {served}, or serve {homes[0]}"
    yield OTHER_TARGET.at(f"{candidate.path}.model", reason, fix)


def _is_build(served: str, home: str) -> bool:
    """Whether `served` is `home`, or by its name a build of it: quantised, fine-tuned, in a folder."""
    return build_of(home).model in served.lower()


OTHER_METHOD = Rule(
    "SD802",
    "checkpoint-of-another-method",
    Severity.WARNING,
    "The draft checkpoint belongs to another method",
    why=(
        "The engine fails at start when it loads the checkpoint, drafts what is never accepted, or makes "
        "another method of it by its name."
    ),
    source="The catalogue: each checkpoint's own model card.",
    refused=(
        "{model: Qwen/Qwen3-8B, accelerator: {type: MI300X, count: 1}, drafters: [{name: d, "
        "method: eagle3, numSpeculativeTokens: 7, model: RedHatAI/Qwen3-8B-speculator.dflash}]}"
    ),
    passed=(
        "{model: Qwen/Qwen3-8B, accelerator: {type: MI300X, count: 1}, drafters: [{name: d, method: dspark, "
        "numSpeculativeTokens: 7, model: deepseek-ai/dspark_qwen3_8b_block7}]}"
    ),
)


def _check_other_method(candidate: Candidate) -> Iterator[Finding]:
    known = candidate.known
    if known is None or known.method == candidate.drafter.method:
        return
    block = f" with block {known.block}" if known.block else ""
    reason = f"this checkpoint is {called(known.method)}{block}"
    most = known.longest or known.tokens.most
    fix = f"use method {known.method}, numSpeculativeTokens {most} or less"
    rule = REFUSED_METHOD if _is_refused_kind(candidate) else OTHER_METHOD
    yield rule.at(f"{candidate.path}.method", reason, fix)


REFUSED_METHOD = Rule(
    "SD818",
    "checkpoint-refused-by-the-method",
    Severity.ERROR,
    "vLLM knows no such architecture of the draft checkpoint for this method",
    why=(
        "For eagle, eagle3 and dflash vLLM takes the architecture in the checkpoint's config.json with the "
        "method's name before it, and refuses to start where it has no such model."
    ),
    source="vLLM 0.32: EAGLEConfig; every kind of checkpoint was put to its parser with every method.",
    refused=(
        "{model: Qwen/Qwen3-8B, accelerator: {type: MI300X, count: 1}, drafters: [{name: d, method: eagle3, "
        "numSpeculativeTokens: 7, model: deepseek-ai/dspark_qwen3_8b_block7}]}"
    ),
    passed=(
        "{model: Qwen/Qwen3-8B, accelerator: {type: MI300X, count: 1}, drafters: [{name: d, method: dspark, "
        "numSpeculativeTokens: 7, model: deepseek-ai/dspark_qwen3_8b_block7}]}"
    ),
    decided_by=Decider.PARSER,
)
# By method, the kinds of checkpoints that it can't take.
_REFUSED_KINDS: dict[str, tuple[str, ...]] = {
    "eagle": ("eagle3", "dflash", "dspark", "mtp"),
    "eagle3": ("dflash", "dspark", "mtp"),
    "dflash": ("eagle", "eagle3", "dspark", "mtp"),
}
_OWN_CONFIG = "speculator"  # in the name of a checkpoint whose config names no architecture of its own


def _is_refused_kind(candidate: Candidate) -> bool:
    known, method = candidate.known, candidate.drafter.method
    named = (candidate.drafter.model or "").lower()
    return known is not None and known.method in _REFUSED_KINDS.get(method, ()) and _OWN_CONFIG not in named


WHOLE_MODEL = Rule(
    "SD819",
    "target-as-a-head",
    Severity.ERROR,
    "The head of a drafter is a whole model",
    why=(
        "A head is a few layers that read the hidden states of its target. The weights of a model that is "
        "served by itself have other names and shapes, and the engine ends as it loads them."
    ),
    source="vLLM's eagle, eagle3, dflash and dspark models; the catalogue has the targets.",
    refused=(
        "{model: Qwen/Qwen3-8B, accelerator: {type: MI300X, count: 1}, drafters: [{name: d, method: eagle3, "
        "numSpeculativeTokens: 3, model: Qwen/Qwen3-8B}]}"
    ),
    passed=(
        "{model: Qwen/Qwen3-8B, accelerator: {type: MI300X, count: 1}, drafters: [{name: d, method: eagle3, "
        "numSpeculativeTokens: 3, model: RedHatAI/Qwen3-8B-speculator.eagle3}]}"
    ),
)


def _check_whole_model(candidate: Candidate) -> Iterator[Finding]:
    if is_whole_model(candidate):
        itself = candidate.drafter.model == candidate.setting.spec.model
        what = "the target itself" if itself else "a model to serve"
        reason = f"this is {what}, {candidate.drafter.method} needs a head that was trained for the target"
        yield WHOLE_MODEL.at(
            f"{candidate.path}.model", reason, "name a head, or use draft_model with a small model"
        )


RULES: tuple[Rule, ...] = (OTHER_TARGET, OTHER_METHOD, REFUSED_METHOD, WHOLE_MODEL)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = ()
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (
    _check_other_target,
    _check_other_method,
    _check_whole_model,
)
