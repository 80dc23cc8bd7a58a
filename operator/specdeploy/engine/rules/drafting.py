"""Rules on how a drafter runs: its parallelism, its length, what it looks up."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.kinds import as_switch, as_whole
from specdeploy.engine.options import MODELS
from specdeploy.engine.runner import behind
from specdeploy.engine.serving import longest_request
from specdeploy.engine.setting import Candidate, Setting

_E = "name: d, method: eagle3, model: org/draft, numSpeculativeTokens: 4"
_DSPARK = "name: d, method: dspark, model: org/draft, numSpeculativeTokens: 7"
_QWEN = "model: Qwen/Qwen3-8B\naccelerator: {count: 1}"
_N = "name: d, method: ngram, numSpeculativeTokens: 4"
_LONG = "prompt_lookup_min: 8, prompt_lookup_max: 8"


def _example(drafter: str, options: str, before: str = "") -> str:
    return f"{before}\ndrafters: [{{{drafter}, options: {{{options}}}}}]\n"


DRAFT_PARALLEL = Rule(
    code="SD440",
    name="draft-tensor-parallelism",
    severity=Severity.ERROR,
    title="A drafter is split over one GPU or over all of the target's",
    why="The engine refuses to start with any other number.",
    source="SpeculativeConfig of vLLM 0.20 to 0.33",
    refused=_example(_E, "draft_tensor_parallel_size: 3"),
    passed=_example(_E, "draft_tensor_parallel_size: 1"),
    decided_by=Decider.PARSER,
)
TOPK_PARALLEL = Rule(
    code="SD441",
    name="draft-topk-on-one-gpu",
    severity=Severity.WARNING,
    title="A drafter on several GPUs has dspark_draft_topk, which is for one",
    why="vLLM documents that it requires a draft tensor parallel size of 1; absent, the target's is taken.",
    source="SpeculativeConfig of vLLM 0.32: dspark_draft_topk",
    refused=_example(_DSPARK, "dspark_draft_topk: 64"),
    passed=_example(
        _DSPARK,
        "dspark_draft_topk: 64, draft_tensor_parallel_size: 1",
    ),
)


def _check_parallel(candidate: Candidate) -> Iterator[Finding]:
    options, target = candidate.options, candidate.setting.parallel.tensor
    size = as_whole(options.get("draft_tensor_parallel_size"))
    if candidate.drafter.method in MODELS and size is not None and size > 0 and size not in (1, target):
        reason = f"it is {size}, vLLM takes 1 or the target's {target}"
        field = f"{candidate.path}.options.draft_tensor_parallel_size"
        yield DRAFT_PARALLEL.at(field, reason, "use one of the two or remove it")
    if candidate.drafter.method == "dspark" and "dspark_draft_topk" in options and (size or target) != 1:
        reason = f"the drafter is split over {size or target} GPUs"
        field = f"{candidate.path}.options.dspark_draft_topk"
        yield TOPK_PARALLEL.at(field, reason, "set draft_tensor_parallel_size: 1 or remove it")


DRAFT_LENGTH = Rule(
    code="SD442",
    name="draft-longer-than-the-target",
    severity=Severity.ERROR,
    title="The drafter's max_model_len is above the target's",
    why="The engine refuses to start.",
    source="SpeculativeConfig of vLLM 0.20 to 0.33",
    refused=_example(_E, "max_model_len: 32768", "engine: {args: [--max-model-len, 16k]}"),
    passed=_example(_E, "max_model_len: 16000", "engine: {args: [--max-model-len, 16k]}"),
    decided_by=Decider.PARSER,
)


def _check_length(candidate: Candidate) -> Iterator[Finding]:
    draft = as_whole(candidate.options.get("max_model_len"))
    longest = longest_request(candidate.setting)
    if candidate.drafter.method in MODELS and draft is not None and longest is not None and draft > longest:
        whose = "--max-model-len" if candidate.setting.flag("--max-model-len") else "context of"
        reason = f"it is {draft}, above the target's {whose} {longest}"
        yield DRAFT_LENGTH.at(f"{candidate.path}.options.max_model_len", reason, "lower it or remove it")


TOPK_RANGE = Rule(
    code="SD450",
    name="draft-topk-above-the-vocabulary",
    severity=Severity.ERROR,
    title="A drafter's dspark_draft_topk is above the vocabulary",
    why="The engine refuses to start. A draft's vocabulary is the target's or a part of it.",
    source="SpeculativeConfig of vLLM 0.32: dspark_draft_topk",
    refused=_example(_DSPARK, "dspark_draft_topk: 200000", _QWEN),
    passed=_example(_DSPARK, "dspark_draft_topk: 64", _QWEN),
    decided_by=Decider.PARSER,
)


def _check_topk(candidate: Candidate) -> Iterator[Finding]:
    target, kept = candidate.setting.as_published, as_whole(candidate.options.get("dspark_draft_topk"))
    vocabulary = target.vocabulary if target else None
    if candidate.drafter.method == "dspark" and kept and vocabulary and kept > vocabulary:
        reason = f"it is {kept}, the target's vocabulary has {vocabulary} tokens"
        yield TOPK_RANGE.at(f"{candidate.path}.options.dspark_draft_topk", reason, "lower it or remove it")


LOOKUP_ORDER = Rule(
    code="SD443",
    name="lookup-range",
    severity=Severity.ERROR,
    title="The shortest lookup is longer than the longest",
    why="The engine refuses to start.",
    source="SpeculativeConfig of vLLM 0.20 to 0.33",
    refused=_example(_N, "prompt_lookup_min: 9, prompt_lookup_max: 8"),
    passed=_example(_N, "prompt_lookup_min: 8, prompt_lookup_max: 8"),
    decided_by=Decider.PARSER,
)
LOOKUP_TOOLS = Rule(
    code="SD444",
    name="short-lookup-and-tool-calls",
    severity=Severity.WARNING,
    title="Short lookups corrupt tool calls",
    why="With a shortest lookup of 2 about half of the tool calls were broken JSON; with 8 none was.",
    source="vLLM issue 40875",
    refused=_example(
        _N, "prompt_lookup_min: 2, prompt_lookup_max: 8", "engine: {args: [--tool-call-parser, hermes]}"
    ),
    passed=_example(
        _N, "prompt_lookup_min: 8, prompt_lookup_max: 8", "engine: {args: [--tool-call-parser, hermes]}"
    ),
)
LOOKUP_SHORT = Rule(
    code="SD445",
    name="short-lookup",
    severity=Severity.ADVICE,
    title="Short lookups corrupt tool calls, should clients make some",
    why="With a shortest lookup of 2 about half of the tool calls were broken JSON; with 8 none was. "
    "No argument here says that clients call tools; they may all the same.",
    source="vLLM issue 40875",
    refused=_example(_N, "prompt_lookup_min: 2, prompt_lookup_max: 8"),
    passed=_example(_N, "prompt_lookup_min: 8, prompt_lookup_max: 8"),
)
_DEFAULT_LOOKUP = 5
_SAFE_LOOKUP = 8
_TOOL_FLAGS = ("--enable-auto-tool-choice", "--tool-call-parser")


def _check_lookup(candidate: Candidate) -> Iterator[Finding]:
    if candidate.drafter.method != "ngram":
        return
    least, most = _lookup(candidate.options)
    field = f"{candidate.path}.options.prompt_lookup_min"
    if least > most:
        reason = f"prompt_lookup_min is {least}, above prompt_lookup_max {most}"
        yield LOOKUP_ORDER.at(field, reason, "make it at most prompt_lookup_max")
    elif least < _SAFE_LOOKUP:
        tools = any(candidate.setting.flag(flag) for flag in _TOOL_FLAGS)
        reason = f"it is {least}{'' if 'prompt_lookup_min' in candidate.options else ' by default'}"
        fix = f"set it to {_SAFE_LOOKUP}, and prompt_lookup_max to at least that"
        yield (LOOKUP_TOOLS if tools else LOOKUP_SHORT).at(field, reason, fix)


def _lookup(options: dict[str, object]) -> tuple[int, int]:
    """Shortest and longest lookup in force: one alone stands for both, none is vLLM's default."""
    least, most = as_whole(options.get("prompt_lookup_min")), as_whole(options.get("prompt_lookup_max"))
    default = most if most is not None else least if least is not None else _DEFAULT_LOOKUP
    return (least if least is not None else default, most if most is not None else default)


