"""kopf's events become keys in the queue, and nothing else happens here.

The handlers are coroutines: kopf runs plain functions in threads, and the queue belongs to the event loop.
"""

from collections.abc import Callable
from typing import Any

import kopf

from specdeploy.api.names import GROUP, LABEL_MANAGED_BY, LABEL_NAME, MANAGED_BY, PLURAL, VERSION

Add = Callable[[tuple[str, str]], None]


def register(registry: kopf.OperatorRegistry, add: Add) -> None:
    """Queue the SpecDeployment that an event is about."""

    @kopf.on.event(GROUP, VERSION, PLURAL, registry=registry)
    async def _object_seen(namespace: str | None, name: str | None, **_: Any) -> None:
        add((namespace or "", name or ""))

    @kopf.on.event("apps", "v1", "deployments", labels={LABEL_MANAGED_BY: MANAGED_BY}, registry=registry)
    @kopf.on.event("", "v1", "pods", labels={LABEL_MANAGED_BY: MANAGED_BY}, registry=registry)
    async def _child_seen(namespace: str | None, labels: Any, **_: Any) -> None:
        if owner := labels.get(LABEL_NAME):
            add((namespace or "", owner))


def configure(settings: kopf.OperatorSettings) -> None:
    """kopf as an informer only: no writes, no peering, no scans, server-side filtering of children."""
    settings.scanning.disabled = True
    settings.peering.standalone = True
    settings.posting.enabled = False
    settings.networking.request_timeout = 30
    settings.watching.chunk_size = 500
    for kind in (("apps", "v1", "deployments"), ("", "v1", "pods")):
        settings.watching.label_selectors[kind] = f"{LABEL_MANAGED_BY}={MANAGED_BY}"
