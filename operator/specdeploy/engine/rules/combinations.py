"""Rules on a drafter with its target and the engine's arguments; what can't be known is in "
"`not_checkable`."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule, Severity
from specdeploy.engine.kinds import as_switch
from specdeploy.engine.methods import Runner
from specdeploy.engine.options import EAGLES
from specdeploy.engine.runner import runner_of
from specdeploy.engine.serving import batched_tokens, is_on, sequences, size_of
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.slots import limits_requests, lookahead, needed_slots
from specdeploy.engine.versions import since

_EAGLE = "drafters: [{name: d, method: eagle3, model: org/draft, numSpeculativeTokens: 4}]"
_NGRAM = "drafters: [{name: d, method: ngram, numSpeculativeTokens: 4}]"
_DFLASH = "drafters: [{name: d, method: dflash, model: org/draft, numSpeculativeTokens: 7}]"


def _args(*words: str) -> str:
    return f"engine: {{args: [{', '.join(repr(word) for word in words)}]}}\n"


NGRAM_ON_HYBRID = Rule(
    code="SD501",
    name="ngram-on-hybrid-targets",
    severity=Severity.WARNING,
    title="ngram on a target that keeps state instead of a cache",
    why="On targets with gated delta nets or Mamba layers its answers were corrupted.",
    source="vLLM issue 39273",
    refused="model: Qwen/Qwen3.5-27B\n" + _NGRAM,
    passed="model: Qwen/Qwen3-8B\n" + _NGRAM,
)


def _check_hybrid(candidate: Candidate) -> Iterator[Finding]:
    target = candidate.setting.target
    if candidate.drafter.method == "ngram" and target is not None and target.attention == "hybrid":
        reason = f"{target.model} is hybrid, on which ngram corrupted answers"
        yield NGRAM_ON_HYBRID.at(f"{candidate.path}.method", reason, "use mtp or a trained drafter")


LORA_TOKENS = Rule(
    code="SD502",
    name="lora-token-budget",
    severity=Severity.ERROR,
    title="With LoRA a step must hold a full batch of drafts",
    why="max_num_batched_tokens must be at least max_num_seqs x (tokens + 1); else the engine refuses to "
    "start.",
    source="EngineArgs of vLLM 0.32",
    refused=_args("--enable-lora", "--max-num-batched-tokens", "4096") + _EAGLE,
    passed=_args("--enable-lora", "--max-num-batched-tokens", "8192", "--max-num-seqs", "256") + _EAGLE,
)
BUDGET = Rule(
    code="SD503",
    name="token-budget",
    severity=Severity.ERROR,
    title="A step can't hold the drafts",
    why="The engine refuses to start when max_num_batched_tokens leaves no room beside the drafted "
    "tokens: of "
    "every request that may run up to 0.27, of one from then on.",
    source="VllmConfig of vLLM 0.18 to 0.33",
    refused=_args("--max-num-batched-tokens", "8", "--max-num-seqs", "1") + _DFLASH,
    passed=_args("--max-num-batched-tokens", "9", "--max-num-seqs", "1") + _DFLASH,
)
DEFAULT_BUDGET = Rule(
    code="SD510",
    name="token-budget-by-default",
    severity=Severity.WARNING,
    title="vLLM's default budget can't hold the drafts of all requests",
    why="Up to 0.27 the drafts of every request that may run have to fit into max_num_batched_tokens, "
    "8192 by "
    "default for 1024 requests; else the engine refuses to start. Some multimodal models raise the default.",
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
    "baseline "
    "keeps its own, and the difference shows as queueing.",
    source="vLLM 0.33: dflash and dspark",
    refused=_args("--max-num-batched-tokens", "4096") + _DFLASH,
    passed=_args("--max-num-batched-tokens", "4096", "--max-num-seqs", "256") + _DFLASH,
)


def _check_lora(candidate: Candidate) -> Iterator[Finding]:
    setting, tokens = candidate.setting, candidate.drafter.num_speculative_tokens
    given, requests = size_of(setting, "--max-num-batched-tokens"), sequences(setting)
    if not is_on(setting, "--enable-lora") or given is None or requests is None:
        return
    if given < requests * (tokens + 1):
        reason = f"max_num_batched_tokens {given} is below {requests} requests x {tokens + 1} tokens"
        yield LORA_TOKENS.at(candidate.path, reason, "raise --max-num-batched-tokens or lower --max-num-seqs")


def _check_budget(candidate: Candidate) -> Iterator[Finding]:
    budget, requests = batched_tokens(candidate.setting), sequences(candidate.setting)
    needed = needed_slots(candidate, requests or 1)
    if budget is not None and budget <= needed:
        rule = BUDGET if candidate.setting.flag("--max-num-batched-tokens") else DEFAULT_BUDGET
        reason = f"max_num_batched_tokens {budget} has no room beside {needed} drafted tokens"
        fix = "raise --max-num-batched-tokens, or lower numSpeculativeTokens or --max-num-seqs"
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


FAST_PREFILL = Rule(
    code="SD505",
    name="fast-prefill",
    severity=Severity.ERROR,
    title="--kv-sharing-fast-prefill with a drafter that reads hidden states",
    why="Fast prefill skips what such drafters read; the engine refuses to start.",
    source="VllmConfig of vLLM 0.32",
    refused=_args("--kv-sharing-fast-prefill") + _EAGLE,
    passed=_args("--kv-sharing-fast-prefill") + _NGRAM,
)
ASYNC = Rule(
    code="SD506",
    name="async-scheduling",
    severity=Severity.ERROR,
    title="--async-scheduling with a drafter that can't be scheduled ahead",
    why="Unsaid, vLLM turns it off for such a drafter; asked for, the engine refuses to start.",
    source="VllmConfig of vLLM 0.18 to 0.33",
    refused=_args("--async-scheduling") + "drafters: [{name: d, method: eagle3, model: org/draft, "
    "numSpeculativeTokens: 4, options: {parallel_drafting: true, disable_padded_drafter_batch: true}}]",
    passed=_args("--async-scheduling") + _EAGLE,
)
LOGITS_PROCESSORS = Rule(
    code="SD507",
    name="logits-processors",
    severity=Severity.ERROR,
    title="Logits processors of your own with a drafter on the V1 runner",
    why="The parser takes it; the runner refuses it when it starts.",
    source="vLLM 0.32: build_logitsprocs",
    refused=_args("--logits-processors", "team.filters:NoDigits") + "drafters: [{name: d, method: eagle3, "
    "model: org/draft, numSpeculativeTokens: 7, options: {parallel_drafting: true}}]",
    passed=_args("--logits-processors", "team.filters:NoDigits") + _EAGLE,
)
# From here on only the V1 runner can't schedule ahead.
_V1_ALONE = since("0.33")


def _check_switches(candidate: Candidate) -> Iterator[Finding]:
    setting, method = candidate.setting, candidate.drafter.method
    if method in EAGLES and is_on(setting, "--kv-sharing-fast-prefill"):
        reason = f"{method} reads hidden states that --kv-sharing-fast-prefill leaves out"
        yield FAST_PREFILL.at(candidate.path, reason, "remove the argument or the drafter")
    if is_on(setting, "--async-scheduling") and _is_behind(candidate):
        reason = "it can't be scheduled ahead, which --async-scheduling asks for"
        yield ASYNC.at(candidate.path, reason, "remove the argument or what keeps the drafter from it")
    if setting.flag("--logits-processors") and runner_of(candidate) is Runner.V1:
        reason = "the V1 runner takes no --logits-processors beside a drafter"
        yield LOGITS_PROCESSORS.at(candidate.path, reason, "remove the argument or the drafter")


def _is_behind(candidate: Candidate) -> bool:
    """Whether its steps can't be scheduled before the one before has ended."""
    if _V1_ALONE.holds(candidate.setting.version) and runner_of(candidate) is not Runner.V1:
        return False
    looked_up = candidate.drafter.method in ("ngram", "suffix")
    return looked_up or bool(as_switch(candidate.options.get("disable_padded_drafter_batch")))


