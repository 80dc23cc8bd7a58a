"""Rules on checkpoints: whether a method needs one, and how many tokens it was trained to draft at once."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.api.spec import NEEDS_MODEL, TAKES_NO_MODEL
from specdeploy.engine.catalogue.entries import Target
from specdeploy.engine.kinds import as_whole
from specdeploy.engine.methods import METHODS
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.versions import between

NO_CHECKPOINT = Rule(
    code="SD305",
    name="checkpoint-missing",
    severity=Severity.ERROR,
    title="The method needs a draft checkpoint",
    why="There is nothing to draft with. The API server refuses it too, and of a manifest `lint` says so "
    "first, as SD005.",
    source="SpeculativeConfig of vLLM 0.20 to 0.33",
    refused="""
drafters: [{name: d, method: eagle3, numSpeculativeTokens: 4}]
""",
    passed="""
drafters: [{name: d, method: eagle3, model: org/draft, numSpeculativeTokens: 4}]
""",
    decided_by=Decider.PARSER,
)
CHECKPOINT_UNUSED = Rule(
    code="SD306",
    name="checkpoint-unused",
    severity=Severity.ERROR,
    title="The method takes no draft checkpoint",
    why="Refused by policy: vLLM would ignore it. The API server refuses it too, and of a manifest `lint` "
    "says so first, as SD005.",
    source="SpeculativeConfig of vLLM 0.20 to 0.33",
    refused="""
drafters: [{name: d, method: ngram, model: org/draft, numSpeculativeTokens: 4}]
""",
    passed="""
drafters: [{name: d, method: ngram, numSpeculativeTokens: 4}]
""",
    decided_by=Decider.POLICY,
)


def _check_checkpoint(candidate: Candidate) -> Iterator[Finding]:
    drafter, field = candidate.drafter, f"{candidate.path}.model"
    if drafter.method in NEEDS_MODEL and not drafter.model:
        yield NO_CHECKPOINT.at(field, f"method {drafter.method} needs a draft checkpoint", "name it")
    if drafter.method in TAKES_NO_MODEL and drafter.model:
        yield CHECKPOINT_UNUSED.at(field, f"method {drafter.method} takes no checkpoint", "remove it")


NO_LAYERS = Rule(
    code="SD307",
    name="no-layers-in-the-target",
    severity=Severity.ERROR,
    title="The target's family has no layers for mtp in it",
    why="Without a checkpoint the engine refuses to start. Gemma 4's layers come as one, the assistant; some "
    "families have none at all.",
    source="SpeculativeConfig of vLLM 0.32, asked for every family of the catalogue",
    refused="""
model: google/gemma-4-26B-A4B-it
drafters: [{name: d, method: mtp, numSpeculativeTokens: 4}]
""",
    passed="""
model: google/gemma-4-26B-A4B-it
drafters: [{name: d, method: mtp, model: google/gemma-4-26B-A4B-it-assistant, numSpeculativeTokens: 4}]
""",
    decided_by=Decider.PARSER,
)


LAYERS_UNKNOWN = Rule(
    code="SD313",
    name="layers-not-known-in-the-target",
    severity=Severity.WARNING,
    title="No layers for the method are known in this target",
    why="The parser takes it and rewrites the target's configuration; where the layers are missing the "
    "engine dies when it loads them.",
    source="SpeculativeConfig of vLLM 0.32, asked for every family of the catalogue",
    refused="""
model: Qwen/Qwen3-8B
drafters: [{name: d, method: dspark, numSpeculativeTokens: 7}]
""",
    passed="""
model: Qwen/Qwen3-8B
drafters: [{name: d, method: dspark, model: deepseek-ai/dspark_qwen3_8b_block7, numSpeculativeTokens: 7}]
""",
)


def _check_layers(candidate: Candidate) -> Iterator[Finding]:
    drafter, target, method = candidate.drafter, candidate.setting.target, METHODS[candidate.drafter.method]
    if target is None or drafter.model:
        return
    field, what = f"{candidate.path}.model", f"layers for {method.name}"
    if target.family in method.not_in_target:
        gemma4 = target.family == "gemma4"
        official = candidate.setting.taken_for or target.model
        fix = f"name its assistant, {official}-assistant" if gemma4 else "use another method"
        yield NO_LAYERS.at(field, f"{target.model} has no {what} in it", fix)
    elif method.in_some_targets and not _has_layers(target, method.name):
        yield LAYERS_UNKNOWN.at(field, f"no {what} are known in {target.model}", _instead(candidate, target))


def _instead(candidate: Candidate, target: Target) -> str:
    """Another checkpoint of the family that has the layers, or a draft checkpoint."""
    method = candidate.drafter.method
    siblings = [
        each.model
        for each in candidate.setting.catalogue
        if each.family == target.family and _has_layers(each, method)
    ]
    return f"serve {' or '.join(siblings)}, or use another method" if siblings else "name a draft checkpoint"


def _has_layers(target: Target, method: str) -> bool:
    return any((each.method, each.model) == (method, None) for each in target.drafters)


BEYOND_BLOCK = Rule(
    code="SD309",
    name="more-tokens-than-the-block",
    severity=Severity.WARNING,
    title="More tokens than the checkpoint was trained to draft at once",
    why="It starts, and acceptance falls past the block: DeepSeek-V4-Flash (block 5) from 2.74 tokens a "
    "step at 5 to 1.31 at 7; Qwen3-8B (block 7) on GSM8K from 1.63x at 7 to 1.58x at 11 and 1.31x at 15.",
    source="AMD's measurements of 2026-08-20; InferenceX for DeepSeek-V4",
    refused="""
