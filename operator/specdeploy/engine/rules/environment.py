"""Rules on engine.env: variables that are SpecDeploy's, and what some of vLLM's own do to serving."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.environment import OWNED, TOKENS
from specdeploy.engine.setting import Candidate, Setting

FIELD = Rule(
    code="SD130",
    name="variable-with-a-field",
    severity=Severity.ERROR,
    title="The variable is set by SpecDeploy",
    why="It is set from a field of the spec, or to something that the pod depends on. A second value would "
    "be in force in its place.",
    source="SpecDeploy; for VLLM_PORT, vllm-project/vllm#34199",
    refused="engine: {env: [{name: HF_HUB_OFFLINE, value: '1'}]}",
    passed="engine: {weights: {offline: true, hostPath: {path: /models}}}",
    decided_by=Decider.POLICY,
)
TOKEN_TWICE = Rule(
    code="SD131",
    name="hub-token-twice",
    severity=Severity.ERROR,
    title="The hub's token is given twice",
    why="Only one of the two is in force, and which one depends on their names.",
    source="huggingface_hub: HF_TOKEN goes before HUGGING_FACE_HUB_TOKEN",
    refused="""\
engine:
  hfTokenSecretRef: {name: hub, key: token}
  env: [{name: HF_TOKEN, value: hf_x}]""",
    passed="engine: {hfTokenSecretRef: {name: hub, key: token}}",
    decided_by=Decider.POLICY,
)
DEV_MODE = Rule(
    code="SD132",
    name="development-endpoints",
    severity=Severity.WARNING,
    title="The engine's development endpoints are open",
    why="Whoever reaches the port can put the engine to sleep, drop its caches, call its workers and load "
    "other weights; the API key does not guard these paths.",
    source="vLLM's server: VLLM_SERVER_DEV_MODE; the key guards only /v1, /v2, /inference and /cohere",
    refused="engine: {env: [{name: VLLM_SERVER_DEV_MODE, value: '1'}]}",
    passed="engine: {env: [{name: VLLM_SERVER_DEV_MODE, value: '0'}]}",
)
KEEP_ALIVE = Rule(
    code="SD133",
    name="dead-engine-kept",
    severity=Severity.WARNING,
    title="A server whose engine died goes on",
    why="vLLM ends the server of a dead engine within seconds, so that the pod starts anew and the trial "
    "sees it. Kept alive, the pod answers errors until its liveness probe gives up.",
    source="vLLM's launcher: VLLM_KEEP_ALIVE_ON_ENGINE_DEATH",
    refused="engine: {env: [{name: VLLM_KEEP_ALIVE_ON_ENGINE_DEATH, value: '1'}]}",
    passed="engine: {env: [{name: VLLM_KEEP_ALIVE_ON_ENGINE_DEATH, value: '0'}]}",
)
RUST_FRONTEND = Rule(
    code="SD134",
    name="rust-frontend",
    severity=Severity.WARNING,
    title="The Rust front end shows fewer metrics",
    why="It has no cache_config_info and no process metrics, and series appear only after their first "
    "sample: the guards on KV blocks see nothing, and a restart is seen only by counters that go back.",
    source="vLLM 0.22 to 0.33: VLLM_USE_RUST_FRONTEND; gpustack/gpustack#6215",
    refused="engine: {env: [{name: VLLM_USE_RUST_FRONTEND, value: '1'}]}",
    passed="engine: {env: [{name: VLLM_USE_RUST_FRONTEND, value: '0'}]}",
)
RUNTIME_LORA = Rule(
    code="SD135",
    name="run-time-lora",
    severity=Severity.ERROR,
    title="LoRA adapters can be loaded while the engine runs",
    why="Refused by policy: an adapter that was loaded by a request is in the one pod that got it. The pods "
    "of a new arm lack it, and their users get 404.",
    source="vLLM's VLLM_ALLOW_RUNTIME_LORA_UPDATING",
    refused="engine: {env: [{name: VLLM_ALLOW_RUNTIME_LORA_UPDATING, value: '1'}]}",
    passed="engine: {args: [--enable-lora, --lora-modules, sql=/adapters/sql]}",
    decided_by=Decider.POLICY,
)

# Switches: what is so when they are on, and what to do.
_SWITCHES: dict[str, tuple[Rule, str, str]] = {
    "VLLM_SERVER_DEV_MODE": (
        DEV_MODE,
        "it opens endpoints that no API key guards",
        "remove it, or let only trusted pods reach the port",
    ),
    "VLLM_KEEP_ALIVE_ON_ENGINE_DEATH": (
        KEEP_ALIVE,
        "the server of a dead engine goes on",
        "remove it",
    ),
    "VLLM_USE_RUST_FRONTEND": (
        RUST_FRONTEND,
        "the Rust front end lacks metrics that guards look at",
        "remove it",
    ),
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING": (
        RUNTIME_LORA,
        "adapters loaded while a pod runs are not in the pods of a new arm",
        "remove it, and name the adapters with --lora-modules",
    ),
}
_OFF = ("", "0", "false")


def _check_owned(setting: Setting) -> Iterator[Finding]:
    for index, variable in enumerate(setting.spec.engine.env or []):
        reason = f"{variable.name} is set by SpecDeploy"
        if variable.name in OWNED:
            yield FIELD.at(_path(index), reason, OWNED[variable.name])
        elif variable.name in TOKENS and setting.spec.engine.hf_token_secret_ref:
            fix = "spec.engine.hfTokenSecretRef sets it; keep one of the two"
            yield TOKEN_TWICE.at(_path(index), reason, fix)


def _check_switches(setting: Setting) -> Iterator[Finding]:
    for index, variable in enumerate(setting.spec.engine.env or []):
        if variable.name not in _SWITCHES:
            continue
        rule, reason, fix = _SWITCHES[variable.name]
        if (variable.value or "").strip().lower() not in _OFF:
            yield rule.at(_path(index), f"{variable.name}: {reason}", fix)
        elif variable.value_from is not None and rule.severity is Severity.ERROR:
            reason = f"{variable.name}: its value can't be seen here, and on it is refused"
            yield rule.at(_path(index), reason, fix)


def _path(index: int) -> str:
    return f"spec.engine.env[{index}]"


RULES: tuple[Rule, ...] = (
    FIELD,
    TOKEN_TWICE,
    DEV_MODE,
    KEEP_ALIVE,
    RUST_FRONTEND,
    RUNTIME_LORA,
)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (
    _check_owned,
    _check_switches,
)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = ()