_WATERMARK = '{"algorithm": "dual_key_gumbel", "key": 7}'
WATERMARK = Rule(
    code="SD508",
    name="watermarks",
    severity=Severity.ERROR,
    title="Watermarks need sampled drafts, standard rejection and one token after another",
    why="The engine refuses to start with other drafters.",
    source="VllmConfig of vLLM 0.32",
    refused=_args("--watermark-config", _WATERMARK) + _EAGLE,
    passed=_args("--watermark-config", _WATERMARK, "--max-num-seqs", "64")
    + "drafters: [{name: d, method: eagle3, model: org/draft, numSpeculativeTokens: 4, "
    "options: {draft_sample_method: probabilistic}}]",
)
_WATERMARKED = ("mtp", "eagle", "eagle3", "dspark")


def _check_watermark(candidate: Candidate) -> Iterator[Finding]:
    if candidate.setting.flag("--watermark-config") is None:
        return
    options = candidate.options
    wrong = {
        f"method {candidate.drafter.method}": candidate.drafter.method not in _WATERMARKED,
        "parallel_drafting": candidate.drafter.method != "dspark"
        and as_switch(options.get("parallel_drafting")),
        "greedy drafts": options.get("draft_sample_method") != "probabilistic",
        "another rejection than standard": options.get("rejection_sample_method", "standard") != "standard",
    }
    for what in (what for what, holds in wrong.items() if holds):
        fix = "remove --watermark-config, or use what watermarks work with"
        yield WATERMARK.at(candidate.path, f"--watermark-config does not work with {what}", fix)


UNSUPPORTED = Rule(
    code="SD509",
    name="argument-without-speculation",
    severity=Severity.WARNING,
    title="An argument for what does not work with a drafter",
    why="Prompt embeddings and pooling are not supported beside speculation, and sleep mode with speculation "
    "crashed on MI250.",
    source="vLLM's feature matrix; vLLM issue 47548 for sleep mode",
    refused=_args("--enable-sleep-mode") + _EAGLE,
    passed=_EAGLE,
)
_FLAGS: dict[str, str] = {
    "--enable-prompt-embeds": "prompt embeddings don't work beside a drafter",
    "--enable-sleep-mode": "an engine with a drafter crashed when it slept",
}


def _check_arguments(candidate: Candidate) -> Iterator[Finding]:
    setting = candidate.setting
    for reason in (reason for flag, reason in _FLAGS.items() if is_on(setting, flag)):
        yield UNSUPPORTED.at(candidate.path, reason, "remove the argument or the drafter")
    runner = setting.flag("--runner")
    if runner is not None and runner.value == "pooling":
        yield UNSUPPORTED.at(candidate.path, "a pooling engine drafts nothing", "remove the drafter")


RULES: tuple[Rule, ...] = (
    NGRAM_ON_HYBRID,
    LORA_TOKENS,
    BUDGET,
    DEFAULT_BUDGET,
    FEWER_REQUESTS,
    FAST_PREFILL,
    ASYNC,
    LOGITS_PROCESSORS,
    WATERMARK,
    UNSUPPORTED,
)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = ()
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (
    _check_hybrid,
    _check_lora,
    _check_budget,
    _check_switches,
    _check_watermark,
    _check_arguments,
)