model: Qwen/Qwen3-8B
drafters: [{name: d, method: dspark, model: deepseek-ai/dspark_qwen3_8b_block7, numSpeculativeTokens: 11}]
""",
    passed="""
model: Qwen/Qwen3-8B
drafters: [{name: d, method: dspark, model: deepseek-ai/dspark_qwen3_8b_block7, numSpeculativeTokens: 7}]
""",
)
BELOW_BLOCK = Rule(
    code="SD310",
    name="fewer-tokens-than-the-block",
    severity=Severity.ERROR,
    title="Fewer tokens than the block of a DeepSeek-V4 checkpoint",
    why="vLLM 0.26 and 0.27 refuse it at the start, for garbled output; from 0.28 on any number is taken.",
    source="SpeculativeConfig of vLLM 0.26 to 0.28; pull request 47419 and issue 50012",
    refused="""
model: deepseek-ai/DeepSeek-V4-Flash-0731
engine: {vllmVersion: "0.27.1"}
accelerator: {type: MI355X, count: 4}
drafters: [{name: d, method: dspark, numSpeculativeTokens: 3}]
""",
    passed="""
model: deepseek-ai/DeepSeek-V4-Flash-0731
accelerator: {type: MI355X, count: 4}
drafters: [{name: d, method: dspark, numSpeculativeTokens: 3}]
""",
    decided_by=Decider.PARSER,
)
_WHOLE_BLOCK = ("deepseek-v4",)
_GUARDED = between("0.26", "0.28")


def _check_block(candidate: Candidate) -> Iterator[Finding]:
    checkpoint, tokens = candidate.checkpoint, candidate.drafter.num_speculative_tokens
    most = checkpoint.longest if checkpoint is not None else None
    if checkpoint is None or most is None:
        return
    field = f"{candidate.path}.numSpeculativeTokens"
    if tokens > most:
        reason = (
            f"the checkpoint has block {checkpoint.block} and drafts {most} at once, this asks for {tokens}"
        )
        yield BEYOND_BLOCK.at(field, reason, f"use {most} or fewer")
    target, guarded = candidate.setting.target, _GUARDED.holds(candidate.setting.version)
    if guarded and target and target.family in _WHOLE_BLOCK and tokens < most:
        reason = f"the checkpoint has block {checkpoint.block}, this asks for {tokens}"
        yield BELOW_BLOCK.at(field, reason, f"use {most}")


BEYOND_TREE = Rule(
    code="SD311",
    name="more-tokens-than-the-tree",
    severity=Severity.WARNING,
    title="More tokens than the suffix tree is deep",
    why="The tree's depth limits match and draft together; the tokens above it are never drafted.",
    source="SpeculativeConfig of vLLM 0.33: suffix_decoding_max_tree_depth",
    refused="""
engine: {image: "registry.example/team/vllm:v0.33.0"}
drafters: [{name: d, method: suffix, numSpeculativeTokens: 32}]
""",
    passed="""
engine: {image: "registry.example/team/vllm:v0.33.0"}
drafters: [{name: d, method: suffix, numSpeculativeTokens: 32, options: {suffix_decoding_max_tree_depth: 64}}]
""",
)
_TREE_DEPTH = 24


def _check_tree(candidate: Candidate) -> Iterator[Finding]:
    if candidate.drafter.method != "suffix":
        return
    tokens = candidate.drafter.num_speculative_tokens
    depth = as_whole(candidate.options.get("suffix_decoding_max_tree_depth", _TREE_DEPTH))
    if depth is not None and tokens > depth:
        reason = f"it is {tokens}, the tree is {depth} deep"
        fix = "lower it or raise options.suffix_decoding_max_tree_depth"
        yield BEYOND_TREE.at(f"{candidate.path}.numSpeculativeTokens", reason, fix)


RULES: tuple[Rule, ...] = (
    NO_CHECKPOINT,
    CHECKPOINT_UNUSED,
    NO_LAYERS,
    LAYERS_UNKNOWN,
    BEYOND_BLOCK,
    BELOW_BLOCK,
    BEYOND_TREE,
)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = ()
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (
    _check_checkpoint,
    _check_layers,
    _check_block,
    _check_tree,
)
