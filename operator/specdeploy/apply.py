"""Writes children as planned. I/O; writes are conditional on what was read, a second run does nothing.

One write that fails holds up no other: quotas, policies and broken webhooks answer for one object at a time.
It is remembered, told in the next pass, and tried again. What is not as it was read (Conflict, NotFound) ends
the pass.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from specdeploy.api.names import ANNOTATION_ADOPT
from specdeploy.api.status import Status
from specdeploy.cluster import (
    BUDGETS,
    DEPLOYMENTS,
    EVENTS,
    SERVICES,
    AlreadyExists,
    Cluster,
    ClusterError,
    Conflict,
    Kind,
    NotFound,
    Object,
    Refused,
)
from specdeploy.fields import abandons, contains
from specdeploy.gather import Gathered, may_write, name_taken
from specdeploy.manifests.budget import build_budget
from specdeploy.manifests.deployment import build_deployment
from specdeploy.manifests.event import build_event
from specdeploy.manifests.owner import Owner
from specdeploy.manifests.service import build_service
from specdeploy.memory import Memory
from specdeploy.observe import NOBODY, belongs, strayed_labels
from specdeploy.rollout import Deployment, Event, Plan
from specdeploy.writes import WRITE_SECONDS, Writes

log = logging.getLogger(__name__)

# How a conflict of server-side apply names the manager and the fields that it set otherwise.
_CONFLICT_WITH = "conflict with "
# How long a pass waits for the Deployments that it makes: a webhook may take its time.
CREATE_SECONDS = 20.0
# How long it goes on telling what it did.
TELL_SECONDS = 10.0


@dataclass(frozen=True)
class Applied:
    """`again`: something came up that the decision did not know of; the pass ended there and is to be
    repeated. `events`: what was put right."""

    again: bool = False
    events: tuple[Event, ...] = ()


class Applier:
    """Owns the writing side of a pass, the status apart."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def apply(self, found: Gathered, stored: Status, plan: Plan, memory: Memory) -> Applied:
        """Bring the children to the plan. What can't be created is found out before a pod is taken for it."""
        owner = _owner(found)
        write = Writes(memory.unwritten, found.seen.now)
        adopted = await self._adopt(found, owner, write)
        if adopted:
            return Applied(again=True, events=adopted)
        for old in plan.delete:
            await write(_named(old), self._cluster.delete(DEPLOYMENTS, owner.namespace, old.name, old.uid))
        bodies = _to_create(found, stored, plan)
        _forget_unwanted(memory, bodies)
        if await self._create_all(found, bodies, memory):
            return Applied(again=True)  # no pod moves, nothing else is written by a decision that is void
        for existing, replicas in plan.scale:
            await write(_named(existing), self._scale(owner.namespace, existing, replicas))
        events = [Event("Warning", "ReplicasEdited", note) for note in plan.notes]
        events += await self._frame(found, stored, plan, write)
        for stray in found.strays:
            events += await write(f"Deployment {stray['metadata']['name']}", self._relabel(stray)) or ()
        write.forget_others()
        return Applied(events=tuple(events))

    async def _create_all(self, found: Gathered, bodies: Mapping[str, Object], memory: Memory) -> bool:
        """Whether a refusal or a conflict came up that the decision did not know of. All at once: each may
        wait for a webhook."""
        creating = (self._create(found, template, body, memory) for template, body in bodies.items())
        return any(await asyncio.gather(*creating))

    async def _create(self, found: Gathered, template: str, body: Object, memory: Memory) -> bool:
        name, now = body["metadata"]["name"], found.seen.now
        try:
            async with asyncio.timeout(CREATE_SECONDS):
                await self._cluster.create(DEPLOYMENTS, found.seen.namespace, body)
        except Refused as error:
            memory.unmade.clear(template)
            return memory.refused.note(template, str(error), now)
        except AlreadyExists:
            return await self._held(found, template, body, memory)
        except (ClusterError, TimeoutError) as error:
            return _not_made(memory, template, error, now)
        for known, key in ((memory.refused, template), (memory.unmade, template), (memory.conflicts, name)):
            known.clear(key)
        return False

    async def _held(self, found: Gathered, template: str, body: Object, memory: Memory) -> bool:
        """One of our names is in use: by somebody else, or by our own Deployment, whose label was edited."""
        meta, namespace, now = body["metadata"], found.seen.namespace, found.seen.now
        try:
            async with asyncio.timeout(WRITE_SECONDS):
                live = await self._cluster.get(DEPLOYMENTS, namespace, meta["name"])
                if belongs(live, found.seen.uid):
                    return "deletionTimestamp" not in live["metadata"] and bool(await self._relabel(live))
        except (Conflict, NotFound):
            return True  # it has changed in between
        except (ClusterError, TimeoutError) as error:
            return _not_made(memory, template, error, now)
        return memory.conflicts.note(meta["name"], name_taken("Deployment", found.raw, live), now)

    async def _relabel(self, live: Object) -> tuple[Event, ...]:
        """Put the labels of our own Deployment right; its pods are not touched."""
        meta, labels = live["metadata"], strayed_labels(live)
        if not labels:
            return ()
        body = {"metadata": {"labels": labels} | _exactly(live)}
        await self._cluster.patch(DEPLOYMENTS, meta["namespace"], meta["name"], body, "merge")
        text = f"Deployment {meta['name']} is put right: labels {', '.join(labels)}"
        return (Event("Warning", "ChildEdited", text),)

    async def _scale(self, namespace: str, existing: Deployment, replicas: int) -> None:
        """Only `replicas`, only of the very object that was read."""
        body = {
            "metadata": {"uid": existing.uid, "resourceVersion": existing.resource_version},
            "spec": {"replicas": replicas},
        }
        await self._cluster.patch(DEPLOYMENTS, namespace, existing.name, body, "merge")

    async def _adopt(self, found: Gathered, owner: Owner, write: Writes) -> tuple[Event, ...]:
        """Orphans with our labels become ours, if the object asks for it."""
        if found.seen.annotations.get(ANNOTATION_ADOPT) != "true":
            return ()
        orphans = [d for d in found.seen.deployments if not d.ours and d.owner == NOBODY and not d.deleting]
        adopted = []
        for orphan in orphans:
            meta: dict[str, Any] = {"uid": orphan.uid, "resourceVersion": orphan.resource_version}
            body = {"metadata": meta | {"ownerReferences": [owner.reference()]}}
            patched = self._cluster.patch(DEPLOYMENTS, owner.namespace, orphan.name, body, "merge")
            if await write(_named(orphan), patched) is not None:
                adopted.append(Event("Normal", "Adopted", f"Deployment {orphan.name} is taken over"))
        return tuple(adopted)

    async def _frame(self, found: Gathered, stored: Status, plan: Plan, write: Writes) -> tuple[Event, ...]:
        """The Service and the budget over all arms. With `service.create: false` a Service that was made
        before stays as it is: clients may use it, so deleting it is left to people."""
        spec, owner, bodies = found.seen.reading.spec, _owner(found), []
        if spec is not None and spec.service.create:
            bodies.append((SERVICES, build_service(owner, spec)))
        if stored.serving is not None:
            bodies.append((BUDGETS, build_budget(owner, plan.available)))
        events: list[Event] = []
        for kind, body in bodies:
            if kind in found.frame:
                events += await write(f"{body['kind']} {owner.name}", self._put(found, kind, body)) or ()
        return tuple(events)

    async def _put(self, found: Gathered, kind: Kind, body: Object) -> list[Event]:
        """Make it, or put right what differs. Nothing of somebody else's is touched: what is made in between
        is a conflict."""
        namespace, name, live = found.seen.namespace, body["metadata"]["name"], found.frame[kind]
        if live is None:
            await self._cluster.patch(kind, namespace, name, body, "apply")
            return []
        if not may_write(found.raw, live) or (contains(live, body) and not abandons(live, body)):
            return []
        exact = {**body, "metadata": body["metadata"] | _exactly(live)}
        try:
            await self._cluster.patch(kind, namespace, name, exact, "apply")
        except Conflict as error:
            if _CONFLICT_WITH not in str(error):
                raise
            await self._cluster.patch(kind, namespace, name, exact, "force")
            text = f"{body['kind']} {name} is put right: {str(error).partition(_CONFLICT_WITH)[2]}"
            return [Event("Warning", "ChildEdited", text)]
        return []

    async def tell(self, found: Gathered, events: Iterable[Event]) -> None:
        """Post Events. They are for people: one that can't be posted is logged, and nothing fails."""
        owner, told = _owner(found), tuple(events)
        for event in told:
            log.info("%s/%s: %s: %s", owner.namespace, owner.name, event.reason, event.message)
        try:
            async with asyncio.timeout(TELL_SECONDS):
                for event in told:
                    await self._tell(owner, event, found.seen.now)
        except TimeoutError:
            log.warning("Events could not be posted within %.0f s", TELL_SECONDS)

    async def _tell(self, owner: Owner, event: Event, now: float) -> None:
        body = build_event(owner, kind=event.type, reason=event.reason, message=event.message, now=now)
        try:
            await self._cluster.create(EVENTS, owner.namespace, body)
        except AlreadyExists:
            return
        except ClusterError as error:
            log.warning("an Event could not be posted: %s", error)


