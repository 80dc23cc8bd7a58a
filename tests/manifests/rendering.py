"""Deployments to test with."""

from __future__ import annotations

from typing import Any

from specdeploy.api.spec import Spec
from specdeploy.engine.image import image_of
from specdeploy.engine.revision import Template, templates
from specdeploy.manifests.deployment import build_deployment
from specdeploy.manifests.owner import Owner

OWNER = Owner("gemma", "models", "5f1c6a1e-0000-4000-8000-000000000001")


def arms(spec: Spec) -> tuple[Template, ...]:
    """The templates of all arms, the baseline first."""
    found = templates(OWNER.name, spec, image_of(spec))
    return (found.baseline, *found.drafters)


def deployment(spec: Spec, arm: int = 0, replicas: int = 1) -> dict[str, Any]:
    """The Deployment of one arm; 0 is the baseline."""
    return build_deployment(
        OWNER, spec=spec, image=image_of(spec), template=arms(spec)[arm], replicas=replicas
    )


def pod(spec: Spec, arm: int = 0) -> dict[str, Any]:
    """The pod's spec of one arm."""
    found: dict[str, Any] = deployment(spec, arm)["spec"]["template"]["spec"]
    return found


def engine(spec: Spec, arm: int = 0) -> dict[str, Any]:
    """The engine's container of one arm."""
    found: dict[str, Any] = pod(spec, arm)["containers"][0]
    return found
