"""Rules on --use-replayssm, which keeps the last inputs of Mamba-2 layers instead of each state.

On AMD's GPUs vLLM has it for Nemotron-H alone; that of Kimi-K3 is in NVIDIA's build of the model.
"""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine import together as ask
from specdeploy.engine.methods import Runner
from specdeploy.engine.runner import VARIABLE, runner_of_baseline
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
    why="It takes targets of Nemotron-H, no KV connector, up to 0.31 no --mamba-cache-mode all (which prefix "
    "caching is up to 0.27), up to 0.29 Triton alone, from 0.30 on Triton on the V1 runner alone, or "
    "FlashInfer without prefix caching, and from 0.32 on a buffer of at most 16 with that. vLLM checks it "
    "when it has read its arguments, and ends.",
    source="VllmConfig of vLLM 0.27 to 0.33, and which of its models have the mark for it",
    refused=f"model: Qwen/Qwen3-8B\nengine: {{args: [{FLAG}]}}\ndrafters: []",
    passed=f"{_NEMOTRON}engine: {{args: [{FLAG}, --max-num-seqs, '64'], {_ON_V1}}}\ndrafters: []",
    decided_by=Decider.PARSER,
)
ON_KIMI = Rule(
    code="SD246",
    name="replayssm-of-kimi-k3-on-amd",
    severity=Severity.ERROR,
    title="On AMD's GPUs vLLM does not have --use-replayssm for Kimi-K3",
    why="Up to 0.28 it has it for Nemotron-H alone, from 0.29 on for Kimi-K3, too, in the build of the model "
    "for NVIDIA's GPUs; a CPU build has that, and takes the flag.",
    source="vLLM 0.27 to 0.33: models/kimi_k3, its parts nvidia and amd",
    refused=f"model: moonshotai/Kimi-K3\naccelerator: {{type: MI355X, count: 8}}\n"
    f"engine: {{args: [{FLAG}]}}\ndrafters: []",
    passed="model: moonshotai/Kimi-K3\naccelerator: {type: MI355X, count: 8}\ndrafters: []",
    decided_by=Decider.LATER,
)
BESIDE_A_DRAFTER = Rule(
    code="SD515",
    name="replayssm-and-a-drafter",
    severity=Severity.ERROR,
    title="vLLM refuses --use-replayssm beside this drafter",
    why="Up to 0.31 it goes with no drafter of a target that has it. From 0.32 on it needs "
    "--mamba-backend flashinfer, no prefix caching, and a buffer (16) for all tokens of a step.",
    source="VllmConfig of vLLM 0.27 to 0.33; its parser of 0.32 was asked",
    refused=f"{_NEMOTRON}engine: {{args: [{FLAG}, --max-num-seqs, '64'], {_ON_V1}}}\n"
    "drafters: [{name: d, method: mtp, numSpeculativeTokens: 3}]",
    passed=f"{_NEMOTRON}engine: {{args: [--max-num-seqs, '64']}}\n"
    "drafters: [{name: d, method: mtp, numSpeculativeTokens: 3}]",
    decided_by=Decider.PARSER,
)
_HAS_IT, _HAS_IT_ELSEWHERE = "nemotron3", "kimi-k3"
_ALL_REFUSED = between(None, "0.32")
# Up to here vLLM caches no prefixes of such targets unless it is told to, and then in mode all.
_CACHES_NOTHING = between(None, "0.28")
_TRITON_ALONE, _TRITON_ON_V1 = between(None, "0.30"), since("0.30")
_WITH_DRAFTERS = since("0.32")
_BUFFERED, _BUFFER = "--replayssm-buffer-len", 16  # its default, and the most that FlashInfer takes
_CONNECTOR = "--kv-transfer-config"


def _is_asked(setting: Setting) -> bool:
    return is_on(setting, FLAG) and knows(setting, FLAG)


