"""Writes children as planned. I/O; writes are conditional on what was read, a second run does nothing."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from specdeploy.api.names import ANNOTATION_ADOPT, FIELD_MANAGER
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
    Object,
    Refused,
)
from specdeploy.gather import Gathered, Memory, may_write, name_taken
from specdeploy.manifests.budget import build_budget
from specdeploy.manifests.deployment import build_deployment
from specdeploy.manifests.event import build_event
from specdeploy.manifests.owner import Owner
from specdeploy.manifests.service import build_service
from specdeploy.observe import NOBODY, belongs, strayed_labels
from specdeploy.rollout import Deployment, Event, Plan

log = logging.getLogger(__name__)

# How a conflict of server-side apply names the manager and the fields that it set otherwise.
_CONFLICT_WITH = "conflict with "


@dataclass(frozen=True)
class Applied:
    """`again`: something came up that the decision did not know of; the pass ended there and is repeated at
    once. `events`: what was put right."""

    again: bool = False
    events: tuple[Event, ...] = ()


class Applier:
    """Owns the writing side of a pass, the status apart."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def apply(self, found: Gathered, stored: Status, plan: Plan, memory: Memory) -> Applied:
        """Bring the children to the plan. What can't be created is found out before a pod is taken for it."""
        owner = _owner(found)
        adopted = await self._adopt(found, owner)
        if adopted:
            return Applied(again=True, events=adopted)
        for leftover in plan.delete:
            await self._cluster.delete(DEPLOYMENTS, owner.namespace, leftover.name, leftover.uid)
        bodies = _to_create(found, stored, plan)
        _forget_unwanted(memory, bodies)
        if await self._create_all(found, bodies, memory):
            return Applied(again=True)  # no pod moves, nothing else is written by a decision that is void
        for existing, replicas in plan.scale:
            await self._scale(owner.namespace, existing, replicas)
        events = [Event("Warning", "ReplicasEdited", note) for note in plan.notes]
        events += await self._frame(found, stored, plan, owner)
        for stray in found.strays:
            events += await self._relabel(stray)
        return Applied(events=tuple(events))

    async def _create_all(self, found: Gathered, bodies: Mapping[str, Object], memory: Memory) -> bool:
        """Whether a refusal or a conflict came up that the decision did not know of."""
        news = [await self._create(found, template, body, memory) for template, body in bodies.items()]
        return any(news)

    async def _create(self, found: Gathered, template: str, body: Object, memory: Memory) -> bool:
        name = body["metadata"]["name"]
        try:
            await self._cluster.create(DEPLOYMENTS, found.seen.namespace, body)
        except Refused as error:
            return _remember(memory.refused, template, str(error))
        except AlreadyExists:
            return await self._held(found, body, memory)
        memory.refused.pop(template, None)
        memory.conflicts.pop(name, None)
        return False

    async def _held(self, found: Gathered, body: Object, memory: Memory) -> bool:
        """One of our names is in use: by somebody else, or by our own Deployment, whose label was edited."""
        meta, namespace = body["metadata"], found.seen.namespace
        live = await self._cluster.get(DEPLOYMENTS, namespace, meta["name"])
        if not belongs(live, found.seen.uid):
            return _remember(memory.conflicts, meta["name"], name_taken("Deployment", found.raw, live))
        return "deletionTimestamp" not in live["metadata"] and bool(await self._relabel(live))

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

    async def _adopt(self, found: Gathered, owner: Owner) -> tuple[Event, ...]:
        """Orphans with our labels become ours, if the object asks for it."""
        if found.seen.annotations.get(ANNOTATION_ADOPT) != "true":
            return ()
        orphans = [d for d in found.seen.deployments if not d.ours and d.owner == NOBODY and not d.deleting]
        for orphan in orphans:
            meta: dict[str, Any] = {"uid": orphan.uid, "resourceVersion": orphan.resource_version}
            meta["ownerReferences"] = [owner.reference()]
            await self._cluster.patch(DEPLOYMENTS, owner.namespace, orphan.name, {"metadata": meta}, "merge")
        return tuple(Event("Normal", "Adopted", f"Deployment {d.name} is taken over") for d in orphans)

    async def _frame(self, found: Gathered, stored: Status, plan: Plan, owner: Owner) -> tuple[Event, ...]:
        """The Service and the budget over all arms. With `service.create: false` a Service that was made
        before stays as it is: clients may use it, so deleting it is left to people."""
        spec = found.seen.reading.spec
        events: list[Event] = []
        if spec is not None and spec.service.create:
            events += await self._put(found, SERVICES, found.service, build_service(owner, spec))
        if stored.serving is not None:
            events += await self._put(found, BUDGETS, found.budget, build_budget(owner, plan.available))
        return tuple(events)

    async def _put(self, found: Gathered, kind: Kind, live: Object | None, body: Object) -> list[Event]:
        """Make it, or put right what differs. Nothing of somebody else's is touched: what is made in between
        is a conflict."""
        namespace, name = found.seen.namespace, body["metadata"]["name"]
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
        owner = _owner(found)
        for event in events:
            log.info("%s/%s: %s: %s", owner.namespace, owner.name, event.reason, event.message)
            body = build_event(
                owner,
                kind=event.type,
                reason=event.reason,
                message=event.message,
                now=found.seen.now,
            )
            try:
                await self._cluster.create(EVENTS, owner.namespace, body)
            except AlreadyExists:
                continue
            except ClusterError as error:
                log.warning("an Event could not be posted: %s", error)


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
    names = {body["metadata"]["name"] for body in bodies.values()}
    for template in memory.refused.keys() - bodies.keys():
        del memory.refused[template]
    for name in memory.conflicts.keys() - names:
        del memory.conflicts[name]


def _owner(found: Gathered) -> Owner:
    return Owner(found.seen.name, found.seen.namespace, found.seen.uid)


def _exactly(live: Object) -> dict[str, Any]:
    """Metadata that binds a patch to the very object that was read."""
    return {key: live["metadata"][key] for key in ("uid", "resourceVersion")}


def _remember(known: dict[str, str], key: str, words: str) -> bool:
    """Whether that was news."""
    news = known.get(key) != words
    known[key] = words
    return news


def contains(live: Any, wanted: Any) -> bool:
    """Whether a live object holds everything that we would apply; defaults and fields of others may be
    there too."""
    if isinstance(wanted, dict):
        return isinstance(live, dict) and all(contains(live.get(k), v) for k, v in wanted.items())
    if isinstance(wanted, list):
        return isinstance(live, list) and all(any(contains(one, item) for one in live) for item in wanted)
    return bool(live == wanted)


def abandons(live: Object, wanted: Object) -> bool:
    """Whether we own fields from an earlier apply that are wanted no more (an annotation left the spec)."""
    entries = live["metadata"].get("managedFields") or []
    return any(
        _more(entry.get("fieldsV1") or {}, wanted)
        for entry in entries
        if entry.get("manager") == FIELD_MANAGER and entry.get("operation") == "Apply"
    )


def _more(fields: Any, wanted: Any) -> bool:
    """Whether a set of fields (`{"f:spec": {"f:type": {}}}`) has one that `wanted` has not."""
    names = [key for key in fields if key.startswith("f:")]
    return any(
        not isinstance(wanted, dict) or key[2:] not in wanted or _more(fields[key], wanted[key[2:]])
        for key in names
    )
