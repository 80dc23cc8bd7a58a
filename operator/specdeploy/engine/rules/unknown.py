"""What the catalogue does not tell, said aloud: silence would read as "checked and good"."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule, Severity
from specdeploy.engine.belonging import head_for, is_whole_model, small_model
from specdeploy.engine.layout import is_address
from specdeploy.engine.methods import METHODS
from specdeploy.engine.setting import Candidate, Setting

_ASK = "ask the engine itself: lint --engine"

NOT_CATALOGUED = Rule(
    "SD812",
    "target-not-catalogued",
    Severity.ADVICE,
    "The catalogue does not list the target, so what depends on its sizes and layers is not checked",
    why=(
        "Whether it fits, whether its heads divide by the GPUs, how long a request may be, whether a "
        "checkpoint belongs to it: all of that stands in config.json, which is not read."
    ),
    source="vLLM reads config.json of target and drafter as it starts, and refuses what does not fit.",
    refused=(
        "{model: /models/target, engine: {attentionBackend: TRITON_ATTN}, drafters: [{name: d, "
        "method: ngram, numSpeculativeTokens: 3}]}"
    ),
    passed="{model: Qwen/Qwen3-8B, drafters: [{name: d, method: ngram, numSpeculativeTokens: 3}]}",
)


def _check_listed(setting: Setting) -> Iterator[Finding]:
    if setting.target is None and head_for(setting) is None:
        reason = "the catalogue does not list it; what depends on its sizes and layers is not checked"
        yield NOT_CATALOGUED.at("spec.model", reason, f"describe it in a file (--catalog), or {_ASK}")


DRAFT_NOT_CATALOGUED = Rule(
    "SD820",
    "drafter-not-catalogued",
    Severity.ADVICE,
    "The catalogue does not list the draft checkpoint, so whether it goes with the target is not checked",
    why=(
        "Its vocabulary, its sizes and the target that it was trained for stand in config.json, which is not "
        "read. vLLM does not start where they don't fit, or nothing that it drafts is accepted."
    ),
    source="vLLM reads config.json of target and drafter as it starts, and refuses what does not fit.",
    refused=(
        "{model: Qwen/Qwen3-8B, drafters: [{name: d, method: draft_model, model: google/gemma-3-270m, "
        "numSpeculativeTokens: 3}]}"
    ),
    passed=(
        "{model: Qwen/Qwen3-8B, drafters: [{name: d, method: dspark, numSpeculativeTokens: 7, "
        "model: deepseek-ai/dspark_qwen3_8b_block7}]}"
    ),
)


def _check_draft_listed(candidate: Candidate) -> Iterator[Finding]:
    model, setting = candidate.drafter.model, candidate.setting
    if model is None or candidate.known is not None or setting.target is None:
        return  # of an unknown target nothing is checked, which is told of that
    if is_address(model) or is_whole_model(candidate):
        return
    small = small_model(candidate)
    what = "sizes" if small and small.vocabulary and setting.target.vocabulary else "vocabulary and sizes"
    reason = f"the catalogue does not list it as a drafter; its {what} are not checked"
    yield DRAFT_NOT_CATALOGUED.at(
        f"{candidate.path}.model", reason, f"describe it in a file (--catalog), or {_ASK}"
    )


MTP_NOT_KNOWN = Rule(
    "SD813",
    "mtp-layers-not-known",
    Severity.WARNING,
    "The catalogue knows no MTP layers of this target",
    why=(
        "mtp without a checkpoint uses layers of the target. Some builds of a model come without them, and "
        "vLLM does not start then."
    ),
    source="vLLM's SpeculativeConfig: num_nextn_predict_layers (or its like) of the target's config.json.",
    refused="{model: Qwen/Qwen3-Coder-Next, drafters: [{name: d, method: mtp, numSpeculativeTokens: 1}]}",
    passed="{model: Qwen/Qwen3.5-27B, drafters: [{name: d, method: mtp, numSpeculativeTokens: 4}]}",
)


def _check_mtp(candidate: Candidate) -> Iterator[Finding]:
    target, drafter = candidate.setting.target, candidate.drafter
    if target is None or drafter.method != "mtp" or drafter.model:
        return
    # Where it is known that there are none, that is an error of its own.
    if target.family in METHODS["mtp"].not_in_target or any(d.method == "mtp" for d in target.drafters):
        return
    reason = "no MTP layers of this target are known; where it has none, vLLM does not start"
    fix = f"look for num_nextn_predict_layers in its config.json, or {_ASK}"
    yield MTP_NOT_KNOWN.at(f"{candidate.path}.method", reason, fix)


RULES: tuple[Rule, ...] = (NOT_CATALOGUED, DRAFT_NOT_CATALOGUED, MTP_NOT_KNOWN)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (_check_listed,)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (_check_draft_listed, _check_mtp)
