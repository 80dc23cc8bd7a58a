"""Writes children as planned. I/O; writes are conditional on what was read, a second run does nothing."""

import logging
from typing import Any

from specdeploy.api.names import ANNOTATION_ADOPT
from specdeploy.api.spec import Spec
from specdeploy.cluster import (
    BUDGETS,
    DEPLOYMENTS,
    EVENTS,
    SERVICES,
    AlreadyExists,
    Cluster,
    ClusterError,
    Object,
    Refused,
)
from specdeploy.engine.revision import Template
from specdeploy.gather import Gathered, Memory, may_write, name_taken
from specdeploy.manifests.budget import build_budget
from specdeploy.manifests.deployment import build_deployment
from specdeploy.manifests.event import build_event
from specdeploy.manifests.owner import Owner
from specdeploy.manifests.service import build_service
from specdeploy.rollout import Deployment, Event, Plan

log = logging.getLogger(__name__)


class Applier:
    """Owns the writing side of a pass, the status apart."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def apply(self, found: Gathered, plan: Plan, image: str, memory: Memory) -> bool:
        """Bring the children to the plan. True: repeat the pass at once, to tell what came up."""
        seen, spec = found.seen, found.seen.reading.spec
        owner = Owner(seen.name, seen.namespace, seen.uid)
        for leftover in plan.delete:
            await self._cluster.delete(DEPLOYMENTS, seen.namespace, leftover.name, leftover.uid)
        for existing, replicas in plan.scale:
            await self._scale(seen.namespace, existing, replicas)
        again = await self._adopt(found, owner)
        if spec is None:
            return again
        for template, replicas in plan.create:
            body = build_deployment(owner, spec=spec, image=image, template=template, replicas=replicas)
            again |= await self._create(found, template, body, memory)
        await self._service(found, owner, spec)
        await self._budget(found, owner, plan.available)
        return again

    async def _scale(self, namespace: str, existing: Deployment, replicas: int) -> None:
        """Only `replicas`, only of the very object that was read."""
        body = {
            "metadata": {"uid": existing.uid, "resourceVersion": existing.resource_version},
            "spec": {"replicas": replicas},
        }
        await self._cluster.patch(DEPLOYMENTS, namespace, existing.name, body, "merge")

    async def _create(self, found: Gathered, template: Template, body: Object, memory: Memory) -> bool:
        name, namespace = body["metadata"]["name"], found.seen.namespace
        try:
            await self._cluster.create(DEPLOYMENTS, namespace, body)
        except Refused as error:
            known = memory.refused.get(template.hash)
            memory.refused[template.hash] = str(error)
            return known != str(error)
        except AlreadyExists:
            live = await self._cluster.get(DEPLOYMENTS, namespace, name)
            known = memory.conflicts.get(name)
            memory.conflicts[name] = name_taken("Deployment", live)
            return known != memory.conflicts[name]
        memory.refused.pop(template.hash, None)
        memory.conflicts.pop(name, None)
        return False

    async def _adopt(self, found: Gathered, owner: Owner) -> bool:
        """Orphans with our labels become ours, if the object asks for it."""
        if found.seen.annotations.get(ANNOTATION_ADOPT) != "true":
            return False
        orphans = [d for d in found.seen.deployments if not d.ours and d.owner.startswith("nobody")]
        for orphan in orphans:
            body: dict[str, Any] = {
                "metadata": {
                    "uid": orphan.uid,
                    "resourceVersion": orphan.resource_version,
                    "ownerReferences": [owner.reference()],
                }
            }
            await self._cluster.patch(DEPLOYMENTS, found.seen.namespace, orphan.name, body, "merge")
        return bool(orphans)

    async def _service(self, found: Gathered, owner: Owner, spec: Spec) -> None:
        if not spec.service.create or (found.service is not None and not may_write(found.raw, found.service)):
            return
        body = build_service(owner, spec)
        if found.service is None or not contains(found.service, body):
            await self._cluster.patch(SERVICES, owner.namespace, owner.name, body, "apply")

    async def _budget(self, found: Gathered, owner: Owner, available: int) -> None:
        if found.budget is not None and not may_write(found.raw, found.budget):
            return
        body = build_budget(owner, available)
        if found.budget is None or not contains(found.budget, body):
            await self._cluster.patch(BUDGETS, owner.namespace, owner.name, body, "apply")

    async def tell(self, found: Gathered, events: tuple[Event, ...]) -> None:
        """Post Events. They are for people: one that can't be posted is logged, and nothing fails."""
        owner = Owner(found.seen.name, found.seen.namespace, found.seen.uid)
        for number, event in enumerate(events):
            log.info("%s/%s: %s: %s", owner.namespace, owner.name, event.reason, event.message)
            body = build_event(
                owner,
                kind=event.type,
                reason=event.reason,
                message=event.message,
                now=found.seen.now,
                number=number,
            )
            try:
                await self._cluster.create(EVENTS, owner.namespace, body)
            except ClusterError as error:
                log.warning("an Event could not be posted: %s", error)


def contains(live: Any, wanted: Any) -> bool:
    """Whether a live object already holds everything that we would apply."""
    if isinstance(wanted, dict):
        return isinstance(live, dict) and all(contains(live.get(k), v) for k, v in wanted.items())
    if isinstance(wanted, list):
        return (
            isinstance(live, list)
            and len(live) == len(wanted)
            and all(contains(one, other) for one, other in zip(live, wanted, strict=True))
        )
    return bool(live == wanted)
