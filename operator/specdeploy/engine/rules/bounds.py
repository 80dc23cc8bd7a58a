"""Rules on numbers in engine.args: are they within their bounds? The table is `tables.bounds`."""

import math
from collections.abc import Callable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.flags import Flag
from specdeploy.engine.json_words import whole_in
from specdeploy.engine.serving import is_on
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.tables.bounds import BOUNDS, OF_MEDIA, Bound

from .doubt import graded, knows

OUT_OF_BOUNDS = Rule(
    code="SD232",
    name="number-out-of-bounds",
    severity=Severity.ERROR,
    title="The flag's number is none that vLLM takes",
    why="vLLM's configuration refuses it at the start.",
    source="the fields of vllm.config in vLLM 0.18, 0.32 and 0.33, with gt, ge, lt and le",
    refused="engine: {args: [--max-num-seqs, '-1']}",
    passed="engine: {args: [--max-num-seqs, '1', --max-model-len, '-1']}",
    decided_by=Decider.PARSER,
)

OUT_OF_BOUNDS_FOR_MEDIA = Rule(
    code="SD233",
    name="number-out-of-bounds-for-media",
    severity=Severity.WARNING,
    title="The flag's number is none that vLLM takes for a target that takes images or sound",
    why="vLLM's configuration of such a target refuses it at the start; that of others does not look at it.",
    source="MultiModalConfig of vLLM 0.18, 0.32 and 0.33",
    refused="engine: {args: [--mm-processor-cache-gb, '-1']}",
    passed="engine: {args: [--mm-processor-cache-gb, '0']}",
)


def _check_bounds(setting: Setting) -> Iterator[Finding]:
    for rule, table in ((OUT_OF_BOUNDS, BOUNDS), (OUT_OF_BOUNDS_FOR_MEDIA, OF_MEDIA)):
        for option, bound in table.items():
            if knows(setting, option) and (not bound.read or is_on(setting, bound.read)):
                yield from _outside(setting, rule, option, bound)


def _outside(setting: Setting, rule: Rule, option: str, bound: Bound) -> Iterator[Finding]:
    flag, in_force = setting.flag(option), graded(setting, rule, bound.span)
    number = _number(flag) if flag else None
    if flag and in_force and number is not None and not bound.holds(number):
        reason, fix = f"it is {flag.value}, not {bound.words}", f"make it {bound.words}"
        yield in_force.at(flag.path, reason, fix)


def _number(flag: Flag) -> float | None:
    """What it is set to; None where that is no number, which other rules are about."""
    text = flag.text
    if text is None:
        return None
    whole = whole_in(text)
    if whole is not None:
        return whole
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number


RULES: tuple[Rule, ...] = (OUT_OF_BOUNDS, OUT_OF_BOUNDS_FOR_MEDIA)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (_check_bounds,)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = ()
