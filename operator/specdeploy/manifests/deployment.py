"""The Deployment of one template."""

from typing import Any

from specdeploy.api.names import ANNOTATION_RENDER_VERSION, ANNOTATION_SHAPE
from specdeploy.api.spec import Spec
from specdeploy.engine.revision import RENDER_VERSION, Template

from .labels import one_template, template_labels
from .names import deployment_name
from .owner import Owner
from .pod import build_pod_template

# A rollout may take this much longer than a pod's budget: scheduling, pulling the image, draining.
_PROGRESS_SLACK_SECONDS = 600


def build_deployment(
    owner: Owner, *, spec: Spec, image: str, template: Template, replicas: int
) -> dict[str, Any]:
    """An apps/v1 Deployment, to be created by POST; later only its `replicas` are written."""
    metadata = owner.child(deployment_name(owner.name, template), template_labels(owner.name, template))
    metadata["annotations"] = {
        ANNOTATION_SHAPE: template.shape,
        ANNOTATION_RENDER_VERSION: str(RENDER_VERSION),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": one_template(owner.name, template)},
            # There is no spare GPU: the old pod goes before the new one comes.
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "progressDeadlineSeconds": spec.engine.startup_seconds + _PROGRESS_SLACK_SECONDS,
            "revisionHistoryLimit": 1,
            "template": build_pod_template(owner.name, spec, image, template),
        },
    }
