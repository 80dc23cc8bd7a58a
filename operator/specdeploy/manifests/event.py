"""The Kubernetes Event that tells a decision, about the SpecDeployment itself."""

import zlib
from typing import Any

from specdeploy.api.names import API_VERSION, KIND
from specdeploy.api.status import instant
from specdeploy.manifests.owner import Owner

COMPONENT = "specdeploy"
_LONGEST_MESSAGE = 1024


def build_event(owner: Owner, *, kind: str, reason: str, message: str, now: float) -> dict[str, Any]:
    """A core/v1 Event. `kind` is Normal or Warning. The same thing told twice in a moment is one Event."""
    moment = instant(now)
    content = zlib.crc32(f"{reason} {message}".encode())
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{owner.name}.{int(now * 1000):x}.{content:08x}",
            "namespace": owner.namespace,
        },
        "involvedObject": {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "name": owner.name,
            "namespace": owner.namespace,
            "uid": owner.uid,
        },
        "type": kind,
        "reason": reason,
        "message": message[:_LONGEST_MESSAGE],
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "count": 1,
    }
