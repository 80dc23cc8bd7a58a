"""Rules on the flags of engine.args by release: is there such a flag in this vLLM, and does it get its value?

The tables are in `tables.flags`, how the parser reads words in `parser`.
"""

import difflib
import re
from collections.abc import Callable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine import parser
from specdeploy.engine.arguments import OWNED, PARALLEL
from specdeploy.engine.flags import Flag, argument_path, is_flag
from specdeploy.engine.json_words import read_json, whole_in
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.tables import flags as table
from specdeploy.engine.tables import values
from specdeploy.engine.versions import ALWAYS, NEWEST

from .doubt import DOUBTFUL, is_of_the_project, known

_SOURCE = "the argument parser in vLLM's released sources, 0.18 to 0.33"

UNKNOWN = Rule(
    code="SD220",
    name="flag-unknown",
    severity=Severity.ERROR,
    title="vLLM has no such flag",
    why="The argument parser ends the engine at once, and the pod is started over and over.",
    source=_SOURCE,
    refused="engine: {args: [--max-model-length, '8192']}",
    passed="engine: {args: [--max-model-len, '8192']}",
    decided_by=Decider.PARSER,
)
TOO_NEW = Rule(
    code="SD221",
    name="flag-too-new",
    severity=Severity.ERROR,
    title="The flag came with a newer vLLM than the image's",
    why="The argument parser of the older release ends the engine at once.",
    source=_SOURCE,
    refused="engine: {image: 'vllm/vllm-openai-rocm:v0.31.0', args: [--custom-histogram-buckets, '{}']}",
    passed="engine: {image: 'vllm/vllm-openai-rocm:v0.32.0', args: [--custom-histogram-buckets, '{}']}",
    decided_by=Decider.PARSER,
)
GONE = Rule(
    code="SD222",
    name="flag-gone",
    severity=Severity.ERROR,
    title="The image's vLLM no longer has the flag",
    why="The argument parser ends the engine at once. Recipes go on naming flags for years.",
    source=f"{_SOURCE}; vllm-project/vllm#15466 for --speculative-model and --num-speculative-tokens",
    refused="engine: {args: [--num-speculative-tokens, '5']}",
    passed="drafters: [{name: n, method: ngram, numSpeculativeTokens: 5}]",
    decided_by=Decider.PARSER,
)
AMBIGUOUS = Rule(
    code="SD223",
    name="flag-ambiguous",
    severity=Severity.ERROR,
    title="The word is the beginning of several flags",
    why="A shortened flag works as long as it can mean only one; with the next release it may mean two.",
    source="Python's argparse",
    refused="engine: {args: [--max-num, '64']}",
    passed="engine: {args: [--max-num-seqs, '64']}",
    decided_by=Decider.PARSER,
)
STRAY = Rule(
    code="SD224",
    name="stray-word",
    severity=Severity.ERROR,
    title="A word belongs to no flag",
    why="A switch takes no value, and most flags take one. The parser ends the engine with what is left "
    "over.",
    source=f"{_SOURCE}: unrecognized arguments",
    refused="engine: {args: [--enable-expert-parallel, 'true']}",
    passed="engine: {args: [--enable-expert-parallel]}",
    decided_by=Decider.PARSER,
)
NO_VALUE = Rule(
    code="SD225",
    name="flag-without-a-value",
    severity=Severity.ERROR,
    title="The flag needs a value",
    why="The argument parser ends the engine at once: expected one argument.",
    source=_SOURCE,
    refused="engine: {args: [--max-num-seqs]}",
    passed="engine: {args: [--max-num-seqs, '64']}",
    decided_by=Decider.PARSER,
)
WRONG_VALUE = Rule(
    code="SD226",
    name="flag-with-a-wrong-value",
    severity=Severity.ERROR,
    title="The flag's value is not what it takes",
    why="The argument parser ends the engine at once: invalid value, or invalid choice.",
    source=_SOURCE,
    refused="engine: {args: [--max-num-seqs, many]}",
    passed="engine: {args: [--max-model-len, 16k, --dtype, bfloat16]}",
    decided_by=Decider.PARSER,
)
NO_OBJECT = Rule(
    code="SD229",
    name="flag-without-its-object",
    severity=Severity.ERROR,
    title="The flag's value is no object",
    why="The argument parser takes it, and vLLM's configuration, made right after it, does not.",
    source="vllm.config of vLLM 0.18, 0.32 and 0.33",
    refused="engine: {args: [--hf-overrides, yarn]}",
    passed="""engine: {args: [--hf-overrides, '{"rope_parameters": {"rope_type": "yarn"}}']}""",
    decided_by=Decider.PARSER,
)
DEPRECATED = Rule(
    code="SD228",
    name="flag-deprecated",
    severity=Severity.ADVICE,
    title="vLLM has announced that the flag will go",
    why="A later image will not start with it.",
    source="the warnings of vLLM 0.31 to 0.33",
    refused="engine: {args: [--disable-cascade-attn]}",
    passed="engine: {image: 'vllm/vllm-openai-rocm:v0.31.0', args: [--disable-cascade-attn]}",
)

_WHOLE = re.compile(r"\s*[-+]?\d+(_\d+)*\s*")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_whole(text: str) -> bool:
    return _WHOLE.fullmatch(text) is not None


def _is_suffixed(text: str) -> bool:
    return whole_in(text) is not None


def _is_length(text: str) -> bool:
    return _is_suffixed(text) or text.strip().lower() == "auto"


def _is_json(text: str) -> bool:
    try:
        read_json(text)
    except ValueError:
        return False
    return True


def _is_object(text: str) -> bool:
    return text.lstrip().startswith("{") and _is_json(text)


