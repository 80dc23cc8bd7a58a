"""The engine's container."""

from typing import Any

from specdeploy.api.names import CONTAINER, PORT
from specdeploy.api.spec import Drafter, Spec
from specdeploy.engine.arguments import COMMAND, serve_arguments
from specdeploy.engine.environment import engine_environment

from .probes import build_probes
from .volumes import build_mounts


def build_container(spec: Spec, image: str, drafter: Drafter | None) -> dict[str, Any]:
    """A core/v1 Container that runs `vllm serve`, with speculation when there is a drafter."""
    return {
        "name": CONTAINER,
        "image": image,
        "imagePullPolicy": spec.engine.image_pull_policy,
        "command": list(COMMAND),
        "args": serve_arguments(spec, drafter),
        "env": engine_environment(spec, image),
        "ports": [{"name": "http", "containerPort": PORT, "protocol": "TCP"}],
        "resources": _resources(spec),
        "volumeMounts": build_mounts(spec),
        **build_probes(spec),
        **_lifecycle(spec),
        # An engine says why it died on its log; the reason of a verdict is read from the end of it.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }


def _resources(spec: Spec) -> dict[str, Any]:
    """The user's, with the GPUs as limit and as request (Kubernetes wants them equal)."""
    template = spec.engine.pod_template
    given = (template.resources if template else None) or {}
    gpus = {spec.accelerator.resource_name: str(spec.accelerator.count)}
    return {
        **given,
        "requests": {**(given.get("requests") or {}), **gpus},
        "limits": {**(given.get("limits") or {}), **gpus},
    }


def _lifecycle(spec: Spec) -> dict[str, Any]:
    """Before it is told to stop the engine serves on, until no client is sent to it any more."""
    seconds = spec.engine.drain.endpoint_removal_seconds
    return {"lifecycle": {"preStop": {"sleep": {"seconds": seconds}}}} if seconds else {}
