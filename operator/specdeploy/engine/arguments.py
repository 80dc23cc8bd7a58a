"""The command line of `vllm serve`, and what may not stand in `engine.args`.

`manifests.container` uses the arguments, `checks` the findings.
"""

import json
import math

from specdeploy.api.names import PORT
from specdeploy.api.rule import Finding
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

_DRAFTERS = "list it under spec.drafters; these arguments go to every arm, the baseline included"
_PLAIN = "remove it; end TLS in front of the Service"

# Flags that are not the user's to pass: (why, what to do).
OWNED: dict[str, tuple[str, str]] = {
    "--speculative-config": ("speculation is set per arm", _DRAFTERS),
    "--spec-method": ("speculation is set per arm", _DRAFTERS),
    "--spec-model": ("speculation is set per arm", _DRAFTERS),
    "--spec-tokens": ("speculation is set per arm", _DRAFTERS),
    "--model": ("it has a field of its own", "use spec.model"),
    "--served-model-name": ("it has a field of its own", "use spec.servedModelName"),
    "--revision": ("it has a field of its own", "use spec.modelRevision"),
    "--host": ("probes, Service and metrics need the engine's address", "remove it"),
    "--port": (f"the engine listens on {PORT}", "remove it; spec.service.port is the port that clients use"),
    "--uds": ("probes, Service and metrics need the engine's port", "remove it"),
    "--headless": ("an engine without a server can't be probed", "remove it"),
    "--shutdown-timeout": ("it has a field of its own", "use spec.engine.drain.requestSeconds"),
    "--config": ("a file could set what SpecDeploy sets", "write its settings into spec.engine.args"),
    "--api-key": (
        "everybody who may read pods could read it",
        "remove it and set VLLM_API_KEY from a Secret in spec.engine.env",
    ),
    "--hf-token": ("everybody who may read pods could read it", "use spec.engine.hfTokenSecretRef"),
    "--ssl-keyfile": ("probes and metrics speak plain HTTP", _PLAIN),
    "--ssl-certfile": ("probes and metrics speak plain HTTP", _PLAIN),
    "--disable-log-stats": ("it removes the metrics that trials are judged by", "remove it"),
    "--per-request-spec-decode-metrics": ("the baseline does not start with it", "remove it"),
}


def serve_arguments(spec: Spec, drafter: Drafter | None) -> list[str]:
    """Arguments after `vllm serve`: the model, ours, the user's, and last the speculation if any."""
    engine = spec.engine
    words = [spec.model, "--served-model-name", spec.served_name]
    if spec.model_revision:
        words += ["--revision", spec.model_revision]
    words += ["--host", "0.0.0.0", "--port", str(PORT)]
    if not _parallel_flags(spec):
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
    flags = _parallel_flags(spec)
    if not flags and option == TENSOR_PARALLEL:
        return spec.accelerator.count
    sizes = [size for flag in flags if flag.means(option) and (size := _whole(flag)) is not None]
    return sizes[-1] if sizes else 1


def check_arguments(spec: Spec) -> tuple[Finding, ...]:
    """What is wrong with `engine.args`."""
    return (*_check_words(spec), *_check_owned(spec), *_check_parallelism(spec))


def _check_words(spec: Spec) -> list[Finding]:
    found = []
    for index, word in enumerate(spec.engine.args or []):
        name = word.partition("=")[0]
        if word == "--":
            found.append(Finding(_path(index), "'--' ends the flags, ours after it included", "remove it"))
        elif name.startswith("-") and any(c.isspace() for c in name):
            fix = "write each word as an item of its own"
            found.append(Finding(_path(index), f"{word!r} holds several words", fix))
    return found


def _check_owned(spec: Spec) -> list[Finding]:
    owned = dict(OWNED)
    if spec.engine.attention_backend:
        owned["--attention-backend"] = ("spec.engine.attentionBackend is set too", "keep one of the two")
    found = []
    for flag in read_flags(spec.engine.args or []):
        option = next((name for name in owned if flag.means(name)), None)
        if option is not None:
            reason, fix = owned[option]
            found.append(Finding(_path(flag.index), f"{option} is not allowed here: {reason}", fix))
    return found


def _check_parallelism(spec: Spec) -> list[Finding]:
    flags = _parallel_flags(spec)
    found = [
        Finding(_path(flag.index), f"{flag.name} needs a whole number of at least 1", "give its value")
        for flag in flags
        if _whole(flag) is None
    ]
    if found or not flags:
        return found
    product = math.prod(parallel_size(spec, option) for option in PARALLEL)
    count = spec.accelerator.count
    if product == count:
        return []
    reason = f"the parallel sizes multiply to {product}, but a pod has {count} GPUs"
    return [Finding("spec.engine.args", reason, "make their product equal to spec.accelerator.count")]


def _parallel_flags(spec: Spec) -> list[Flag]:
    flags = read_flags(spec.engine.args or [])
    return [flag for flag in flags if any(flag.means(option) for option in PARALLEL)]


def _whole(flag: Flag) -> int | None:
    text = flag.value or ""
    return int(text) if text.isascii() and text.isdigit() and int(text) >= 1 else None


def _path(index: int) -> str:
    return f"spec.engine.args[{index}]"