def _or_none(fits: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda text: text in _NONE or fits(text)


# How no value at all is written where that is one.
_NONE = ("", "None")
# For each kind of value: the flags that take it, whether a text is one, and what it is called.
_KINDS: tuple[tuple[frozenset[str], Callable[[str], bool], str], ...] = (
    (values.WHOLE, _is_whole, "a whole number"),
    (values.WHOLE_OR_NONE, _or_none(_is_whole), "a whole number"),
    (values.SUFFIXED, _or_none(_is_suffixed), "a whole number, such as 16384 or 16k"),
    (values.SUFFIXED_OR_AUTO, _or_none(_is_length), "a whole number, such as 16384 or 16k, or auto"),
    (values.NUMBER, _is_number, "a number"),
    (values.NUMBER_OR_NONE, _or_none(_is_number), "a number"),
    (values.JSON, _is_json, "JSON"),
    (values.JSON_OR_NONE, _or_none(_is_json), "JSON"),
    (values.OBJECT, _is_object, "an object in JSON"),
    (values.OBJECT_OR_NONE, _or_none(_is_object), "an object in JSON"),
)


def _check_names(setting: Setting) -> Iterator[Finding]:
    for flag in _of_the_user(setting):
        found = parser.matches(flag.name, setting.version)
        if not found:
            yield _missing(setting, flag)
        elif len(found) > 1:
            reason = f"{flag.name} can mean {' or '.join(found[:3])}"
            yield known(setting, AMBIGUOUS).at(flag.path, reason, "write the flag out")
        elif (span := table.DEPRECATED.get(found[0])) and span.holds(setting.version):
            reason = f"vLLM has announced that {found[0]} will go"
            yield DEPRECATED.at(flag.path, reason, table.INSTEAD[found[0]])


def _missing(setting: Setting, flag: Flag) -> Finding:
    """The finding on a flag that this release does not have."""
    path, version = flag.path, setting.version or NEWEST
    span = table.SPANS.get(flag.name)
    if flag.name in table.GONE_BEFORE:
        reason = f"vLLM {version} no longer has {flag.name}"
        return known(setting, GONE).at(path, reason, table.GONE_BEFORE[flag.name])
    if span and span.is_ahead_of(version):
        reason = f"{flag.name} came with vLLM {span.since}, the image has {version}"
        return known(setting, TOO_NEW).at(path, reason, "use a newer spec.engine.image or remove it")
    if span:
        reason = f"{flag.name} went with vLLM {span.until}, the image has {version}"
        return known(setting, GONE).at(path, reason, "remove it")
    reason = f"vLLM {version} has no flag {flag.name:.60}"
    rule = UNKNOWN if is_of_the_project(setting) else DOUBTFUL
    return known(setting, rule).at(path, reason, _suggestion(flag, setting))


def _check_values(setting: Setting) -> Iterator[Finding]:
    words = setting.spec.engine.args or []
    version = setting.version
    for index in parser.stray_words(words, version):
        switch = parser.follows_switch(words[: index + 1], version)
        reason = "a switch takes no value" if is_flag(words[index]) else f"no flag takes {words[index]!r:.60}"
        fix = "remove it" + ("; a switch is on by its name, off by its --no- form" if switch else "")
        yield known(setting, STRAY).at(argument_path(index), reason, fix)
    for flag in _of_the_user(setting):
        if any(flag.means(option) for option in PARALLEL):
            continue
        if parser.lacks_value(flag, version):
            reason = f"{flag.name} needs a value"
            yield known(setting, NO_VALUE).at(flag.path, reason, "add its value as the next item")
        elif flag.value is not None and (wanted := _wanted(flag, setting)):
            reason = f"{flag.name} is {flag.value!r:.40}"
            rule = NO_OBJECT if _is_taken_later(flag, setting) else WRONG_VALUE
            yield known(setting, rule).at(flag.path, reason, f"write {wanted}")


def _is_taken_later(flag: Flag, setting: Setting) -> bool:
    return not values.LATER.isdisjoint(parser.matches(flag.name, setting.version))


def _wanted(flag: Flag, setting: Setting) -> str | None:
    """What its value should be, if it is something else."""
    found = parser.matches(flag.name, setting.version)
    if flag.key or len(found) != 1:
        return None
    name, value = found[0], flag.value or ""
    for names, fits, wanted in _KINDS:
        if name in names and not fits(value):
            return wanted
    choices, closed = values.CHOICES.get(name, (frozenset[str](), ALWAYS))
    word = value.lower().replace("-", "_") if name in values.FOLDED else value
    if name in values.NUMBERS and _is_whole(value):
        word = str(int(value))
    if choices and word not in choices and closed.holds(setting.version):
        return " or ".join(sorted(choices, key=lambda word: (word.isdigit() and len(word), word)))
    return None


def _of_the_user(setting: Setting) -> Iterator[Flag]:
    """Flags that no other rule refuses: not ours, and no several words in one."""
    for flag in setting.flags:
        spaced = any(letter.isspace() for letter in flag.name)
        if flag.name != "--" and not spaced and not any(flag.means(option) for option in OWNED):
            yield flag


def _suggestion(flag: Flag, setting: Setting) -> str:
    near = difflib.get_close_matches(flag.name[:60], parser.options(setting.version), n=1, cutoff=0.75)
    return f"write {near[0]} or remove it" if near else "remove it"


RULES: tuple[Rule, ...] = (
    UNKNOWN,
    TOO_NEW,
    GONE,
    AMBIGUOUS,
    STRAY,
    NO_VALUE,
    WRONG_VALUE,
    NO_OBJECT,
    DOUBTFUL,
    DEPRECATED,
)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (_check_names, _check_values)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = ()
