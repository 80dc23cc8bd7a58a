"""A Kubernetes API on loopback, as far as discovery, lists and watches go: what kopf and the start need."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from specdeploy.api.crd import custom_resource_definition

CHILD = {"app.kubernetes.io/managed-by": "specdeploy", "specdeploy.dev/name": "gemma"}
# The logger in which kopf tells how it stops, and what it says there once no task is left after 5 s.
STOPPING, NOTHING_HUNG = "kopf._core.reactor.running", "Hung tasks stopping is skipped: no tasks given."
# The last three are never listed, but kopf waits until it knows that they exist.
RESOURCES = {
    "/apis/specdeploy.dev/v1alpha1": {"specdeployments": "SpecDeployment"},
    "/apis/apps/v1": {"deployments": "Deployment"},
    "/api/v1": {"pods": "Pod", "namespaces": "Namespace", "events": "Event"},
    "/apis/apiextensions.k8s.io/v1": {"customresourcedefinitions": "CustomResourceDefinition"},
}


@dataclass
class Api:
    """Discovery, lists and watches of three kinds. `asked`: method, path and label selector of each call."""

    objects: dict[str, list[dict[str, Any]]]
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    changes: "asyncio.Queue[dict[str, Any]]" = field(default_factory=asyncio.Queue)
    open_watches: int = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.method, request.path, request.query.get("labelSelector", "")))
        if request.path in RESOURCES:
            return web.json_response(self._discovery(request.path))
        if request.path == "/api":
            return web.json_response({"versions": ["v1"]})
        if request.path == "/apis":
            names = [path.split("/")[2:] for path in RESOURCES if path.startswith("/apis")]
            return web.json_response({"groups": [_group(*name) for name in names]})
        if request.path == "/version":
            return web.json_response({"major": "1", "minor": "36"})
        plural = request.path.rpartition("/")[2]
        if plural == "specdeployments.specdeploy.dev":
            return web.json_response(custom_resource_definition())
        if plural not in self.objects:
            return web.json_response({"message": f"{plural} not found"}, status=404)
        if "watch" in request.query:
            return await self._watch(request, plural)
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": self.objects[plural]})

    def _discovery(self, path: str) -> dict[str, Any]:
        verbs = ["get", "list", "watch", "patch", "create", "delete"]
        common = {"namespaced": True, "verbs": verbs}
        named = RESOURCES[path].items()
        return {"resources": [{"name": n, "singularName": k.lower(), "kind": k, **common} for n, k in named]}

    async def _watch(self, request: web.Request, plural: str) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        self.open_watches += 1
        while plural == "pods":
            change = await self.changes.get()
            await response.write(json.dumps(change).encode() + b"\n")
        await asyncio.sleep(3600)
        return response


def _group(name: str, version: str) -> dict[str, Any]:
    served = {"version": version}
    return {"name": name, "versions": [served], "preferredVersion": served}


def an_object(name: str, labels: dict[str, str] | None = None) -> dict[str, Any]:
    meta = {"name": name, "namespace": "ns", "uid": name, "resourceVersion": "1", "labels": labels or {}}
    return {"metadata": meta, "spec": {}}


@asynccontextmanager
async def serving(api: Api) -> AsyncIterator[tuple[str, web.AppRunner]]:
    """Its address, while it serves."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", api.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", runner
    finally:
        await runner.cleanup()
