"""Rules on the room for drafts: in a step's budget of tokens, and in the graphs of a step."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.graphs import captured_tokens
from specdeploy.engine.serving import batched_tokens, is_on, possible_batches, sequences
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.slots import grows_with, limits_requests, lookahead, needed_slots

_EAGLE = "drafters: [{name: d, method: eagle3, model: org/draft, numSpeculativeTokens: 4}]"
_DFLASH = "drafters: [{name: d, method: dflash, model: org/draft, numSpeculativeTokens: 7}]"

_SEQS = "--max-num-seqs"


def _args(*words: str) -> str:
    return f"engine: {{args: [{', '.join(repr(word) for word in words)}]}}\n"


LORA_TOKENS = Rule(
    code="SD502",
    name="lora-token-budget",
    severity=Severity.ERROR,
    title="With LoRA a step must hold a full batch of drafts",
    why="max_num_batched_tokens must be at least max_num_seqs x (tokens + 1); else the engine refuses to "
    "start.",
    source="EngineArgs of vLLM 0.20 to 0.33",
    refused=_args("--enable-lora", "--max-num-batched-tokens", "4096") + _EAGLE,
    passed=_args("--enable-lora", "--max-num-batched-tokens", "8192", "--max-num-seqs", "256") + _EAGLE,
    decided_by=Decider.PARSER,
)
BUDGET = Rule(
    code="SD503",
    name="token-budget",
    severity=Severity.ERROR,
    title="A step can't hold the drafts",
    why="The engine refuses to start when max_num_batched_tokens leaves no room beside the tokens that the "
    "drafter adds: for every request that may run up to 0.27, for one from then on.",
    source="VllmConfig of vLLM 0.18 to 0.33",
    refused=_args("--max-num-batched-tokens", "8", "--max-num-seqs", "1") + _DFLASH,
    passed=_args("--max-num-batched-tokens", "9", "--max-num-seqs", "1") + _DFLASH,
    decided_by=Decider.PARSER,
)
LORA_TOKENS_BY_DEFAULT = Rule(
    code="SD512",
    name="lora-token-budget-by-default",
    severity=Severity.WARNING,
    title="With LoRA vLLM's default budget can't hold a full batch of drafts",
    why="vLLM compares what is in force, its own defaults too, and refuses to start. Some multimodal "
    "models raise the default of max_num_batched_tokens.",
    source="EngineArgs of vLLM 0.20 to 0.33",
    refused=_args("--enable-lora") + _EAGLE.replace("4", "16"),
    passed=_args("--enable-lora") + _EAGLE.replace("4", "15"),
)
DEFAULT_BUDGET = Rule(
    code="SD510",
    name="token-budget-by-default",
    severity=Severity.WARNING,
    title="vLLM's default budget can't hold the drafts of all requests",
    why="Up to 0.27 the drafts of every request that may run have to fit into max_num_batched_tokens, 8192 "
    "by default for 1024 requests; else the engine refuses to start. Some multimodal models raise the "
    "default.",
    source="VllmConfig and EngineArgs of vLLM 0.18 to 0.27",
    refused="engine: {vllmVersion: '0.27.1'}\n" + _DFLASH.replace("7", "15"),
    passed="engine: {vllmVersion: '0.28.0'}\n" + _DFLASH.replace("7", "15"),
)
FEWER_REQUESTS = Rule(
    code="SD504",
    name="fewer-requests-at-once",
    severity=Severity.WARNING,
    title="The drafter lowers the number of requests that run at once",
    why="vLLM sets max_num_active_seqs to max_num_batched_tokens / lookahead with a line in the log; the "
    "baseline keeps its own, and the difference shows as queueing.",
    source="vLLM 0.33: dflash and dspark",
    refused=_args("--max-num-batched-tokens", "4096") + _DFLASH,
    passed=_args("--max-num-batched-tokens", "4096", "--max-num-seqs", "256") + _DFLASH,
)


def _check_lora(candidate: Candidate) -> Iterator[Finding]:
    """On the GPU that leaves the most room, where it is not known which it is."""
    setting, tokens = candidate.setting, candidate.drafter.num_speculative_tokens
    batches = possible_batches(setting) if is_on(setting, "--enable-lora") else ()
    if not batches:
        return
    budget, requests = max(batches, key=lambda each: each[0] - each[1] * (tokens + 1))
    if budget < requests * (tokens + 1):
        rule = LORA_TOKENS if setting.flag("--max-num-batched-tokens") else LORA_TOKENS_BY_DEFAULT
        reason = f"max_num_batched_tokens {budget} is below {requests} requests x {tokens + 1} tokens"
        yield rule.at(candidate.path, reason, "raise --max-num-batched-tokens or lower --max-num-seqs")


def _check_budget(candidate: Candidate) -> Iterator[Finding]:
    budget, requests = batched_tokens(candidate.setting), sequences(candidate.setting)
    needed = needed_slots(candidate, requests or 1)
    if budget is not None and budget <= needed:
        rule = BUDGET if candidate.setting.flag("--max-num-batched-tokens") else DEFAULT_BUDGET
        lower = grows_with(candidate, requests or 1)
        each = (
            f", {needed // requests} for each of {requests} requests" if requests and _SEQS in lower else ""
        )
        reason = f"max_num_batched_tokens {budget} has no room beside {needed} that the drafter adds{each}"
        fix = ", or lower ".join(("raise --max-num-batched-tokens", *([" or ".join(lower)] if lower else [])))
        yield rule.at(candidate.path, reason, fix)
    elif limits_requests(candidate):
        yield from _check_requests(candidate, budget, requests)


def _check_requests(candidate: Candidate, budget: int | None, requests: int | None) -> Iterator[Finding]:
    if budget is None or requests is None or budget // lookahead(candidate) >= requests:
        return
    most = budget // lookahead(candidate)
    reason = f"at most {most} of {requests} requests run at once ({budget} tokens / {lookahead(candidate)})"
    yield FEWER_REQUESTS.at(
        candidate.path, reason, f"raise --max-num-batched-tokens or lower --max-num-seqs to {most}"
    )


FEWER_IN_GRAPHS = Rule(
    code="SD526",
    name="fewer-requests-in-graphs",
    severity=Severity.ADVICE,
    title="Graphs end below the requests that run at once with a drafter",
    why="A step verifies tokens + 1 tokens of each request, so graphs of one size cover fewer requests than "
    "without a drafter. Larger steps run without a graph of the whole step, in this arm alone.",
    source="VllmConfig of vLLM 0.32: uniform_decode_query_len, max_cudagraph_capture_size",
    refused=_args("--max-cudagraph-capture-size", "512", "--max-num-seqs", "128") + _DFLASH,
    passed=_args("--max-cudagraph-capture-size", "1024", "--max-num-seqs", "128") + _DFLASH,
)


def _check_graphs(candidate: Candidate) -> Iterator[Finding]:
    captured, requests = captured_tokens(candidate.setting), sequences(candidate.setting)
    width = candidate.drafter.num_speculative_tokens + 1
    if not captured or requests is None or requests * width <= captured:
        return
    reason = f"graphs of {captured} tokens hold {captured // width} of {requests} requests x {width} tokens"
    yield FEWER_IN_GRAPHS.at(
        candidate.path,
        reason,
        "raise --max-cudagraph-capture-size, or lower --max-num-seqs to what you serve",
    )


RULES: tuple[Rule, ...] = (
    LORA_TOKENS,
    BUDGET,
    LORA_TOKENS_BY_DEFAULT,
    DEFAULT_BUDGET,
    FEWER_REQUESTS,
    FEWER_IN_GRAPHS,
)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = ()
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (
    _check_lora,
    _check_budget,
    _check_graphs,
)
