"""Rules on AITER's switches. Part of the rules on hardware."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule, Severity
from specdeploy.engine.aiter import MASTER, SWITCHES, is_on, variable_of
from specdeploy.engine.attention import BACKENDS
from specdeploy.engine.backends import running_backend
from specdeploy.engine.known_bad import of_spec
from specdeploy.engine.setting import Candidate, Setting

SWITCH_WITHOUT_MASTER = Rule(
    code="SD613",
    name="aiter-switch-without-aiter",
    severity=Severity.WARNING,
    title="A switch of AITER is set without VLLM_ROCM_USE_AITER=1",
    why="Without it the other switches do nothing; SpecDeploy sets it to 0 unless the spec sets it.",
    source="_aiter_ops.py and envs.py of vLLM 0.32",
    refused="engine: {env: [{name: VLLM_ROCM_USE_AITER_MHA, value: '1'}]}",
    passed="engine: {env: [{name: VLLM_ROCM_USE_AITER, value: '1'}, "
    "{name: VLLM_ROCM_USE_AITER_MHA, value: '1'}]}",
)
BACKEND_WITHOUT_MASTER = Rule(
    code="SD614",
    name="aiter-backend-without-aiter",
    severity=Severity.ADVICE,
    title="An AITER backend is used without the rest of AITER",
    why="A named backend runs although VLLM_ROCM_USE_AITER is 0, but linear layers, experts and norms then "
    "stay on slower kernels.",
    source="_aiter_ops.py of vLLM 0.32 (explicit selection regardless of the variable); #56945 (1.7 to 3.7 "
    "times slower without AITER)",
    refused="engine: {attentionBackend: ROCM_AITER_FA}",
    passed="engine: {attentionBackend: ROCM_AITER_FA, env: [{name: VLLM_ROCM_USE_AITER, value: '1'}]}",
)
AITER_UNSUPPORTED = Rule(
    code="SD615",
    name="aiter-on-an-older-gpu",
    severity=Severity.WARNING,
    title="AITER is turned on where it has no kernels",
    why="On MI200 GPUs vLLM does not take AITER's kernels, whatever the variable says.",
    source="_aiter_ops.py of vLLM 0.32 (CDNA 3 and newer)",
    refused="accelerator: {type: MI250X}\nengine: {env: [{name: VLLM_ROCM_USE_AITER, value: '1'}]}",
    passed="accelerator: {type: MI300X}\nengine: {env: [{name: VLLM_ROCM_USE_AITER, value: '1'}]}",
)

NOT_SAID = Rule(
    code="SD616",
    name="aiter-not-decided",
    severity=Severity.ADVICE,
    title="The spec does not say whether AITER is used",
    why="The images leave VLLM_ROCM_USE_AITER unset and SpecDeploy sets it to 0, so every arm runs on "
    "Triton's kernels and ROCM_ATTN. For Qwen3.5-122B that was 1.7 to 3.7 times slower, baseline included.",
    source="#56945 (MI300X, MI325X, MI355X); envs.py of vLLM 0.32",
    refused="accelerator: {type: MI300X, count: 2}\nengine: {}",
    passed="accelerator: {type: MI300X, count: 2}\nengine: {env: [{name: VLLM_ROCM_USE_AITER, value: '0'}]}",
)


def _check_said(setting: Setting) -> Iterator[Finding]:
    gpu = setting.gpu
    told = any(MASTER in (*row.unless, *row.off) for row in of_spec(setting))
    if told or gpu is None or not gpu.can.aiter or variable_of(setting, MASTER) is not None:
        return
    fix = "set it to 1 and compare, or to 0 to say that it is meant"
    yield NOT_SAID.at("spec.engine.env", f"{MASTER} is not set, so AITER is off", fix)


def _check_switches(setting: Setting) -> Iterator[Finding]:
    if is_on(setting, MASTER) is not False:
        return
    for index, variable in enumerate(setting.spec.engine.env or []):
        switch = SWITCHES.get(variable.name)
        if switch is not None and switch.master and is_on(setting, variable.name):
            reason = f"it chooses AITER's {switch.chooses}, but {MASTER} is 0"
            yield SWITCH_WITHOUT_MASTER.at(
                f"spec.engine.env[{index}]", reason, f"set {MASTER} to 1 or remove it"
            )


def _check_master(setting: Setting) -> Iterator[Finding]:
    choice, on = running_backend(setting), is_on(setting, MASTER)
    backend = BACKENDS.get(choice.named or "")
    if backend is not None and backend.aiter and on is False:
        reason = f"{backend.name} runs, but everything else of AITER is off"
        yield BACKEND_WITHOUT_MASTER.at(choice.field, reason, f"set {MASTER} to 1 in spec.engine.env")
    if on and variable_of(setting, MASTER) and setting.gpu and not setting.gpu.can.aiter:
        reason = f"{MASTER} does nothing on {setting.gpu.name}, for which AITER has no kernels"
        yield AITER_UNSUPPORTED.at("spec.engine.env", reason, "remove it")


RULES: tuple[Rule, ...] = (SWITCH_WITHOUT_MASTER, BACKEND_WITHOUT_MASTER, AITER_UNSUPPORTED, NOT_SAID)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (
    _check_switches,
    _check_master,
    _check_said,
)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = ()
