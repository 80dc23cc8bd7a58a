"""Rules on vLLM's environment variables by release: does this vLLM know them?

The table is `tables.variables`.
"""

import difflib
import re
from collections.abc import Callable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.environment import OWNED
from specdeploy.engine.serving import is_on
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.tables import variables as table
from specdeploy.engine.versions import NEWEST, Span, beyond_tables

from .doubt import known

_SOURCE = "vllm/envs.py in vLLM's released sources, 0.18 to 0.33"
_STRICT = "--fail-on-environ-validation"

UNKNOWN = Rule(
    code="SD240",
    name="variable-unknown",
    severity=Severity.WARNING,
    title="vLLM knows no such variable",
    why="vLLM writes a warning into its log and goes on without what was meant.",
    source=_SOURCE,
    refused="engine: {env: [{name: VLLM_ROCM_USE_AITTER, value: '1'}]}",
    passed="engine: {env: [{name: VLLM_ROCM_USE_AITER, value: '1'}]}",
)
TOO_NEW = Rule(
    code="SD241",
    name="variable-too-new",
    severity=Severity.WARNING,
    title="The variable came with a newer vLLM than the image's",
    why="The older release does not look at it.",
    source=_SOURCE,
    refused="""\
engine: {image: 'vllm/vllm-openai-rocm:v0.24.0', env: [{name: VLLM_ROCM_USE_AITER_CUSTOM_AR, value: '1'}]}""",
    passed="""\
engine: {image: 'vllm/vllm-openai-rocm:v0.25.0', env: [{name: VLLM_ROCM_USE_AITER_CUSTOM_AR, value: '1'}]}""",
)
GONE = Rule(
    code="SD242",
    name="variable-gone",
    severity=Severity.WARNING,
    title="The image's vLLM no longer looks at the variable",
    why="It has no effect any more. Recipes go on naming variables for years.",
    source=_SOURCE,
    refused="engine: {env: [{name: VLLM_ATTENTION_BACKEND, value: TRITON_ATTN}]}",
    passed="engine: {attentionBackend: TRITON_ATTN}",
)
REFUSED = Rule(
    code="SD243",
    name="variable-refused",
    severity=Severity.ERROR,
    title="vLLM is told to refuse variables that it does not know",
    why="With --fail-on-environ-validation vLLM raises ValueError at the start on every VLLM_ variable that "
    "its release does not know.",
    source="vLLM's Platform.validate_environ",
    refused="""\
engine:
  args: [--fail-on-environ-validation]
  env: [{name: VLLM_ROCM_USE_AITTER, value: '1'}]""",
    passed="""\
engine:
  args: [--fail-on-environ-validation]
  env: [{name: VLLM_ROCM_USE_AITER, value: '1'}]""",
    decided_by=Decider.LATER,
)
NO_NUMBER = Rule(
    code="SD244",
    name="variable-not-a-number",
    severity=Severity.ERROR,
    title="vLLM reads the variable as a whole number",
    why="As an engine starts it reads every variable that its release knows, and another word than a number "
    "raises ValueError. A switch of this kind is 0 or 1, not false or true.",
    source=f"{_SOURCE}: int(os.getenv(...)); enable_envs_cache in v1/engine/core.py",
    refused="engine: {env: [{name: VLLM_MOE_USE_DEEP_GEMM, value: 'false'}]}",
    passed="engine: {env: [{name: VLLM_MOE_USE_DEEP_GEMM, value: '0'}]}",
)
_WHOLE = re.compile(r"\s*[-+]?\d+(_\d+)*\s*")


def _check_names(setting: Setting) -> Iterator[Finding]:
    strict = is_on(setting, _STRICT)
    for index, variable in enumerate(setting.spec.engine.env or []):
        name = variable.name
        span = table.SPANS.get(name)
        ours = name in OWNED or not name.startswith("VLLM_")
        if not ours and not (span and span.holds(setting.version)):
            rule, reason, fix = _missing(name, span, setting)
            yield (REFUSED if strict and _is_sure(setting) else rule).at(
                f"spec.engine.env[{index}]", reason, fix
            )


def _check_values(setting: Setting) -> Iterator[Finding]:
    for index, variable in enumerate(setting.spec.engine.env or []):
        # The kubelet fills $(NAME) in, and a variable without a value is an empty one.
        value = variable.value or ""
        told = variable.value_from is None and "$(" not in value
        if told and _is_whole(variable.name, setting) and not _WHOLE.fullmatch(value):
            reason = f"{variable.name} is {value!r:.40}, vLLM reads a whole number"
            yield known(setting, NO_NUMBER).at(
                f"spec.engine.env[{index}]", reason, "write a number; of a switch 0 or 1"
            )


def _is_whole(name: str, setting: Setting) -> bool:
    """Whether this release reads it, and as a whole number; what it does not know is told by its name."""
    span = table.SPANS.get(name)
    return name in table.WHOLE and name not in OWNED and span is not None and span.holds(setting.version)


def _missing(name: str, span: Span | None, setting: Setting) -> tuple[Rule, str, str]:
    version = setting.version or NEWEST
    fix = table.INSTEAD.get(name, "remove it")
    if span is None:
        known = name in table.INSTEAD
        near = difflib.get_close_matches(name, table.SPANS, n=1, cutoff=0.8)
        fix = f"write {near[0]} or remove it" if near and not known else fix
        reason = f"vLLM {version} does not know {name:.80}"
        return (GONE if known else UNKNOWN), reason, fix
    if span.is_ahead_of(version):
        return TOO_NEW, f"{name} came with vLLM {span.since}, the image has {version}", fix
    return GONE, f"{name} went with vLLM {span.until}, the image has {version}", fix


def _is_sure(setting: Setting) -> bool:
    """Whether the tables know all variables of this release."""
    return setting.version is not None and not beyond_tables(setting.version)


RULES: tuple[Rule, ...] = (UNKNOWN, TOO_NEW, GONE, REFUSED, NO_NUMBER)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (_check_names, _check_values)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = ()
