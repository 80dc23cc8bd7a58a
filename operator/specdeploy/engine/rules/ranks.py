"""Rules on parallel sizes beside one another, and on heads that ranks share."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.serving import size_of
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.together import decode_context
from specdeploy.engine.versions import LATELY

from .doubt import graded

RANKS = Rule(
    code="SD169",
    name="ranks-that-do-not-fit",
    severity=Severity.ERROR,
    title="A parallel size does not fit into the one that it divides, or the target's heads",
    why="vLLM's configuration refuses it at the start: decode context parallelism shares the ranks of tensor "
    "and prefill context parallelism, and among them those that hold the same key-value head; local data "
    "parallel ranks are some of all.",
    source="ParallelConfig and ModelConfig.verify_with_parallel_config of vLLM 0.18, 0.32 and 0.33",
    refused="model: deepseek-ai/DeepSeek-V3.2\naccelerator: {count: 8}\ndrafters: []\n"
    "engine: {args: [--decode-context-parallel-size, '3']}",
    passed="model: deepseek-ai/DeepSeek-V3.2\naccelerator: {count: 8}\ndrafters: []\n"
    "engine: {args: [--decode-context-parallel-size, '4']}",
    decided_by=Decider.PARSER,
)
_CONTEXT = "--decode-context-parallel-size"
_LOCAL = "--data-parallel-size-local"


def _check_context(setting: Setting) -> Iterator[Finding]:
    """Decode context parallelism beside the ranks that it shares."""
    sizes, parts = setting.parallel, decode_context(setting)
    tensor, prefill = sizes.tensor, sizes.prefill_context
    if prefill == 1 and tensor % parts:
        reason = f"{tensor} tensor parallel ranks are not divisible by {parts}"
        yield RANKS.at(setting.place_of(_CONTEXT), reason, "use a divisor of the tensor parallel size")
    rule, whole = graded(setting, RANKS, LATELY), tensor * prefill
    if rule and prefill > 1 and parts not in (1, prefill, whole):
        reason = f"{parts} parts are neither all {whole} ranks nor the {prefill} that share a prefill"
        yield rule.at(setting.place_of(_CONTEXT), reason, f"use 1, {prefill} or {whole}")


def _check_heads(setting: Setting) -> Iterator[Finding]:
    """Decode context parallelism where every rank has key-value heads of its own."""
    target, tensor, parts = setting.as_published, setting.parallel.tensor, decode_context(setting)
    if parts == 1 or target is None or not target.config or target.attention != "gqa":
        return
    heads, all_heads = target.kv_heads, target.heads
    if heads is None or all_heads is None:
        return
    copies, sharing = tensor // heads, all_heads // heads
    if tensor <= heads:
        reason = f"each of {tensor} tensor parallel ranks has key-value heads of its own ({heads} in all)"
        yield RANKS.at(setting.place_of(_CONTEXT), reason, "remove it, or use more ranks than heads")
    elif parts > copies or sharing % parts:
        reason = f"{parts} parts, where {copies} ranks have the same key-value head for {sharing} heads"
        yield RANKS.at(setting.place_of(_CONTEXT), reason, "use a divisor of both")


def _check_local(setting: Setting) -> Iterator[Finding]:
    here, ranks = size_of(setting, _LOCAL), setting.parallel.data
    if here is not None and here > ranks:
        reason = f"{here} local ranks are more than all {ranks}"
        yield RANKS.at(setting.place_of(_LOCAL), reason, "set --data-parallel-size, or remove it")


RULES: tuple[Rule, ...] = (RANKS,)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (
    _check_context,
    _check_heads,
    _check_local,
)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = ()