UNPADDED = Rule(
    code="SD446",
    name="unpadded-batches",
    severity=Severity.WARNING,
    title="Unpadded batches turn async scheduling off for one arm",
    why="The baseline keeps it on, so the drafter starts with a handicap. From 0.33 on only on the V1 "
    "runner.",
    source="VllmConfig of vLLM 0.18 to 0.33",
    refused=_example(_E, "disable_padded_drafter_batch: true", "engine: {vllmVersion: '0.32.0'}"),
    passed=_example(_E, "disable_padded_drafter_batch: true", "engine: {vllmVersion: '0.33.0'}"),
)
NOT_AHEAD = Rule(
    code="SD449",
    name="async-scheduling-off",
    severity=Severity.ADVICE,
    title="The method turns async scheduling off for one arm",
    why="Such drafts are made on the CPU between two steps: up to 0.32 by ngram and suffix, from then on "
    "only on the V1 runner. The baseline keeps async scheduling on, so the drafter starts with a handicap.",
    source="VllmConfig of vLLM 0.18 to 0.33",
    refused=_example(_N, _LONG, "engine: {vllmVersion: '0.32.0'}"),
    passed=_example(_N, _LONG, "engine: {vllmVersion: '0.33.0'}"),
)


def _check_ahead(candidate: Candidate) -> Iterator[Finding]:
    setting, cause = candidate.setting, behind(candidate)
    if cause is None or any(setting.flag(f"--{no}async-scheduling") for no in ("", "no-")):
        return
    reason = "it turns async scheduling off for this arm alone"
    if cause in candidate.options:
        yield UNPADDED.at(f"{candidate.path}.options.{cause}", reason, "remove it")
    else:
        yield NOT_AHEAD.at(f"{candidate.path}.method", reason, "know it when you read the verdict")


