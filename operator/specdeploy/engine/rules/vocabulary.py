"""Rules on the vocabulary of a small model that drafts: it has to be as large as the target's.

`belonging.small_model` finds it in the catalogue. Heads have a vocabulary of their own, which a map in the
checkpoint leads to the target's, and vLLM compares nothing there.
"""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.belonging import small_model
from specdeploy.engine.kinds import as_switch
from specdeploy.engine.options import OPTIONS
from specdeploy.engine.setting import Candidate, Setting

OTHER_VOCABULARY = Rule(
    code="SD314",
    name="draft-of-another-vocabulary",
    severity=Severity.ERROR,
    title="The small model's vocabulary is not as large as the target's",
    why="vLLM compares vocab_size in both config.json, PARD's too, and refuses to start where they differ: a "
    "token of one would mean another of the other, or none.",
    source="SpeculativeConfig of vLLM 0.18 to 0.33; its parser of 0.32 was asked",
    refused="""
model: meta-llama/Llama-3.3-70B-Instruct
accelerator: {type: MI300X, count: 2}
engine: {args: [-tp, '2']}
drafters: [{name: d, method: draft_model, model: Qwen/Qwen3-8B, numSpeculativeTokens: 4}]
""",
    passed="""
model: meta-llama/Llama-3.3-70B-Instruct
accelerator: {type: MI300X, count: 2}
engine: {args: [-tp, '2']}
drafters: [{name: d, method: draft_model, model: meta-llama/Llama-3.1-8B-Instruct, numSpeculativeTokens: 4}]
""",
    decided_by=Decider.PARSER,
)
VOCABULARY_DOUBTFUL = Rule(
    code="SD315",
    name="draft-of-another-vocabulary-as-published",
    severity=Severity.WARNING,
    title="The small model's vocabulary is likely not as large as the target's",
    why="vLLM refuses to start where they differ. One of the two is known by its name, or without a copy of "
    "its config.json, or arguments give the target another config: it may be otherwise here.",
    source="SpeculativeConfig of vLLM 0.18 to 0.33; the catalogue's numbers",
    refused="""
model: RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic
accelerator: {type: MI300X, count: 2}
engine: {args: [-tp, '2']}
drafters: [{name: d, method: draft_model, model: Qwen/Qwen3-8B, numSpeculativeTokens: 4}]
""",
    passed="""
model: RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic
accelerator: {type: MI300X, count: 2}
engine: {args: [-tp, '2']}
drafters: [{name: d, method: draft_model, model: meta-llama/Llama-3.1-8B-Instruct, numSpeculativeTokens: 4}]
""",
)
_MAPPED = "use_heterogeneous_vocab"


def _check_vocabulary(candidate: Candidate) -> Iterator[Finding]:
    setting, draft = candidate.setting, small_model(candidate)
    target = setting.target
    if draft is None or target is None or as_switch(candidate.options.get(_MAPPED)):
        return
    drafted, served = draft.vocabulary, target.vocabulary
    if drafted is None or served is None or drafted == served:
        return
    sure = draft.is_read and setting.as_published is not None and target.config is not None
    reason = f"its vocabulary has {drafted} tokens, the target's {served}"
    mapped = OPTIONS[_MAPPED].span.holds(setting.version)
    fix = f"name a model of {served} tokens" + (f", or set options.{_MAPPED}: true" if mapped else "")
    rule = OTHER_VOCABULARY if sure else VOCABULARY_DOUBTFUL
    yield rule.at(f"{candidate.path}.model", reason, fix)


RULES: tuple[Rule, ...] = (OTHER_VOCABULARY, VOCABULARY_DOUBTFUL)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = ()
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (_check_vocabulary,)
