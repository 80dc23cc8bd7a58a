"""The pod of an engine: its container, its volumes, and the user's podTemplate merged in."""

from typing import Any

from specdeploy.api.engine_spec import PodTemplate
from specdeploy.api.names import CONTAINER
from specdeploy.api.spec import Spec
from specdeploy.engine.revision import Template

from .affinity import build_affinity
from .container import build_container
from .labels import template_labels
from .volumes import build_volumes

# After its drain the engine still ends its worker processes.
SHUTDOWN_SECONDS = 15

# podTemplate's fields that go into the pod's spec as they are.
_PASSED_ON = (
    "service_account_name",
    "node_selector",
    "tolerations",
    "topology_spread_constraints",
    "priority_class_name",
    "runtime_class_name",
    "scheduler_name",
    "image_pull_secrets",
    "init_containers",
)


def build_pod_template(owner_name: str, spec: Spec, image: str, template: Template) -> dict[str, Any]:
    """A core/v1 PodTemplateSpec. Where a key of a map is ours, ours stands."""
    given = spec.engine.pod_template or PodTemplate.model_validate({})
    return {
        "metadata": {
            "labels": {**(given.labels or {}), **template_labels(owner_name, template)},
            "annotations": {
                "kubectl.kubernetes.io/default-container": CONTAINER,
                **(given.annotations or {}),
            },
        },
        "spec": _pod_spec(spec, image, template, given),
    }


def _pod_spec(spec: Spec, image: str, template: Template, given: PodTemplate) -> dict[str, Any]:
    drain = spec.engine.drain
    affinity = build_affinity(spec)
    return {
        **given.model_dump(by_alias=True, exclude_none=True, mode="json", include=set(_PASSED_ON)),
        **({"affinity": affinity} if affinity else {}),
        "containers": [build_container(spec, image, template.config), *(given.containers or [])],
        "volumes": build_volumes(spec),
        # A Service named `vllm` would otherwise put a VLLM_PORT into the engine that it can't read.
        "enableServiceLinks": False,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": (
            drain.endpoint_removal_seconds + drain.request_seconds + SHUTDOWN_SECONDS
        ),
        # AMD's images run as root, and other users need the host's render group: runAsNonRoot is the user's
        # to set.
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}, **(given.security_context or {})},
    }
