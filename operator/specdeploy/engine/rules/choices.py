"""Rules on words in engine.args: are they in vLLM's lists, and in those of this release?

Words of flags, and of keys in their objects: the table is `tables.words`. Words that no release has where the
list is the same in all are in `flags`.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.flags import Flag
from specdeploy.engine.json_words import object_in
from specdeploy.engine.serving import is_on, object_of
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.tables.words import WORDS, Words
from specdeploy.engine.versions import NEWEST

from .doubt import DOUBTFUL, is_of_the_project, known, read

_SOURCE = "the lists and registries of words in vLLM 0.18, 0.32 and 0.33"

UNKNOWN_WORD = Rule(
    code="SD234",
    name="word-unknown-in-an-argument",
    severity=Severity.ERROR,
    title="vLLM's list for this flag, or for this key of its object, does not have the word",
    why="vLLM looks the word up as it reads its arguments, or before it starts its engine, and ends.",
    source=_SOURCE,
    refused="engine: {args: [--enable-auto-tool-choice, --tool-call-parser, qwen3_codr]}",
    passed="engine: {args: [--enable-auto-tool-choice, --tool-call-parser, qwen3_coder]}",
    decided_by=Decider.PARSER,
)
WORD_OF_ANOTHER_RELEASE = Rule(
    code="SD235",
    name="word-of-another-release",
    severity=Severity.ERROR,
    title="The word is of a newer or an older vLLM than the image's",
    why="vLLM looks the word up as it reads its arguments, or before it starts its engine, and ends.",
    source=_SOURCE,
    refused="engine: {image: 'vllm/vllm-openai-rocm:v0.32.0', args: [--all2all-backend, mori]}",
    passed="engine: {image: 'vllm/vllm-openai-rocm:v0.32.0', args: [--all2all-backend, mori_low_latency]}",
    decided_by=Decider.PARSER,
)
UNSIGNED_OP = Rule(
    code="SD236",
    name="custom-op-without-a-sign",
    severity=Severity.ERROR,
    title="The words in custom_ops do not say what is on and what is off",
    why="vLLM takes all or none, and names after a + or a -; it refuses others at the start.",
    source="CompilationConfig of vLLM 0.18, 0.32 and 0.33: custom_ops",
    refused="""engine: {args: [--compilation-config, '{"custom_ops": ["rms_norm"]}']}""",
    passed="""engine: {args: [--compilation-config, '{"custom_ops": ["none", "+rms_norm"]}']}""",
    decided_by=Decider.PARSER,
)


def _check_words(setting: Setting) -> Iterator[Finding]:
    for flag in setting.flags:
        for place, word in _words_of(flag):
            if finding := _wrong(setting, flag, place, word):
                yield finding


def _words_of(flag: Flag) -> Iterator[tuple[str, str]]:
    """The places of `WORDS` that a flag is about, with the words there."""
    for place in WORDS:
        option, _, key = place.partition(".")
        if not flag.means(option):
            continue
        given: Mapping[str, Any] = (object_in(flag) or {}) if key else {}
        word = given.get(key) if key else flag.text
        if isinstance(word, str) and not (not key and flag.key):
            yield place, word


def _wrong(setting: Setting, flag: Flag, place: str, word: str) -> Finding | None:
    words = WORDS[place]
    name = word.upper() if words.upper else word
    span = words.spans.get(name)
    if (span and span.holds(setting.version)) or not _is_looked_up(setting, place, word):
        return None
    path, version = flag.path, setting.version or NEWEST
    if span is None:
        reason = f"vLLM {version} does not have {word:.60} for {place}"
        return _rule(setting, words).at(path, reason, _suggestion(setting, words, name))
    came = "came after" if span.is_ahead_of(version) else "went before"
    reason = f"{word} for {place} {came} vLLM {version}, which the image has"
    fix = _suggestion(setting, words, name)
    return known(setting, WORD_OF_ANOTHER_RELEASE).at(path, reason, fix)


def _rule(setting: Setting, words: Words) -> Rule:
    """What a word that is in no list is, for this image."""
    return DOUBTFUL if words.registry and not is_of_the_project(setting) else read(setting, UNKNOWN_WORD)


def _is_looked_up(setting: Setting, place: str, word: str) -> bool:
    words, option = WORDS[place], place.partition(".")[0]
    if words.read and not is_on(setting, words.read):
        return False
    opened = words.opened_by
    added = (
        setting.flag(opened) if opened.startswith("--") else (object_of(setting, option) or {}).get(opened)
    )
    return not added and not (words.dotted and "." in word)


def _suggestion(setting: Setting, words: Words, word: str) -> str:
    here = sorted(name for name, span in words.spans.items() if span.holds(setting.version))
    near = difflib.get_close_matches(word[:60], here, n=1, cutoff=0.6)
    return f"write {near[0]}" if near else f"write one that it has, such as {', '.join(here[:6])}"


def _check_custom_ops(setting: Setting) -> Iterator[Finding]:
    for flag in (flag for flag in setting.flags if flag.means("--compilation-config")):
        ops = (object_in(flag) or {}).get("custom_ops")
        path = flag.path
        if isinstance(ops, list) and {"all", "none"} <= {op for op in ops if isinstance(op, str)}:
            yield known(setting, UNSIGNED_OP).at(path, "custom_ops has both all and none", "keep one")
        for op in (op for op in (ops if isinstance(ops, list) else []) if isinstance(op, str)):
            if op not in ("all", "none") and not op.startswith(("+", "-")):
                fix = f"write +{op:.60} to turn it on or -{op:.60} to turn it off"
                yield known(setting, UNSIGNED_OP).at(path, f"{op:.60} in custom_ops has no sign", fix)


RULES: tuple[Rule, ...] = (UNKNOWN_WORD, WORD_OF_ANOTHER_RELEASE, UNSIGNED_OP)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (_check_words, _check_custom_ops)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = ()
