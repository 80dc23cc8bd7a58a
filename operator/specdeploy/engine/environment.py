"""Environment of the engine's container, the same in every arm. `manifests.container` uses it.

The user's variables replace ours, except those that have a field of their own (`rules.environment`).
"""

from typing import Any

from specdeploy.api.engine_spec import EnvVar, Storage
from specdeploy.api.spec import Spec

from .hashing import short_hash
from .layout import CACHE_PATH, HOME_PATH, WEIGHTS_PATH

NODE_VARIABLE = "SPECDEPLOY_NODE"

# Variables that are not the user's to set: what to use instead.
OWNED: dict[str, str] = {
    "HF_HOME": "use spec.engine.weights",
    "HF_HUB_OFFLINE": "use spec.engine.weights.offline",
    "VLLM_CACHE_ROOT": "use spec.engine.compileCache",
    "TRITON_CACHE_DIR": "use spec.engine.compileCache",
    "AITER_JIT_DIR": "use spec.engine.compileCache",
    "VLLM_PORT": "remove it; the engine's port is fixed",
    "VLLM_ENGINE_READY_TIMEOUT_S": "use spec.engine.startupSeconds",
    NODE_VARIABLE: "choose another name",
}
# Those by which the hub knows who asks; ours where spec.engine.hfTokenSecretRef names a Secret.
TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


def engine_environment(spec: Spec, image: str) -> list[dict[str, Any]]:
    """core/v1 EnvVars: ours first, so that the user's may refer to them as $(NAME)."""
    own = [*_fixed(spec), *_weights(spec), *_compile_cache(spec, image)]
    given = [_env_var(variable) for variable in spec.engine.env or []]
    replaced = {variable["name"] for variable in given}
    return [variable for variable in own if variable["name"] not in replaced] + given


def _fixed(spec: Spec) -> list[dict[str, Any]]:
    return [
        # Images run under any user id, which may have no home and no name of its own.
        {"name": "HOME", "value": HOME_PATH},
        {"name": "USER", "value": "vllm"},
        # The image leaves it unset. Explicit, so that what is measured does not hang on an image's default.
        {"name": "VLLM_ROCM_USE_AITER", "value": "0"},
        {"name": "VLLM_NO_USAGE_STATS", "value": "1"},
        # vLLM gives up on slow workers after 600 s by itself.
        {"name": "VLLM_ENGINE_READY_TIMEOUT_S", "value": str(spec.engine.startup_seconds)},
    ]


def _weights(spec: Spec) -> list[dict[str, Any]]:
    engine = spec.engine
    variables: list[dict[str, Any]] = [
        {"name": "HF_HOME", "value": WEIGHTS_PATH},
        # Code of checkpoints is written at start; the weights may be mounted read-only.
        {"name": "HF_MODULES_CACHE", "value": f"{HOME_PATH}/hf-modules"},
    ]
    if engine.weights and engine.weights.offline:
        variables.append({"name": "HF_HUB_OFFLINE", "value": "1"})
    if engine.hf_token_secret_ref:
        source = {"secretKeyRef": engine.hf_token_secret_ref.wire()}
        variables.append({"name": "HF_TOKEN", "valueFrom": source})
    return variables


def _compile_cache(spec: Spec, image: str) -> list[dict[str, Any]]:
    """Compiled kernels fit one image and one kind of GPU; where the kind is not given, one node."""
    gpu = spec.accelerator.type or f"$({NODE_VARIABLE})"
    folder = f"{CACHE_PATH}/{short_hash(image)}/{gpu}"
    node = {"name": NODE_VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    variables: list[dict[str, Any]] = [] if spec.accelerator.type else [node]
    variables.append({"name": "VLLM_CACHE_ROOT", "value": f"{folder}/vllm"})
    variables.append({"name": "TRITON_CACHE_DIR", "value": f"{folder}/triton"})
    if outlives_pod(spec.engine.compile_cache):
        # Told of a folder AITER looks there only, not among the kernels that the image brings, and builds its
        # own: worth it only where the next pod finds them.
        variables.append({"name": "AITER_JIT_DIR", "value": f"{folder}/aiter"})
    return variables


def outlives_pod(storage: Storage | None) -> bool:
    """Whether the next pod finds what this one leaves there."""
    return storage is not None and bool(storage.persistent_volume_claim or storage.host_path)


def _env_var(variable: EnvVar) -> dict[str, Any]:
    if variable.value_from is not None:
        return {"name": variable.name, "valueFrom": variable.value_from}
    return {"name": variable.name, "value": variable.value or ""}
