"""Rules on `num_speculative_tokens_per_batch_size`: a number of tokens for each size of the batch."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule, Severity
from specdeploy.engine.graphs import captures_whole_steps
from specdeploy.engine.kinds import SCHEDULE, rows_of
from specdeploy.engine.methods import Runner
from specdeploy.engine.runner import V2_DEFAULT, runner_of
from specdeploy.engine.setting import Candidate, Setting

KEY = "num_speculative_tokens_per_batch_size"
_D = "name: d, method: eagle3, model: org/draft, numSpeculativeTokens: 4"


def _example(rows: str, before: str = "") -> str:
    return f"{before}\ndrafters: [{{{_D}, options: {{{KEY}: {rows}}}}}]\n"


def _env(value: str) -> str:
    return f"engine: {{env: [{{name: VLLM_USE_V2_MODEL_RUNNER, value: '{value}'}}]}}"


ABOVE_TOKENS = Rule(
    code="SD430",
    name="schedule-above-the-tokens",
    severity=Severity.WARNING,
    title="A row asks for more than numSpeculativeTokens",
    why="vLLM drafts numSpeculativeTokens there and says nothing.",
    source="vLLM 0.32: build_dynamic_sd_schedule_lookup",
    refused=_example("[[1, 8, 5], [9, 64, 2]]"),
    passed=_example("[[1, 8, 4], [9, 64, 2]]"),
)
DATA_PARALLEL = Rule(
    code="SD431",
    name="schedule-with-data-parallelism",
    severity=Severity.WARNING,
    title="With data parallelism the schedule is ignored",
    why="Ranks could choose different numbers and hang, so vLLM drops the schedule with a line in the log.",
    source="vLLM issue 45963; VllmConfig of vLLM 0.32",
    refused=_example("[[1, 8, 4], [9, 64, 2]]", "engine: {args: [--data-parallel-size, '2']}"),
    passed=_example("[[1, 8, 4], [9, 64, 2]]"),
)
ZERO = Rule(
    code="SD432",
    name="zero-is-not-the-baseline",
    severity=Severity.ADVICE,
    title="Drafting nothing is not the same as no drafter",
    why="Weights, cache and wider graphs of the drafter stay: 6.6 to 21.6 % more time a token was "
    "measured, and a collapse of the throughput at the threshold on the V1 runner. The trial's baseline is "
    "a real one.",
    source="vLLM issue 49548",
    refused=_example("[[1, 8, 4], [9, 64, 0]]"),
    passed=_example("[[1, 8, 4], [9, 64, 1]]"),
)
GRAPHS = Rule(
    code="SD433",
    name="schedule-without-full-graphs",
    severity=Severity.WARNING,
    title="On the V1 runner a schedule turns full graphs off",
    why="vLLM captures the pieces between layers of attention alone, for this arm, with a line in the log; "
    "the baseline keeps graphs of whole steps.",
    source="VllmConfig of vLLM 0.29 to 0.33",
    refused=_example("[[1, 8, 4], [9, 64, 2]]", _env("0")),
    passed=_example("[[1, 8, 4], [9, 64, 2]]", _env("1")),
)


def _check_schedule(candidate: Candidate) -> Iterator[Finding]:
    rows = candidate.options.get(KEY)
    read = rows_of(rows)
    if read is None or not SCHEDULE.tolerates(rows):
        return
    field, tokens = f"{candidate.path}.options.{KEY}", candidate.drafter.num_speculative_tokens
    most = max(row[2] for row in read)
    if candidate.setting.parallel.data > 1:
        reason = "vLLM ignores it with data parallelism"
        yield DATA_PARALLEL.at(field, reason, "remove it or use tensor parallelism")
    elif _loses_graphs(candidate):
        reason = "on the V1 model runner this arm alone has no graphs of whole steps"
        yield GRAPHS.at(field, reason, "remove it, or what leads the drafter to V1")
    if most > tokens:
        reason = f"a row asks for {most}, numSpeculativeTokens is {tokens}"
        yield ABOVE_TOKENS.at(field, reason, "lower the row or raise numSpeculativeTokens")
    if any(row[2] == 0 for row in read):
        reason = "a row drafts nothing, which costs more than no drafter"
        yield ZERO.at(field, reason, "use 1, or compare with the baseline at that load")


def _loses_graphs(candidate: Candidate) -> bool:
    """Whether it is known to run on V1, with graphs that could be lost."""
    setting = candidate.setting
    on_v1 = V2_DEFAULT.holds(setting.version) and runner_of(candidate) is Runner.V1
    return on_v1 and captures_whole_steps(setting)


RULES: tuple[Rule, ...] = (ABOVE_TOKENS, DATA_PARALLEL, ZERO, GRAPHS)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = ()
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (_check_schedule,)
