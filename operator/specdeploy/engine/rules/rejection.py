"""Rules on how drafts are sampled and rejected: what is lossy, what is a test hook, what costs memory."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine import options as table
from specdeploy.engine.kinds import as_switch, as_whole
from specdeploy.engine.methods import Runner
from specdeploy.engine.runner import V2_DEFAULT, runner_of
from specdeploy.engine.serving import sequences
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.versions import since

_D = "name: d, method: eagle3, model: org/draft"


def _example(options: str, tokens: int = 4, more: str = "") -> str:
    return f"drafters: [{{{_D}, numSpeculativeTokens: {tokens}{more}, options: {{{options}}}}}]\n"


SYNTHETIC = Rule(
    code="SD420",
    name="synthetic-acceptance",
    severity=Severity.ERROR,
    title="Synthetic acceptance makes answers up",
    why="Refused by policy: it accepts drafted tokens at a chosen rate, right or wrong, so users would "
    "read garbage at a speed that no real drafter has.",
    source="SpeculativeConfig of vLLM 0.32: a hook for benchmarks",
    refused=_example("rejection_sample_method: synthetic, synthetic_acceptance_length: 3"),
    passed=_example("rejection_sample_method: standard"),
    decided_by=Decider.POLICY,
)
LOSSY = Rule(
    code="SD421",
    name="lossy-rejection",
    severity=Severity.ERROR,
    title="The rejection method changes what users read",
    why="Refused by policy: fly lets some tokens pass that the target would not have written. A drafter "
    "has to say allowLossy: true for that.",
    source="SpeculativeConfig of vLLM 0.33: fly",
    refused=_example("rejection_sample_method: fly"),
    passed=_example("rejection_sample_method: fly", more=", allowLossy: true"),
    decided_by=Decider.POLICY,
)
FLY_WINDOW = Rule(
    code="SD422",
    name="fly-window",
    severity=Severity.ERROR,
    title="Method fly needs a window shorter than what is drafted, so at least two tokens",
    why="The engine refuses to start.",
    source="SpeculativeConfig of vLLM 0.33",
    refused=_example("rejection_sample_method: fly, fly_window_size: 4", more=", allowLossy: true"),
    passed=_example("rejection_sample_method: fly, fly_window_size: 3", more=", allowLossy: true"),
    decided_by=Decider.PARSER,
)
FLY_UNUSED = Rule(
    code="SD423",
    name="fly-option-without-fly",
    severity=Severity.WARNING,
    title="A key of fly without fly",
    why="It changes nothing.",
    source="SpeculativeConfig of vLLM 0.33",
    refused=_example("fly_entropy_top_k: 5"),
    passed=_example("fly_entropy_top_k: 5, rejection_sample_method: fly", more=", allowLossy: true"),
)
_FLY_KEYS = ("fly_window_size", "fly_entropy_threshold", "fly_entropy_top_k")


def _check_synthetic(candidate: Candidate) -> Iterator[Finding]:
    options = candidate.options
    given = [key for key in table.SYNTHETIC if key in options]
    if options.get("rejection_sample_method") == "synthetic":
        given.insert(0, "rejection_sample_method")
    for key in given:
        yield SYNTHETIC.at(
            _path(candidate, key), "synthetic acceptance makes the output garbage", "remove it"
        )


def _check_lossy(candidate: Candidate) -> Iterator[Finding]:
    method = candidate.options.get("rejection_sample_method")
    if method in table.LOSSY and not candidate.drafter.allow_lossy:
        reason = f"{method} changes what users read"
        fix = f"use standard or block, or say {candidate.path}.allowLossy: true"
        yield LOSSY.at(_path(candidate, "rejection_sample_method"), reason, fix)


def _check_fly(candidate: Candidate) -> Iterator[Finding]:
    options, tokens = candidate.options, candidate.drafter.num_speculative_tokens
    if options.get("rejection_sample_method") != "fly":
        for key in (key for key in _FLY_KEYS if key in options):
            yield FLY_UNUSED.at(
                _path(candidate, key), "it belongs to rejection_sample_method fly", "remove it"
            )
        return
    window = as_whole(options.get("fly_window_size"))
    if tokens < 2:
        reason = "rejection_sample_method fly needs at least 2 tokens"
        fix = "raise it or use another rejection method"
        yield FLY_WINDOW.at(f"{candidate.path}.numSpeculativeTokens", reason, fix)
    elif window is not None and window >= tokens:
        reason = f"it is {window}, not below numSpeculativeTokens {tokens}"
        yield FLY_WINDOW.at(_path(candidate, "fly_window_size"), reason, "lower it")


PROBABILISTIC_VOCABULARY = Rule(
    code="SD424",
    name="sampled-drafts-of-another-vocabulary",
    severity=Severity.ERROR,
    title="Drafts of another vocabulary can't be sampled",
    why="The engine refuses to start: use_heterogeneous_vocab works with greedy drafts alone.",
    source="SpeculativeConfig of vLLM 0.32",
    refused="drafters: [{name: d, method: draft_model, model: org/draft, numSpeculativeTokens: 4, "
    "options: {use_heterogeneous_vocab: true, draft_sample_method: probabilistic}}]",
    passed="drafters: [{name: d, method: draft_model, model: org/draft, numSpeculativeTokens: 4, "
    "options: {use_heterogeneous_vocab: true}}]",
    decided_by=Decider.PARSER,
)
PROBABILISTIC_ARGMAX = Rule(
    code="SD425",
    name="sampled-drafts-without-logits",
    severity=Severity.ERROR,
    title="Drafts can't be sampled from logits that are never gathered",
    why="The parser takes it; the V2 runner, which drafters have from 0.29 on, refuses it when it loads the "
    "drafter, after the weights of the target.",
    source="vLLM 0.32: the speculator's check of use_local_argmax_reduction",
    refused=_example("use_local_argmax_reduction: true, draft_sample_method: probabilistic"),
    passed=_example("use_local_argmax_reduction: true"),
    decided_by=Decider.LATER,
)
ARGMAX_VOCABULARY = Rule(
    code="SD427",
    name="another-vocabulary-without-logits",
    severity=Severity.ERROR,
    title="Another vocabulary needs logits that use_local_argmax_reduction never gathers",
    why="From 0.33 on the engine refuses to start.",
    source="SpeculativeConfig of vLLM 0.33",
    refused="drafters: [{name: d, method: draft_model, model: org/draft, numSpeculativeTokens: 4, "
    "options: {use_heterogeneous_vocab: true, use_local_argmax_reduction: true}}]",
    passed="drafters: [{name: d, method: draft_model, model: org/draft, numSpeculativeTokens: 4, "
    "options: {use_local_argmax_reduction: true}}]",
    decided_by=Decider.PARSER,
)
_ARGMAX_REFUSED = since("0.33")


def _check_vocabulary(candidate: Candidate) -> Iterator[Finding]:
    keys = ("use_heterogeneous_vocab", "use_local_argmax_reduction")
    both = all(as_switch(candidate.options.get(key)) for key in keys)
    if both and _ARGMAX_REFUSED.holds(candidate.setting.version):
        reason = f"it does not work with {keys[1]}"
        yield ARGMAX_VOCABULARY.at(_path(candidate, keys[0]), reason, "remove one of the two")


PROBABILISTIC_MEMORY = Rule(
    code="SD426",
    name="memory-of-sampled-drafts",
    severity=Severity.ADVICE,
    title="Sampled drafts keep logits for every request that may run",
    why="The engine reserves requests x tokens x vocabulary numbers: with 1024 requests, 7 tokens and a "
    "vocabulary of 150 000 about 2 GiB in BF16, which KV blocks lose.",
    source="SpeculativeConfig of vLLM 0.33: draft_sample_method",
    refused=_example("draft_sample_method: probabilistic"),
    passed="engine: {args: [--max-num-seqs, '128']}\n" + _example("draft_sample_method: probabilistic"),
)
_MANY_ROWS = 2048  # requests x tokens; below, a vocabulary of 150 000 takes less than 0.6 GiB


def _check_probabilistic(candidate: Candidate) -> Iterator[Finding]:
    options = candidate.options
    if options.get("draft_sample_method") != "probabilistic":
        return
    field = _path(candidate, "draft_sample_method")
    if as_switch(options.get("use_heterogeneous_vocab")):
        reason = "use_heterogeneous_vocab takes greedy drafts alone"
        yield PROBABILISTIC_VOCABULARY.at(field, reason, "remove one of the two")
    if as_switch(options.get("use_local_argmax_reduction")) and _drafts_on_v2(candidate):
        reason = "use_local_argmax_reduction never gathers the logits to sample from"
        yield PROBABILISTIC_ARGMAX.at(field, reason, "remove one of the two")
    requests, tokens = sequences(candidate.setting), candidate.drafter.num_speculative_tokens
    if requests is not None and requests * tokens > _MANY_ROWS and not _is_measured(candidate):
        reason = f"it reserves logits for {requests} requests x {tokens} tokens"
        yield PROBABILISTIC_MEMORY.at(field, reason, "lower --max-num-seqs to what you serve, in every arm")


def _drafts_on_v2(candidate: Candidate) -> bool:
    """Whether a model drafts on that runner: without one there are no logits to miss."""
    if candidate.drafter.method not in table.MODELS:
        return False
    return V2_DEFAULT.holds(candidate.setting.version) and runner_of(candidate) is Runner.V2


def _is_measured(candidate: Candidate) -> bool:
    """Whether the rules on memory know what the logits take, and speak where it is much."""
    target = candidate.setting.target
    return bool(candidate.setting.gpu and candidate.checkpoint and target and target.vocabulary)


def _path(candidate: Candidate, key: str) -> str:
    return f"{candidate.path}.options.{key}"


RULES: tuple[Rule, ...] = (
    SYNTHETIC,
    LOSSY,
    FLY_WINDOW,
    FLY_UNUSED,
    PROBABILISTIC_VOCABULARY,
    PROBABILISTIC_ARGMAX,
    PROBABILISTIC_MEMORY,
    ARGMAX_VOCABULARY,
)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = ()
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (
    _check_synthetic,
    _check_lossy,
    _check_fly,
    _check_probabilistic,
    _check_vocabulary,
)
