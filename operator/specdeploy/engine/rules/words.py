"""Rules on the names in a drafter's options: cache types, MoE backends, quantizations."""

import difflib
from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule, Severity
from specdeploy.engine.image import is_stock
from specdeploy.engine.options import OPEN_WORDS, WORDS, WORDS_OF
from specdeploy.engine.setting import Candidate, Setting


def _example(options: str, before: str = "") -> str:
    drafter = "name: d, method: eagle3, model: org/draft, numSpeculativeTokens: 4"
    return f"{before}\ndrafters: [{{{drafter}, options: {{{options}}}}}]\n"


WRONG_WORD = Rule(
    code="SD411",
    name="unknown-word",
    severity=Severity.ERROR,
    title="vLLM 0.32 does not know the word",
    why="Cache types, MoE backends and, in the stock image, quantizations are closed lists.",
    source="vLLM 0.32: CacheDType, MoEBackend, QuantizationMethods",
    refused=_example("kv_cache_dtype: fp8_e4m3fn", 'engine: {vllmVersion: "0.32.0"}'),
    passed=_example("kv_cache_dtype: fp8_e4m3", 'engine: {vllmVersion: "0.32.0"}'),
)
UNSURE_WORD = Rule(
    code="SD412",
    name="unfamiliar-word",
    severity=Severity.WARNING,
    title="The word is not in the list of vLLM 0.32, and the image has another release or is not the "
    "stock one",
    why="These lists change with each release, and an image may add to the quantizations.",
    source="vLLM 0.32: CacheDType, MoEBackend, QuantizationMethods",
    refused=_example("kv_cache_dtype: fp8_e4m3fn"),
    passed=_example("kv_cache_dtype: fp8_e4m3"),
)


def _check_words(candidate: Candidate) -> Iterator[Finding]:
    setting = candidate.setting
    listed = setting.version is not None and setting.version[:2] == WORDS_OF[:2]
    for key, words in WORDS.items():
        word = candidate.options.get(key)
        if not isinstance(word, str) or not word or word.lower() in words:
            continue
        closed = key not in OPEN_WORDS or is_stock(setting.image)
        rule = WRONG_WORD if listed and closed else UNSURE_WORD
        reason = f"it is {word!r:.60}, which vLLM {WORDS_OF} does not know"
        yield rule.at(f"{candidate.path}.options.{key}", reason, _fix(word, words))


def _fix(word: str, words: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(word, words, n=1)
    return f"write {near[0]}" if near else f"write one of {', '.join(words[:6])} ..."


RULES: tuple[Rule, ...] = (WRONG_WORD, UNSURE_WORD)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = ()
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (_check_words,)
