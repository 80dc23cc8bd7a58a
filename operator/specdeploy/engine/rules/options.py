"""Rules on single keys of a drafter's options: known, in this release, of this method, with a value it takes.

Names of types and backends are in `words`; how keys go together is in `rejection`, `drafting` and `schedule`.
"""

import difflib
from collections.abc import Callable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine import options as table
from specdeploy.engine.kinds import Kind, as_switch
from specdeploy.engine.methods import NOT_TAKEN
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.versions import beyond_tables

_CONFIG = "SpeculativeConfig of vLLM 0.18 to 0.33"
_D = "name: d, method: eagle3, model: org/draft, numSpeculativeTokens: 4"


def _example(options: str, before: str = "") -> str:
    return f"{before}\ndrafters: [{{{_D}, options: {{{options}}}}}]\n"


OWN_FIELD = Rule(
    code="SD401",
    name="option-is-a-field",
    severity=Severity.ERROR,
    title="The key is a field of the drafter",
    why="Refused by policy: written twice, one would silently win, and the field is what is checked and "
    "shown.",
    source="SpecDeploy's own",
    refused=_example("num_speculative_tokens: 5"),
    passed=_example("max_model_len: 4096"),
    decided_by=Decider.POLICY,
)
UNKNOWN = Rule(
    code="SD402",
    name="unknown-option",
    severity=Severity.ERROR,
    title="vLLM's speculative config has no such key",
    why="The config forbids keys that it does not know: the engine refuses to start.",
    source=_CONFIG,
    refused=_example("max_model_length: 4096"),
    passed=_example("max_model_len: 4096"),
    decided_by=Decider.PARSER,
)
WRONG_VALUE = Rule(
    code="SD403",
    name="wrong-value",
    severity=Severity.ERROR,
    title="The key does not take this value",
    why="The engine refuses to start.",
    source=_CONFIG,
    refused=_example("draft_tensor_parallel_size: none"),
    passed=_example("draft_tensor_parallel_size: 1"),
    decided_by=Decider.PARSER,
)
LOOSE_VALUE = Rule(
    code="SD404",
    name="loosely-written-value",
    severity=Severity.WARNING,
    title="vLLM reads the value as something else than what is written",
    why="Its parser takes texts for numbers and for true or false, and null for absent. It starts; a reader, "
    "and another version, may see it differently.",
    source="pydantic's lax mode, in which vLLM 0.32 reads its config",
    refused=_example('draft_tensor_parallel_size: "1"'),
    passed=_example("draft_tensor_parallel_size: 1"),
)
TOO_YOUNG = Rule(
    code="SD405",
    name="option-too-young",
    severity=Severity.ERROR,
    title="The key, or its value, came after the image's vLLM",
    why="vLLM refuses what it does not know, so the engine would crash at every start.",
    source=_CONFIG,
    refused=_example("disable_eagle_block_drop: true", 'engine: {vllmVersion: "0.29.0"}'),
    passed=_example("disable_eagle_block_drop: true", 'engine: {vllmVersion: "0.30.0"}'),
    decided_by=Decider.PARSER,
)
IS_OVER = Rule(
    code="SD407",
    name="option-is-over",
    severity=Severity.ERROR,
    title="The key, or its value, is gone or renamed in the image's vLLM",
    why="vLLM refuses what it does not know, so the engine would crash at every start.",
    source=_CONFIG,
    refused=_example("rejection_sample_method: strict"),
    passed=_example("rejection_sample_method: standard"),
    decided_by=Decider.PARSER,
)
IGNORED = Rule(
    code="SD408",
    name="option-of-another-method",
    severity=Severity.WARNING,
    title="The key means nothing for this method",
    why="The engine starts and does as if it were not there.",
    source="SpeculativeConfig of vLLM 0.32",
    refused=_example("prompt_lookup_max: 4"),
    passed="drafters: [{name: d, method: ngram, numSpeculativeTokens: 4, options: {prompt_lookup_max: 8, "
    "prompt_lookup_min: 8}}]",
)
REFUSED_ELSEWHERE = Rule(
    code="SD409",
    name="option-only-of-another-method",
    severity=Severity.ERROR,
    title="vLLM refuses the key with this method",
    why="The engine refuses to start.",
    source="SpeculativeConfig of vLLM 0.32 and 0.33",
    refused=_example("index_share_for_mtp_iteration: true"),
    passed="model: Qwen/Qwen3.5-27B\ndrafters: [{name: d, method: mtp, numSpeculativeTokens: 4, "
    "options: {index_share_for_mtp_iteration: true}}]",
    decided_by=Decider.PARSER,
)
NEVER_RIGHT = Rule(
    code="SD410",
    name="option-never-right",
    severity=Severity.ERROR,
    title="vLLM has the key only to refuse it",
    why="tensor_parallel_size stands in the config to catch people who mean draft_tensor_parallel_size.",
    source="SpeculativeConfig of vLLM 0.18 to 0.33",
    refused=_example("tensor_parallel_size: 1"),
    passed=_example("draft_tensor_parallel_size: 1"),
    decided_by=Decider.PARSER,
)
HYPHENS = Rule(
    code="SD413",
    name="hyphens-in-a-key",
    severity=Severity.WARNING,
    title="The key is written with hyphens",
    why="vLLM reads them as underscores, so it works; written both ways, one of the two silently wins.",
    source="EngineArgs of vLLM 0.32",
    refused=_example("max-model-len: 4096"),
    passed=_example("max_model_len: 4096"),
)


