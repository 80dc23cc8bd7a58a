"""Rules on the names in a drafter's options: cache types, MoE backends, quantizations."""

import difflib
from collections.abc import Callable, Iterable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.image import is_stock
from specdeploy.engine.options import MODELS, OPEN_VALUES, VALUES, WORD_KEYS
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.versions import beyond_tables


def _example(options: str, before: str = "") -> str:
    drafter = "name: d, method: eagle3, model: org/draft, numSpeculativeTokens: 4"
    return f"{before}\ndrafters: [{{{drafter}, options: {{{options}}}}}]\n"


WRONG_WORD = Rule(
    code="SD411",
    name="unknown-word",
    severity=Severity.ERROR,
    title="No release of vLLM knows the word",
    why="Cache types, MoE backends and, in the stock image, quantizations are closed lists; the engine "
    "refuses to start.",
    source="vLLM 0.18 to 0.33: CacheDType, MoEBackend, QuantizationMethods",
    refused=_example("kv_cache_dtype: fp8_e4m3fn"),
    passed=_example("kv_cache_dtype: fp8_e4m3"),
    decided_by=Decider.PARSER,
)
UNSURE_WORD = Rule(
    code="SD412",
    name="unfamiliar-word",
    severity=Severity.WARNING,
    title="The word is in no list of vLLM's, but this image may have longer ones",
    why="The image is newer than the tables or its version is unknown; or it is not the stock one, and a "
    "package in it may add quantizations, and from 0.33 on cache types.",
    source="vLLM 0.18 to 0.33: CacheDType, MoEBackend, QuantizationMethods",
    refused=_example("kv_cache_dtype: ours", "engine: {image: 'registry.example/team/vllm:v0.33.0'}"),
    passed=_example("kv_cache_dtype: fp8", "engine: {image: 'registry.example/team/vllm:v0.33.0'}"),
)


def _check_words(candidate: Candidate) -> Iterator[Finding]:
    for key in WORD_KEYS:
        word, words = candidate.options.get(key), VALUES[key]
        if not isinstance(word, str) or not word or word in words:
            continue
        if key == "quantization" and candidate.drafter.method not in MODELS:
            continue  # read only where a drafter has weights
        rule = WRONG_WORD if _is_closed(candidate.setting, key) else UNSURE_WORD
        reason = f"it is {word!r:.60}, which vLLM does not know"
        yield rule.at(f"{candidate.path}.options.{key}", reason, _fix(word, words))


def _is_closed(setting: Setting, key: str) -> bool:
    """Whether this image takes no word that the tables don't list."""
    if setting.version is None or beyond_tables(setting.version):
        return False
    may_grow = key in OPEN_VALUES and OPEN_VALUES[key].holds(setting.version)
    return not may_grow or is_stock(setting.image)


def _fix(word: str, words: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, words, n=1)
    return (
        f"write {near[0]}" if near else f"write a word that vLLM lists, such as {', '.join(list(words)[:5])}"
    )


RULES: tuple[Rule, ...] = (WRONG_WORD, UNSURE_WORD)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = ()
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (_check_words,)