def _check_flag(setting: Setting) -> Iterator[Finding]:
    if not _is_asked(setting):
        return
    path, target = setting.place_of(FLAG), setting.as_published
    if target is not None and target.family != _HAS_IT:
        rule = ON_KIMI if target.family == _HAS_IT_ELSEWHERE else REFUSED
        yield known(setting, rule).at(path, f"vLLM does not have {FLAG} for {target.model}", "remove it")
        return
    for (what, fix), holds in _wrong(setting).items():
        if holds:
            yield known(setting, REFUSED).at(path, f"{FLAG} does not go with {what}", fix)


def _wrong(setting: Setting) -> dict[tuple[str, str], bool]:
    """What it does not go with and what to do, to whether that is asked for."""
    version, backend, mode = setting.version, _backend(setting), _mode(setting)
    buffer = size_of(setting, _BUFFERED) or _BUFFER
    on_v2 = backend == "triton" and runner_of_baseline(setting) is Runner.V2
    too_long = backend == "flashinfer" and buffer > _BUFFER
    return {
        ("a KV connector", "remove one of the two"): ask.has_key(_CONNECTOR, "kv_connector")(setting),
        ("prefix caching in mode all", "add --mamba-cache-mode align"): (
            mode == "all" and _ALL_REFUSED.holds(version)
        ),
        ("prefix caching on FlashInfer", "add --no-enable-prefix-caching"): (
            mode == "align" and backend == "flashinfer" and _TRITON_ON_V1.holds(version)
        ),
        (f"--mamba-backend {backend}", "write triton"): backend != "triton" and _TRITON_ALONE.holds(version),
        ("Triton on the V2 model runner", f"set {VARIABLE} to 0 in spec.engine.env, or remove it"): (
            on_v2 and _TRITON_ON_V1.holds(version)
        ),
        (f"{_BUFFERED} {buffer} on FlashInfer", f"write {_BUFFER} or less"): (
            too_long and _WITH_DRAFTERS.holds(version)
        ),
    }


def _mode(setting: Setting) -> str:
    """--mamba-cache-mode in force: without prefix caching none, whatever was asked for."""
    early, flag = _CACHES_NOTHING.holds(setting.version), setting.flag("--mamba-cache-mode")
    caches = is_on(setting, "--enable-prefix-caching") if early else caches_prefixes(setting)
    asked = flag.text if flag else None
    if not caches:
        return "none"
    return asked if asked in ("all", "align") else ("all" if early else "align")


def _backend(setting: Setting) -> str:
    flag = setting.flag("--mamba-backend")
    return (flag.text if flag else None) or "triton"


def _check_drafter(candidate: Candidate) -> Iterator[Finding]:
    """Nothing of a target that is not known: a Kimi-K3 is told of by itself."""
    setting, target = candidate.setting, candidate.setting.target
    if target is None or target.family == _HAS_IT_ELSEWHERE or not _is_asked(setting):
        return
    for reason in _against(candidate):
        fix = f"remove {FLAG}, or the drafter"
        yield known(setting, BESIDE_A_DRAFTER).at(candidate.path, reason, fix)


def _against(candidate: Candidate) -> Iterator[str]:
    """What keeps it from this drafter."""
    setting, tokens = candidate.setting, candidate.drafter.num_speculative_tokens
    if not _WITH_DRAFTERS.holds(setting.version):
        yield f"before 0.32 {FLAG} goes with no drafter"
        return
    if _backend(setting) != "flashinfer":
        yield f"beside a drafter {FLAG} needs --mamba-backend flashinfer, and --no-enable-prefix-caching"
    buffer = size_of(setting, _BUFFERED) or _BUFFER
    if tokens >= buffer:
        yield f"{tokens} drafted tokens and one more are above the {buffer} of {_BUFFERED}"


RULES: tuple[Rule, ...] = (REFUSED, ON_KIMI, BESIDE_A_DRAFTER)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (_check_flag,)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (_check_drafter,)