def _check_spelling(candidate: Candidate) -> Iterator[Finding]:
    for key in (key for key in candidate.drafter.options or {} if "-" in key):
        read = key.replace("-", "_")
        yield HYPHENS.at(_path(candidate, key), f"vLLM reads it as {read}", f"write {read}")


def _check_known(candidate: Candidate) -> Iterator[Finding]:
    """Keys that have no place among the options of any drafter."""
    for key, value in candidate.options.items():
        field = _path(candidate, key)
        if key in table.FIELDS:
            yield _own_field(candidate, key, value)
        elif key in table.REFUSED:
            yield NEVER_RIGHT.at(field, *table.REFUSED[key])
        elif key not in table.OPTIONS and key not in table.SYNTHETIC and not _newer(candidate):
            yield UNKNOWN.at(field, "vLLM's speculative config has no such key", _suggestion(key))


def _own_field(candidate: Candidate, key: str, value: object) -> Finding:
    field = _path(candidate, key)
    row = NOT_TAKEN.get(value) if key == "method" and isinstance(value, str) else None
    if row is not None:
        return OWN_FIELD.at(field, f"{row.name} is not taken: {row.why}", row.instead)
    return OWN_FIELD.at(field, "it has a field of its own", f"use {candidate.path}.{table.FIELDS[key].name}")


def _check_values(candidate: Candidate) -> Iterator[Finding]:
    for key, value in candidate.options.items():
        option = table.OPTIONS.get(key)
        if option is None:
            continue
        release = _release(candidate, key, value)
        foreign = _foreign(candidate, key, option)
        if release:
            yield release
        if foreign:
            yield foreign
        kind = option.ignored if foreign and option.ignored else option.kind
        yield from _value(candidate, key, value, kind)


def _foreign(candidate: Candidate, key: str, option: table.Option) -> Finding | None:
    """What is wrong where the key belongs to other methods."""
    method = candidate.drafter.method
    if not option.methods or method in option.methods:
        return None
    rule = REFUSED_ELSEWHERE if method in option.refusing else IGNORED
    if rule is REFUSED_ELSEWHERE and _is_default(candidate.options[key], option):
        return None
    reason = f"it belongs to method {' or '.join(option.methods)}, this is {method}"
    return rule.at(_path(candidate, key), reason, "remove it")


def _release(candidate: Candidate, key: str, value: object) -> Finding | None:
    """What is wrong with the release for the key, or for its value where values come and go."""
    version, values = candidate.setting.version, table.VALUES.get(key, {})
    spans = [
        table.OPTIONS[key].span,
        *([values[value]] if isinstance(value, str) and value in values else []),
    ]
    field = _path(candidate, key)
    for span in spans:
        if span.is_over_in(version):
            fix = f"write {span.now}" if span.now else "remove it"
            return IS_OVER.at(field, f"it ended with vLLM {span.until}, {_image(candidate)}", fix)
        if span.is_ahead_of(version):
            reason = f"it came with vLLM {span.since}, {_image(candidate)}"
            return TOO_YOUNG.at(field, reason, "use a newer spec.engine.image or remove it")
    return None


def _is_default(value: object, option: table.Option) -> bool:
    """Whether it says what holds without it, so that nothing is refused."""
    return value is None or (as_switch(value) is False and option.default == "false")


def _value(candidate: Candidate, key: str, value: object, kind: Kind) -> Iterator[Finding]:
    field = _path(candidate, key)
    if kind.accepts(value) or (key == "rejection_sample_method" and value == "synthetic"):
        return  # the latter is `rejection`'s to refuse
    if key == "rejection_sample_method" and _newer(candidate):
        return
    elif value is None and table.OPTIONS[key].nullable:
        yield LOOSE_VALUE.at(field, "it is null, which vLLM reads as absent", "remove it")
    elif kind.tolerates(value):
        reason = f"it is {_shown(value)}, which vLLM reads as {kind.wanted}"
        yield LOOSE_VALUE.at(field, reason, f"write {kind.wanted}")
    else:
        yield WRONG_VALUE.at(field, f"it is {_shown(value)}", f"write {kind.wanted}")


def _newer(candidate: Candidate) -> bool:
    """Whether an engine newer than the tables may know what they don't."""
    return beyond_tables(candidate.setting.version)


def _path(candidate: Candidate, key: str) -> str:
    return f"{candidate.path}.options.{key}"


def _image(candidate: Candidate) -> str:
    version = candidate.setting.version
    return f"the image has {version}" if version else "the rules for the newest release apply"


def _shown(value: object) -> str:
    return "null" if value is None else f"{value!r:.60}"


def _suggestion(key: str) -> str:
    near = difflib.get_close_matches(key, table.OPTIONS, n=1)
    return f"write {near[0]} or remove it" if near else "remove it"


RULES: tuple[Rule, ...] = (
    OWN_FIELD,
    UNKNOWN,
    WRONG_VALUE,
    LOOSE_VALUE,
    TOO_YOUNG,
    IS_OVER,
    IGNORED,
    REFUSED_ELSEWHERE,
    NEVER_RIGHT,
    HYPHENS,
)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = ()
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (
    _check_spelling,
    _check_known,
    _check_values,
)
