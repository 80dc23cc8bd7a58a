"""Writes the status, and finds out whether the cluster kept it. I/O.

A CRD older than the operator silently drops the fields it does not know. Then the same decision would be
taken, and written, for ever: it is written only when its meaning changes, and now and then to see whether
somebody has upgraded the CRD.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from specdeploy.api.findings import read_status
from specdeploy.api.reasons import Condition
from specdeploy.api.status import Status
from specdeploy.cluster import SPEC_DEPLOYMENTS, Cluster, Object
from specdeploy.gather import Gathered
from specdeploy.memory import Memory, Pruned
from specdeploy.rollout import quiet
from specdeploy.rollout.quiet import Kept
from specdeploy.telemetry import Telemetry

RETRY_SECONDS = 600.0


@dataclass(frozen=True)
class Stored:
    """What the cluster holds now, and whether that is the decision (or what was left of it): a decision
    that was not written is not told."""

    status: Status
    decided: bool


class StatusWriter:
    """Owns the writing of the status."""

    def __init__(self, cluster: Cluster, telemetry: Telemetry) -> None:
        self._cluster = cluster
        self._telemetry = telemetry

    async def store(self, found: Gathered, status: Status, memory: Memory) -> Stored:
        """PUT the status if it changed; quiet parts alone are kept in memory for a while. Raises Conflict if
        the object is not the one that was read."""
        wire = status.wire()
        if wire == (found.raw.get("status") or {}):
            return Stored(status, decided=True)
        if _may_wait(found, status, memory):
            memory.kept = Kept(found.stored, status)
            return Stored(status, decided=True)
        known = memory.pruned
        if known is not None and known.meaning == meaning(wire) and found.seen.now < known.until:
            return Stored(found.status, decided=False)
        answer = await self._cluster.replace_status(
            SPEC_DEPLOYMENTS, found.seen.namespace, found.seen.name, {**found.raw, "status": wire}
        )
        self._telemetry.status_writes.inc()
        memory.kept, memory.written = None, found.seen.now
        kept = answer.get("status") or {}
        lost = sorted(set(dropped(wire, kept)))
        memory.pruned = (
            Pruned(_sentence(lost), meaning(wire), found.seen.now + RETRY_SECONDS) if lost else None
        )
        return Stored(read_status(kept)[0] if lost else status, decided=True)


def _may_wait(found: Gathered, status: Status, memory: Memory) -> bool:
    """Whether nothing but quiet parts has changed, and the last writing was a short while ago. A process that
    has just started waits, too: or all objects would be written at once."""
    if memory.written is None:
        memory.written = found.seen.now
    read_whole = found.stored.wire() == (found.raw.get("status") or {})
    return (
        read_whole
        and 0 <= found.seen.now - memory.written < quiet.SECONDS
        and quiet.loud(status) == quiet.loud(found.stored)
    )


def meaning(wire: Object) -> object:
    """A status without instants, figures and what depends on its own memory: whether the object is ready,
    what /scale reads, and how far a trial is."""
    trial = wire.get("trial") or {}
    ready = [(c["status"], c["reason"]) for c in wire.get("conditions") or [] if c["type"] == Condition.READY]
    scale = wire.get("observedGeneration"), wire.get("replicas"), wire.get("selector")
    return ready, scale, trial.get("state"), trial.get("lastWindow")


def dropped(sent: Any, kept: Any, path: str = "status") -> Iterator[str]:
    """Paths of what was sent and not kept; list items are not told apart."""
    if isinstance(sent, dict) and isinstance(kept, dict):
        for name, value in sent.items():
            if name in kept:
                yield from dropped(value, kept[name], f"{path}.{name}")
            else:
                yield f"{path}.{name}"
    elif isinstance(sent, list) and isinstance(kept, list):
        for one, other in zip(sent, kept, strict=False):
            yield from dropped(one, other, f"{path}[]")


def _sentence(lost: list[str]) -> str:
    return (
        f"the CRD in the cluster is older than this operator and dropped {', '.join(lost[:5])}; "
        "upgrade it (helm upgrade, or `specdeploy crd | kubectl apply -f -`)"
    )
