"""The command line of `vllm serve`, and the flags in it that are not the user's to pass.

`manifests.container` uses the arguments, `rules.arguments` the tables.
"""

import json

from specdeploy.api.names import PORT
from specdeploy.api.spec import Drafter, Spec

from .flags import Flag, read_flags
from .speculative import speculative_config

COMMAND = ("vllm", "serve")

# Each multiplies the number of GPUs that one engine takes.
TENSOR_PARALLEL = "--tensor-parallel-size"
PARALLEL = (
    TENSOR_PARALLEL,
    "--pipeline-parallel-size",
    "--data-parallel-size",
    "--prefill-context-parallel-size",
)

_DRAFTERS = ("speculation is set per arm", "list it under spec.drafters; these arguments go to every arm")
_PLAIN = ("probes and metrics speak plain HTTP", "remove it; end TLS in front of the Service")

# Flags that are not the user's to pass: (why, what to do). `rules.arguments` has a rule for each table.
SPECULATION: dict[str, tuple[str, str]] = dict.fromkeys(
    ("--speculative-config", "--spec-method", "--spec-model", "--spec-tokens"), _DRAFTERS
)
FIELDS: dict[str, tuple[str, str]] = {
    "--model": ("it has a field of its own", "use spec.model"),
    "--served-model-name": ("it has a field of its own", "use spec.servedModelName"),
    "--revision": ("it has a field of its own", "use spec.modelRevision"),
    "--shutdown-timeout": ("it has a field of its own", "use spec.engine.drain.requestSeconds"),
    "--config": ("a file could set what SpecDeploy sets", "write its settings into spec.engine.args"),
}
SERVER: dict[str, tuple[str, str]] = {
    "--host": ("probes, Service and metrics need the engine's address", "remove it"),
    "--port": (f"the engine listens on {PORT}", "remove it; spec.service.port is the port that clients use"),
    "--uds": ("probes, Service and metrics need the engine's port", "remove it"),
    "--headless": ("an engine without a server can't be probed", "remove it"),
    "--grpc": ("probes, Service and metrics speak HTTP", "remove it"),
    "--ssl-keyfile": _PLAIN,
    "--ssl-certfile": _PLAIN,
    "--help": ("it prints the flags and ends", "remove it"),
}
SECRETS: dict[str, tuple[str, str]] = {
    "--api-key": (
        "everybody who may read pods could read it",
        "remove it and set VLLM_API_KEY from a Secret in spec.engine.env",
    ),
    "--hf-token": ("everybody who may read pods could read it", "use spec.engine.hfTokenSecretRef"),
}
METRICS: dict[str, tuple[str, str]] = {
    "--disable-log-stats": ("it removes the metrics that trials are judged by", "remove it"),
}
DRAFTER_ONLY: dict[str, tuple[str, str]] = {
    "--per-request-spec-decode-metrics": ("the baseline does not start with it", "remove it"),
}
OWNED = SPECULATION | FIELDS | SERVER | SECRETS | METRICS | DRAFTER_ONLY


def serve_arguments(spec: Spec, drafter: Drafter | None) -> list[str]:
    """Arguments after `vllm serve`: the model, ours, the user's, and last the speculation if any."""
    engine = spec.engine
    words = [spec.model, "--served-model-name", spec.served_name]
    if spec.model_revision:
        words += ["--revision", spec.model_revision]
    words += ["--host", "0.0.0.0", "--port", str(PORT)]
    if not parallel_flags(spec):
        words += [TENSOR_PARALLEL, str(spec.accelerator.count)]
    if engine.attention_backend:
        words += ["--attention-backend", engine.attention_backend]
    words += ["--shutdown-timeout", str(engine.drain.request_seconds)]
    words += engine.args or []
    if drafter:
        words += ["--speculative-config", json.dumps(speculative_config(drafter))]
    return words


def parallel_size(spec: Spec, option: str) -> int:
    """Size in force of one kind of parallelism; unless args name any, the tensor size is all GPUs."""
    flags = parallel_flags(spec)
    if not flags and option == TENSOR_PARALLEL:
        return spec.accelerator.count
    sizes = [size for flag in flags if flag.means(option) and (size := whole(flag)) is not None]
    return sizes[-1] if sizes else 1


def parallel_flags(spec: Spec) -> list[Flag]:
    """Those of `engine.args` that set a parallel size."""
    flags = read_flags(spec.engine.args or [])
    return [flag for flag in flags if any(flag.means(option) for option in PARALLEL)]


def whole(flag: Flag) -> int | None:
    """Its value as a whole number of at least 1; None where it is none."""
    text = flag.value or ""
    return int(text) if text.isascii() and text.isdigit() and int(text) >= 1 else None
