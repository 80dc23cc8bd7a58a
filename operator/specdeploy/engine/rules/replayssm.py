"""Rules on --use-replayssm, which keeps the last inputs of Mamba-2 layers instead of each state.

On AMD's GPUs vLLM has it for Nemotron-H alone; elsewhere for Kimi-K3, too, whose drafters it helps.
"""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine import together as ask
from specdeploy.engine.methods import Runner
from specdeploy.engine.runner import runner_of_baseline
from specdeploy.engine.serving import caches_prefixes, is_on, size_of
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.versions import between, since

from .doubt import known, knows

FLAG = "--use-replayssm"
_NEMOTRON = "model: nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16\naccelerator: {type: MI300X, count: 4}\n"
_ON_V1 = "env: [{name: VLLM_USE_V2_MODEL_RUNNER, value: '0'}]"

REFUSED = Rule(
    code="SD245",
    name="replayssm-refused",
    severity=Severity.ERROR,
    title="vLLM refuses --use-replayssm with this target or these arguments",
    why="It takes targets of Nemotron-H alone (elsewhere than on AMD's GPUs Kimi-K3, too), no KV connector, up "
    "to 0.31 no --mamba-cache-mode all, up to 0.29 Triton alone, and from 0.30 on Triton on the V1 runner "
    "alone. vLLM checks it when it has read its arguments, and ends.",
    source="VllmConfig of vLLM 0.27 to 0.33, and which of its models have the mark for it",
    refused=f"model: Qwen/Qwen3-8B\nengine: {{args: [{FLAG}]}}\ndrafters: []",
    passed=f"{_NEMOTRON}engine: {{args: [{FLAG}, --max-num-seqs, '64'], {_ON_V1}}}\ndrafters: []",
    decided_by=Decider.PARSER,
)
BESIDE_A_DRAFTER = Rule(
    code="SD515",
    name="replayssm-and-a-drafter",
    severity=Severity.ERROR,
    title="vLLM refuses --use-replayssm beside this drafter",
    why="Up to 0.31 it goes with no drafter (elsewhere than on AMD's GPUs with those of Kimi-K3). From 0.32 on "
    "it needs --mamba-backend flashinfer, no prefix caching, and a buffer (16) for all tokens of a step.",
    source="VllmConfig of vLLM 0.27 to 0.33; its parser of 0.32 was asked",
    refused=f"{_NEMOTRON}engine: {{args: [{FLAG}, --max-num-seqs, '64'], {_ON_V1}}}\n"
    "drafters: [{name: d, method: mtp, numSpeculativeTokens: 3}]",
    passed=f"{_NEMOTRON}engine: {{args: [--max-num-seqs, '64']}}\n"
    "drafters: [{name: d, method: mtp, numSpeculativeTokens: 3}]",
    decided_by=Decider.PARSER,
)
_HAS_IT, _HAS_IT_ELSEWHERE = "nemotron3", "kimi-k3"
_KIMI, _ALL_REFUSED = since("0.29"), between(None, "0.32")
_TRITON_ALONE, _TRITON_ON_V1 = between(None, "0.30"), since("0.30")
_WITH_DRAFTERS = since("0.32")
_BUFFER = 16  # --replayssm-buffer-len, where it is absent
_CONNECTOR = "--kv-transfer-config"


def _is_asked(setting: Setting) -> bool:
    return is_on(setting, FLAG) and knows(setting, FLAG)


def _check_target(setting: Setting) -> Iterator[Finding]:
    """Nothing of a target that is not known, or by its name alone."""
    target = setting.as_published
    if _is_asked(setting) and target is not None and target.family != _HAS_IT:
        if target.family != _HAS_IT_ELSEWHERE or not _may_be_kimi(setting):
            reason = f"vLLM does not have {FLAG} for {target.model}"
            yield known(setting, REFUSED).at(setting.place_of(FLAG), reason, "remove it")


def _may_be_kimi(setting: Setting) -> bool:
    """Whether this may be an engine that has it for Kimi-K3."""
    return not ask.on_amd(setting) and _KIMI.holds(setting.version)


def _check_arguments(setting: Setting) -> Iterator[Finding]:
    if not _is_asked(setting):
        return
    version, mode = setting.version, setting.flag("--mamba-cache-mode")
    backend = _backend(setting)
    every_step = mode is not None and mode.text == "all"
    on_v2 = backend == "triton" and runner_of_baseline(setting) is Runner.V2
    wrong = {
        ("a KV connector", "remove one of the two"): ask.has_key(_CONNECTOR, "kv_connector")(setting),
        ("--mamba-cache-mode all", "write align"): every_step and _ALL_REFUSED.holds(version),
        (f"--mamba-backend {backend}", "write triton"): backend != "triton" and _TRITON_ALONE.holds(version),
        ("the V2 model runner", "set VLLM_USE_V2_MODEL_RUNNER to 0 in spec.engine.env, or remove it"): (
            on_v2 and _TRITON_ON_V1.holds(version)
        ),
    }
    for (what, fix), holds in wrong.items():
        if holds:
            path = setting.place_of(FLAG)
            yield known(setting, REFUSED).at(path, f"{FLAG} does not go with {what}", fix)


def _backend(setting: Setting) -> str:
    flag = setting.flag("--mamba-backend")
    return (flag.text if flag else None) or "triton"


def _check_drafter(candidate: Candidate) -> Iterator[Finding]:
    setting = candidate.setting
    if not _is_asked(setting) or (_may_be_kimi(setting) and _is_kimi(setting) is not False):
        return
    rule = known(setting, BESIDE_A_DRAFTER)
    for reason in _against(candidate):
        yield rule.at(candidate.path, reason, f"remove {FLAG}, or the drafter")


def _is_kimi(setting: Setting) -> bool | None:
    return None if setting.target is None else setting.target.family == _HAS_IT_ELSEWHERE


def _against(candidate: Candidate) -> Iterator[str]:
    """What keeps it from this drafter."""
    setting, tokens = candidate.setting, candidate.drafter.num_speculative_tokens
    if not _WITH_DRAFTERS.holds(setting.version):
        yield f"before 0.32 {FLAG} goes with no drafter"
        return
    if _backend(setting) != "flashinfer":
        yield f"beside a drafter {FLAG} needs --mamba-backend flashinfer"
    if caches_prefixes(setting):
        yield f"beside a drafter {FLAG} needs --no-enable-prefix-caching"
    buffer = size_of(setting, "--replayssm-buffer-len") or _BUFFER
    if tokens >= buffer:
        yield f"{tokens} drafted tokens and one more are above the {buffer} of --replayssm-buffer-len"


RULES: tuple[Rule, ...] = (REFUSED, BESIDE_A_DRAFTER)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (_check_target, _check_arguments)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (_check_drafter,)