def _not_made(memory: Memory, template: str, error: Exception, now: float) -> bool:
    """Whether it is news that a Deployment can't be made, which says nothing of the Deployment. What was
    refused stays so until it is taken."""
    if template in memory.refused:
        return False
    words = str(error) or f"no answer within {CREATE_SECONDS:.0f} s"
    if news := memory.unmade.note(template, words, now):
        log.warning("a Deployment of template %s can't be made: %s", template, words)
    return news


def _to_create(found: Gathered, stored: Status, plan: Plan) -> dict[str, Object]:
    """Template -> its Deployment; none without a spec that can be read and an image that is stored."""
    spec, image = found.seen.reading.spec, stored.engine.image if stored.engine else None
    if spec is None or not image:
        return {}
    owner = _owner(found)
    return {
        template.hash: build_deployment(owner, spec=spec, image=image, template=template, replicas=replicas)
        for template, replicas in plan.create
    }


def _forget_unwanted(memory: Memory, bodies: Mapping[str, Object]) -> None:
    """What is wanted no more is refused and in conflict no more."""
    memory.refused.keep(bodies.keys())
    memory.unmade.keep(bodies.keys())
    memory.conflicts.keep({body["metadata"]["name"] for body in bodies.values()})


def _named(deployment: Deployment) -> str:
    return f"Deployment {deployment.name}"


def _owner(found: Gathered) -> Owner:
    return Owner(found.seen.name, found.seen.namespace, found.seen.uid)


def _exactly(live: Object) -> dict[str, Any]:
    """Metadata that binds a patch to the very object that was read."""
    return {key: live["metadata"][key] for key in ("uid", "resourceVersion")}
