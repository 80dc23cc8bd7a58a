"""Rules on combinations known to go wrong: one for each kind of effect. Part of the rules on hardware.

The combinations are rows of `known_bad`; a finding says what its row says.
"""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule, Severity
from specdeploy.engine.known_bad import Effect, KnownBad, of_drafter, of_spec
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.versions import beyond_tables

_MTP = "drafters: [{name: d, method: mtp, numSpeculativeTokens: 3}]"
_QWEN = f"model: Qwen/Qwen3.5-27B\n{_MTP}"
_GLM = (
    "model: zai-org/GLM-5.2-FP8\naccelerator: {type: MI300X, count: 8}\n"
    f"engine: {{%senv: [{{name: VLLM_ROCM_USE_AITER, value: '1'}}]}}\n{_MTP}"
)
_EAGLE3 = (
    "drafters: [{name: d, method: eagle3, model: RedHatAI/gemma-4-26B-A4B-it-speculator.eagle3, "
    "numSpeculativeTokens: 4, attentionBackend: %s}]"
)
_SHUFFLED = (
    "engine: {image: 'vllm/vllm-openai-rocm:v0.32.0', attentionBackend: ROCM_AITER_FA, "
    "env: [{name: VLLM_ROCM_SHUFFLE_KV_CACHE_LAYOUT, value: '%s'}]}\n"
)
_SPARSE = (
    "model: MiniMaxAI/MiniMax-M3-MXFP8\naccelerator: {type: MI325X, count: 8}\n"
    "drafters: [{name: d, method: dspark, model: nvidia/MiniMax-M3-DSpark, numSpeculativeTokens: 7}]\n"
    "engine: {vllmVersion: '0.26.0', args: [--kv-cache-dtype, fp8], env: "
    "[{name: VLLM_ROCM_USE_AITER, value: '1'}, {name: VLLM_ROCM_SHUFFLE_KV_CACHE_LAYOUT, value: '%s'}]}"
)
_SCALED = (
    'engine: {vllmVersion: \'0.33.0\', args: [--hf-overrides, \'{"rope_scaling": {"rope_type": "%s"}}\']}\n'
)
_DFLASH = "drafters: [{name: d, method: dflash, model: org/draft, numSpeculativeTokens: 7}]"
_REPORTS = "reports of users and fixes by developers; each finding names its own"

MEASURED_CRASH = Rule(
    code="SD640",
    name="known-to-crash",
    severity=Severity.ERROR,
    title="The combination is known to crash",
    why="It was seen in this very form, or vLLM's source refuses it. A crash loop holds the GPUs for as long "
    "as the engine takes to start, again and again.",
    source=_REPORTS,
    refused=_SHUFFLED % 1 + _QWEN,
    passed=_SHUFFLED % 0 + _QWEN,
)
POSSIBLE_CRASH = Rule(
    code="SD641",
    name="reported-to-crash",
    severity=Severity.WARNING,
    title="The combination is like one that was seen to crash or to hang",
    why="It was seen on a similar engine, or a fix is not known to be in this release.",
    source=_REPORTS,
    refused="model: Qwen/Qwen3.5-27B\ndrafters: [{name: d, method: mtp, numSpeculativeTokens: 3, "
    "options: {num_speculative_tokens_per_batch_size: [[1, 8, 3]]}}]",
    passed=_QWEN,
)
MEASURED_WRONG = Rule(
    code="SD642",
    name="known-to-answer-wrong",
    severity=Severity.ERROR,
    title="The combination was measured to give wrong output",
    why="Wrong output can be fast, and speed alone would promote it.",
    source=_REPORTS,
    refused=_SPARSE % 1,
    passed=_SPARSE % 0,
)
POSSIBLE_WRONG = Rule(
    code="SD643",
    name="reported-to-answer-wrong",
    severity=Severity.WARNING,
    title="The combination is like one that was seen to give wrong output",
    why="It was seen on a similar engine, or reports contradict each other; output agreement compares the "
    "arms before a pod is ready.",
    source=_REPORTS,
    refused=_GLM % "vllmVersion: '0.23.1', ",
    passed=_GLM % "",
)
SLOWER = Rule(
    code="SD644",
    name="reported-to-be-slow",
    severity=Severity.WARNING,
    title="The combination is like one that was measured to be slow",
    why="A trial of it takes a GPU for hours to find what is known.",
    source=_REPORTS,
    refused=_EAGLE3 % "ROCM_ATTN",
    passed=_EAGLE3 % "TRITON_ATTN",
)

SHORTER = Rule(
    code="SD645",
    name="reported-to-shorten-the-context",
    severity=Severity.WARNING,
    title="The drafter is known to lower the engine's max_model_len in its arm",
    why="Requests that the baseline serves are answered with 400 in this arm; the guard on max_model_len "
    "ends its trial.",
    source=_REPORTS,
    refused=_SCALED % "yarn" + _DFLASH,
    passed=_SCALED % "linear" + _DFLASH,
)

_BY_EFFECT: dict[tuple[Effect, bool], Rule] = {
    (Effect.CRASH, True): MEASURED_CRASH,
    (Effect.CRASH, False): POSSIBLE_CRASH,
    (Effect.WRONG_OUTPUT, True): MEASURED_WRONG,
    (Effect.WRONG_OUTPUT, False): POSSIBLE_WRONG,
    (Effect.SLOWER, True): SLOWER,
    (Effect.SLOWER, False): SLOWER,
    (Effect.SHORTER, True): SHORTER,
    (Effect.SHORTER, False): SHORTER,
}


def rule_of(row: KnownBad) -> Rule:
    """The rule by which a row is told."""
    return _BY_EFFECT[row.effect, row.measured]


def _check_spec(setting: Setting) -> Iterator[Finding]:
    for row in of_spec(setting):
        yield _finding(setting, "spec.model" if row.targets else "spec.engine", row)


def _check_drafter(candidate: Candidate) -> Iterator[Finding]:
    for row in of_drafter(candidate):
        yield _finding(candidate.setting, candidate.path, row)


def _finding(setting: Setting, field: str, row: KnownBad) -> Finding:
    """Of a release that is newer than the tables nobody has seen it yet."""
    newer = setting.version is not None and beyond_tables(setting.version)
    rule = _BY_EFFECT[row.effect, False] if newer else rule_of(row)
    return rule.at(field, f"{row.what} ({row.source})", row.fix)


RULES: tuple[Rule, ...] = (MEASURED_CRASH, POSSIBLE_CRASH, MEASURED_WRONG, POSSIBLE_WRONG, SLOWER, SHORTER)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (_check_spec,)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (_check_drafter,)
