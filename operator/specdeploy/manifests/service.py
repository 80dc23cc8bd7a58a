"""The one endpoint over all arms: every ready pod gets the same share of connections."""

from typing import Any

from specdeploy.api.names import PORT
from specdeploy.api.spec import Spec

from .labels import all_arms, common_labels
from .names import service_name
from .owner import Owner


def build_service(owner: Owner, spec: Spec) -> dict[str, Any]:
    """A core/v1 Service, as the body of a server-side apply. Wanted only where `service.create` is true."""
    metadata = owner.child(service_name(owner.name), common_labels(owner.name))
    if spec.service.annotations:
        metadata["annotations"] = dict(spec.service.annotations)
    port = {"name": "http", "port": spec.service.port, "targetPort": PORT, "protocol": "TCP"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {"type": spec.service.type, "selector": all_arms(owner.name), "ports": [port]},
    }
