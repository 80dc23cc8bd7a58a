"""kopf as the informer: its events become keys in the queue, and nothing else happens here.

The handlers are coroutines: kopf runs plain functions in threads, and the queue belongs to the event loop.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

import kopf

from specdeploy.api.names import GROUP, LABEL_MANAGED_BY, LABEL_NAME, MANAGED_BY, PLURAL, VERSION
from specdeploy.cluster import Access

Add = Callable[[tuple[str, str]], None]


async def inform(
    *,
    add: Add,
    access: Callable[[], Awaitable[Access]],
    namespaces: tuple[str, ...],
    ready: asyncio.Event,
    stop: asyncio.Event,
    end: Callable[[], Awaitable[None]],
) -> None:
    """Watch until `stop` is set, or SIGTERM or SIGINT comes: kopf takes both. No namespaces: all of them.

    kopf waits five seconds for any task that began after it did; `end` is awaited before, to end ours.
    """
    registry, settings = kopf.OperatorRegistry(), kopf.OperatorSettings()
    register(registry, add)
    configure(settings)

    @kopf.on.login(registry=registry)
    async def _login(**_: Any) -> kopf.ConnectionInfo:
        # kopf's own log-in asks DNS for the API server, and knows no kubeconfig plugin: it gets our access.
        return kopf.ConnectionInfo(**asdict(await access()))

    @kopf.on.cleanup(registry=registry)
    async def _cleanup(**_: Any) -> None:
        await end()

    await kopf.operator(
        registry=registry,
        settings=settings,
        standalone=True,
        clusterwide=not namespaces,
        namespaces=namespaces,
        ready_flag=ready,
        stop_flag=stop,
    )


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