HEAD_OF_ASSISTANT = Rule(
    code="SD447",
    name="head-quantization-of-gemma-4",
    severity=Severity.ERROR,
    title="The head of Gemma 4's assistant can't be quantized",
    why="The engine refuses to start: draft_lm_head_quantization is for eagle, eagle3 and other mtp.",
    source="SpeculativeConfig of vLLM 0.33",
    refused=_example(
        "name: d, method: mtp, model: google/gemma-4-26B-A4B-it-assistant, numSpeculativeTokens: 4",
        "draft_lm_head_quantization: fp8",
    ),
    passed="model: Qwen/Qwen3.5-27B"
    + _example("name: d, method: mtp, numSpeculativeTokens: 4", "draft_lm_head_quantization: fp8"),
    decided_by=Decider.PARSER,
)


def _check_head(candidate: Candidate) -> Iterator[Finding]:
    key, target = "draft_lm_head_quantization", candidate.setting.target
    gemma4 = target is not None and target.family == "gemma4"
    if gemma4 and candidate.drafter.method == "mtp" and candidate.options.get(key) is not None:
        reason = "vLLM refuses it with Gemma 4's assistant"
        yield HEAD_OF_ASSISTANT.at(f"{candidate.path}.options.{key}", reason, "remove it")


EXPERIMENTAL = Rule(
    code="SD448",
    name="experimental-prefix-cache-switch",
    severity=Severity.ADVICE,
    title="A switch for experiments with the prefix cache",
    why="vLLM calls it experimental: it keeps blocks of the cache that drafters are else made to compute "
    "again, at the price of acceptance. Measured alone it tells what that is worth.",
    source="SpeculativeConfig of vLLM 0.32 and 0.33",
    refused=_example(_E, "disable_eagle_block_drop: true"),
    passed=_example(_E, "disable_eagle_block_drop: false"),
)
_EXPERIMENTAL = ("disable_eagle_block_drop", "disable_lookahead_block_hashes")


def _check_experimental(candidate: Candidate) -> Iterator[Finding]:
    for key in (key for key in _EXPERIMENTAL if as_switch(candidate.options.get(key))):
        field = f"{candidate.path}.options.{key}"
        fix = "list the drafter without it too, and let the trials tell"
        yield EXPERIMENTAL.at(field, "it trades acceptance for prefix-cache hits", fix)


RULES: tuple[Rule, ...] = (
    DRAFT_PARALLEL,
    TOPK_PARALLEL,
    DRAFT_LENGTH,
    TOPK_RANGE,
    LOOKUP_ORDER,
    LOOKUP_TOOLS,
    LOOKUP_SHORT,
    UNPADDED,
    NOT_AHEAD,
    HEAD_OF_ASSISTANT,
    EXPERIMENTAL,
)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = ()
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (
    _check_parallel,
    _check_length,
    _check_topk,
    _check_lookup,
    _check_ahead,
    _check_head,
    _check_experimental,
)
