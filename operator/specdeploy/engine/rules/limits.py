"""Rules on numbers of engine.args beside one another: one is at most another, as given or by default."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.graphs import captured_tokens, given_sizes, without_graphs
from specdeploy.engine.json_words import whole_in
from specdeploy.engine.serving import batched_tokens, is_on, possible_batches, prefills_whole, size_of
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.together import prefetches
from specdeploy.engine.versions import ALWAYS, LATELY, Span

from .doubt import graded, known

ABOVE_ANOTHER = Rule(
    code="SD238",
    name="number-above-another",
    severity=Severity.ERROR,
    title="The flag's number is above another one that limits it",
    why="vLLM's configuration refuses it at the start. A limit that is not given is vLLM's default, or the "
    "target's context.",
    source="SchedulerConfig, LoRAConfig and OffloadConfig of vLLM 0.18, 0.32 and 0.33",
    refused="engine: {args: [--enable-lora, --max-loras, '4', --max-cpu-loras, '2']}",
    passed="engine: {args: [--enable-lora, --max-loras, '4', --max-cpu-loras, '8']}",
    decided_by=Decider.PARSER,
)
GRAPH_SIZES = Rule(
    code="SD239",
    name="graph-sizes-that-differ",
    severity=Severity.ERROR,
    title="The sizes of graphs are none, or do not go together",
    why="vLLM captures up to the largest size that fits a step, and refuses another limit beside a list, an "
    "empty list, and a limit of 0 where graphs are not off.",
    source="VllmConfig of vLLM 0.18, 0.32 and 0.33: _set_cudagraph_sizes",
    refused="engine: {args: [--max-cudagraph-capture-size, '64', --cudagraph-capture-sizes, '1', '2']}",
    passed="engine: {args: [--max-cudagraph-capture-size, '2', --cudagraph-capture-sizes, '1', '2']}",
    decided_by=Decider.PARSER,
)

Size = Callable[[Setting], int | None]


@dataclass(frozen=True)
class Limit:
    """One row: a number and the most that it may be, each by a name and as it is in force (None: unknown).

    `when`: whether vLLM compares them.
    """

    name: str
    number: Size
    limit: str
    most: Size
    when: Callable[[Setting], bool] = lambda _: True
    span: Span = ALWAYS


def _given(flag: str, otherwise: int | None = None) -> Size:
    def size(setting: Setting) -> int | None:
        return size_of(setting, flag) if setting.flag(flag) else otherwise

    return size


def _most_requests(setting: Setting) -> int | None:
    """max_num_seqs on the GPU that has the most, where it is not known which it is."""
    return max((requests for _, requests in possible_batches(setting)), default=None)


def _longest(setting: Setting) -> int | None:
    """max_model_len where that is sure: as given, or by the target's config.json."""
    if setting.flag("--max-model-len"):
        return size_of(setting, "--max-model-len")
    target = setting.as_published
    return target.context if target and target.config else None


LIMITS: tuple[Limit, ...] = (
    Limit(
        "max_model_len",
        _longest,
        "--max-num-batched-tokens, without chunked prefill",
        _given("--max-num-batched-tokens"),
        prefills_whole,
    ),
    Limit(
        "--max-num-active-seqs",
        _given("--max-num-active-seqs"),
        "--max-num-seqs",
        _most_requests,
    ),
    Limit(
        "--long-prefill-token-threshold",
        _given("--long-prefill-token-threshold"),
        "max_model_len",
        _longest,
        span=LATELY,
    ),
    Limit(
        "--max-loras",
        _given("--max-loras", 1),
        "--max-cpu-loras",
        lambda setting: size_of(setting, "--max-cpu-loras") or None,  # 0 is read as absent
        lambda setting: is_on(setting, "--enable-lora"),
    ),
    Limit(
        "--data-parallel-rank",
        _given("--data-parallel-rank"),
        "--data-parallel-size less 1",
        lambda setting: setting.parallel.data - 1,
        lambda setting: setting.parallel.data > 1,
    ),
    Limit(
        "--offload-num-in-group",
        _given("--offload-num-in-group", 1),
        "--offload-group-size",
        _given("--offload-group-size", 0),
        prefetches,
    ),
)


def _check_limits(setting: Setting) -> Iterator[Finding]:
    for row in LIMITS:
        number, most, rule = row.number(setting), row.most(setting), graded(setting, ABOVE_ANOTHER, row.span)
        if rule and number is not None and most is not None and number > most and row.when(setting):
            reason = f"{row.name} {number} is above {most} of {row.limit}"
            yield rule.at(_field(setting, row), reason, "lower the one or raise the other")


def _field(setting: Setting, row: Limit) -> str:
    return setting.place_of(*(name.partition(",")[0].partition(" ")[0] for name in (row.name, row.limit)))


def _check_graphs(setting: Setting) -> Iterator[Finding]:
    if without_graphs(setting):
        return
    sizes, limit, tokens = given_sizes(setting), captured_tokens(setting), batched_tokens(setting)
    if sizes is not None and not sizes:
        yield _graphs(setting, "the list of graph sizes is empty", "remove it, or add --enforce-eager")
    elif limit == 0 or _is_negative(setting):
        yield _graphs(setting, "graphs of fewer than 1 token are none", "remove it, or add --enforce-eager")
    elif sizes and limit is not None:
        fitting = [size for size in sizes if tokens is None or size <= tokens]
        largest = max(fitting, default=0)
        if limit != largest and (tokens is not None or limit != max(sizes)):
            reason = f"graphs are limited to {limit} tokens, the largest of the sizes is {largest}"
            yield _graphs(setting, reason, "keep one of the two")


def _is_negative(setting: Setting) -> bool:
    flag = setting.flag("--max-cudagraph-capture-size")
    return flag is not None and (whole_in(flag.text or "") or 0) < 0


def _graphs(setting: Setting, reason: str, fix: str) -> Finding:
    options = ("--max-cudagraph-capture-size", "--cudagraph-capture-sizes", "--compilation-config")
    return known(setting, GRAPH_SIZES).at(setting.place_of(*options), reason, fix)


RULES: tuple[Rule, ...] = (ABOVE_ANOTHER, GRAPH_SIZES)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (_check_limits, _check_graphs)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = ()
