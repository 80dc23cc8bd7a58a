"""Rules on a drafter with its target and the engine's switches; what can't be known is in `not_checkable`."""

from collections.abc import Callable, Iterator
from typing import Any

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.kinds import as_number, as_switch
from specdeploy.engine.methods import Runner
from specdeploy.engine.options import EAGLES
from specdeploy.engine.runner import behind, runner_of
from specdeploy.engine.serving import is_on, object_of
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.versions import between

_EAGLE = "drafters: [{name: d, method: eagle3, model: org/draft, numSpeculativeTokens: 4}]"
_NGRAM = "drafters: [{name: d, method: ngram, numSpeculativeTokens: 4}]"


def _args(*words: str) -> str:
    return f"engine: {{args: [{', '.join(repr(word) for word in words)}]}}\n"


NGRAM_ON_HYBRID = Rule(
    code="SD501",
    name="ngram-on-hybrid-targets",
    severity=Severity.WARNING,
    title="Method ngram on a target that keeps state instead of a cache",
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


FAST_PREFILL = Rule(
    code="SD505",
    name="fast-prefill",
    severity=Severity.ERROR,
    title="--kv-sharing-fast-prefill with a drafter that reads hidden states",
    why="Fast prefill skips what such drafters read; the engine refuses to start.",
    source="VllmConfig of vLLM 0.32",
    refused=_args("--kv-sharing-fast-prefill") + _EAGLE,
    passed=_args("--kv-sharing-fast-prefill") + _NGRAM,
    decided_by=Decider.PARSER,
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
    decided_by=Decider.PARSER,
)
LOGITS_PROCESSORS = Rule(
    code="SD507",
    name="logits-processors",
    severity=Severity.ERROR,
    title="Logits processors of your own with a drafter that can't have any",
    why="Up to 0.30 no runner has both, from 0.31 on V2 has. The parser takes it; the runner refuses it "
    "when it starts.",
    source="vLLM 0.20 to 0.33: build_logitsprocs, and VllmConfig's list of what V2 lacks",
    refused=_args("--logits-processors", "team.filters:NoDigits") + "drafters: [{name: d, method: eagle3, "
    "model: org/draft, numSpeculativeTokens: 7, options: {parallel_drafting: true}}]",
    passed=_args("--logits-processors", "team.filters:NoDigits") + _EAGLE,
    decided_by=Decider.LATER,
)
_NO_LOGITS_PROCESSORS = between(None, "0.31")


def _check_switches(candidate: Candidate) -> Iterator[Finding]:
    setting, method = candidate.setting, candidate.drafter.method
    if method in EAGLES and is_on(setting, "--kv-sharing-fast-prefill"):
        reason = f"{method} reads hidden states that --kv-sharing-fast-prefill leaves out"
        yield FAST_PREFILL.at(candidate.path, reason, "remove the argument or the drafter")
    if is_on(setting, "--async-scheduling") and behind(candidate):
        reason = "it can't be scheduled ahead, which --async-scheduling asks for"
        yield ASYNC.at(candidate.path, reason, "remove the argument or what keeps the drafter from it")
    early = _NO_LOGITS_PROCESSORS.holds(setting.version)
    if setting.flag("--logits-processors") and (early or runner_of(candidate) is Runner.V1):
        which = "before 0.31 vLLM" if early else "the V1 model runner"
        reason = f"{which} takes no --logits-processors beside a drafter"
        yield LOGITS_PROCESSORS.at(candidate.path, reason, "remove the argument or the drafter")


_WATERMARK = '{"algorithm": "dual_key_gumbel", "key": 7}'
WATERMARK = Rule(
    code="SD508",
    name="watermarks",
    severity=Severity.ERROR,
    title="Watermarks need sampled drafts, standard rejection and one token after another",
    why="The engine refuses to start with other drafters, and with an algorithm that marks no drafts "
    "(gumbel, the default) unless allow_target_only_watermarking says that they may go unmarked.",
    source="VllmConfig of vLLM 0.30 to 0.33",
    refused=_args("--watermark-config", _WATERMARK) + _EAGLE,
    passed=_args("--watermark-config", _WATERMARK, "--max-num-seqs", "64")
    + "drafters: [{name: d, method: eagle3, model: org/draft, numSpeculativeTokens: 4, "
    "options: {draft_sample_method: probabilistic}}]",
    decided_by=Decider.PARSER,
)
_WATERMARKED = ("mtp", "eagle", "eagle3", "dspark")


def _check_watermark(candidate: Candidate) -> Iterator[Finding]:
    if candidate.setting.flag("--watermark-config") is None:
        return
    options, config = candidate.options, object_of(candidate.setting, "--watermark-config")
    wrong = {
        f"method {candidate.drafter.method}": candidate.drafter.method not in _WATERMARKED,
        "parallel_drafting": candidate.drafter.method != "dspark"
        and as_switch(options.get("parallel_drafting")),
        "greedy drafts": options.get("draft_sample_method") != "probabilistic",
        "another rejection than standard": options.get("rejection_sample_method", "standard") != "standard",
        "an algorithm that marks no drafts": config is not None and _marks_no_drafts(config),
    }
    for what in (what for what, holds in wrong.items() if holds):
        fix = "remove --watermark-config, or use what watermarks work with"
        yield WATERMARK.at(candidate.path, f"--watermark-config does not work with {what}", fix)


def _marks_no_drafts(config: dict[str, Any]) -> bool:
    allowed = as_switch(config.get("allow_target_only_watermarking"))
    return config.get("algorithm", "gumbel") != "dual_key_gumbel" and not allowed


MIN_P = Rule(
    code="SD511",
    name="min-p-by-default",
    severity=Severity.ERROR,
    title="Every sampled request gets min_p, which vLLM refuses beside a drafter",
    why="Refused by policy: the engine starts, and its drafter's arm answers each request that is sampled "
    "and does not set min_p itself with HTTP 400. The baseline serves them.",
    source="SamplingParams of vLLM 0.20 to 0.33",
    refused=_args("--override-generation-config", '{"min_p": 0.05}') + _EAGLE,
    passed=_args("--override-generation-config", '{"min_p": 0.0}') + _EAGLE,
    decided_by=Decider.POLICY,
)


def _check_min_p(candidate: Candidate) -> Iterator[Finding]:
    defaults = object_of(candidate.setting, "--override-generation-config") or {}
    if (as_number(defaults.get("min_p")) or 0) > 0:
        reason = "--override-generation-config makes min_p a default, which vLLM refuses beside a drafter"
        yield MIN_P.at(candidate.path, reason, "remove min_p there, or the drafter")


UNSUPPORTED = Rule(
    code="SD509",
    name="argument-without-speculation",
    severity=Severity.WARNING,
    title="The argument's feature does not work with a drafter",
    why="Prompt embeddings and pooling are not supported beside speculation.",
    source="vLLM's feature matrix",
    refused=_args("--enable-prompt-embeds") + _EAGLE,
    passed=_EAGLE,
)


def _check_arguments(candidate: Candidate) -> Iterator[Finding]:
    setting = candidate.setting
    if is_on(setting, "--enable-prompt-embeds"):
        reason = "prompt embeddings don't work beside a drafter"
        yield UNSUPPORTED.at(candidate.path, reason, "remove the argument or the drafter")
    runner = setting.flag("--runner")
    if runner is not None and runner.value == "pooling":
        yield UNSUPPORTED.at(candidate.path, "a pooling engine drafts nothing", "remove the drafter")


RULES: tuple[Rule, ...] = (
    NGRAM_ON_HYBRID,
    FAST_PREFILL,
    ASYNC,
    LOGITS_PROCESSORS,
    WATERMARK,
    MIN_P,
    UNSUPPORTED,
)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = ()
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (
    _check_hybrid,
    _check_switches,
    _check_watermark,
    _check_min_p,
    _check_arguments,
)
