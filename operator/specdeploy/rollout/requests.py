"""Verbs by annotation: executed once, in a fixed order, never because an old object was restored.

Flow: annotations -> orders -> `advance` executes each -> recorded in status, so that none is executed twice.
"""

from dataclasses import dataclass
from typing import Literal

from specdeploy.api.names import ANNOTATION_ABORT, ANNOTATION_RETRY
from specdeploy.api.status import MAX_REQUESTS, Request, Status, instant, seconds
from specdeploy.rollout.decision import Event
from specdeploy.rollout.scene import Scene
from specdeploy.rollout.verdicts import released

Verb = Literal["abort", "retry"]
_ANNOTATIONS: tuple[tuple[Verb, str], ...] = (("abort", ANNOTATION_ABORT), ("retry", ANNOTATION_RETRY))

# How far somebody's clock may be ahead of ours, in seconds.
_AHEAD = 600.0
_REFUSED = "not executed"
_LONGEST = 200
# Kinds of requests of which the newest is always kept: two verbs, executed or not.
_KINDS = 4


@dataclass(frozen=True)
class Order:
    """One annotation that was not handled yet. `fault`: why it is not executed."""

    verb: Verb
    value: str
    drafter: str | None = None
    fault: str | None = None


def pending(scene: Scene, status: Status) -> tuple[Order, ...]:
    """The annotations that are new, in the order in which they are executed."""
    handled = {(r.verb, r.value) for r in status.requests or []}
    orders = []
    for verb, annotation in _ANNOTATIONS:
        value = scene.seen.annotations.get(annotation, "")[:128]
        if value and (verb, value) not in handled:
            orders.append(_order(scene, status, verb, value))
    return tuple(orders)


def _order(scene: Scene, status: Status, verb: Verb, value: str) -> Order:
    moment = _moment(value)
    drafter = value.partition("/")[2]
    if moment is None:
        return Order(verb, value, fault="not understood; write <RFC 3339 time>[/<drafter>]")
    if moment > scene.now + _AHEAD:
        return Order(verb, value, fault="its time is in the future; write the time of now")
    if moment < scene.seen.created or moment < _last(status, verb):
        return Order(verb, value, fault="stale: older than the object or than the last one handled")
    if drafter and scene.spec is not None and drafter not in scene.spec.names():
        return Order(verb, value, fault=f"no drafter {drafter!r} is listed")
    return Order(verb, value, drafter or None)


def _moment(value: str) -> float | None:
    try:
        return seconds(value.partition("/")[0])
    except ValueError:
        return None


def _last(status: Status, verb: Verb) -> float:
    """When the last executed order of this verb was given, and no later than it was executed: somebody whose
    clock is ahead makes no order of the next minutes stale."""
    executed = [r for r in status.requests or [] if r.verb == verb and not r.result.startswith(_REFUSED)]
    return max((min(_moment(r.value) or 0.0, seconds(r.time)) for r in executed), default=0.0)


def recorded(scene: Scene, status: Status, order: Order, result: str) -> tuple[Status, Event]:
    """The status that remembers this order as handled, and what is told."""
    text = f"{_REFUSED}: {order.fault}" if order.fault else result
    request = Request(verb=order.verb, value=order.value, time=instant(scene.now), result=text[:_LONGEST])
    status = status.model_copy(update={"requests": _bounded([request, *(status.requests or [])])})
    kind: Literal["Normal", "Warning"] = "Warning" if order.fault else "Normal"
    return status, Event(kind, order.verb.capitalize(), f"{order.verb} {order.value}: {text}")


def _bounded(requests: list[Request]) -> list[Request]:
    """The newest few, and of each verb at least the newest executed and the newest at all: forgetting them
    would execute, or tell of, an annotation that is still there once more."""
    kept: list[Request] = []
    seen: set[tuple[str, bool]] = set()
    for place, request in enumerate(requests):
        kind = (request.verb, request.result.startswith(_REFUSED))
        if place < MAX_REQUESTS - _KINDS or kind not in seen:
            kept.append(request)
        seen.add(kind)
    return kept


def execute_retry(scene: Scene, status: Status, order: Order) -> tuple[Status, Event]:
    """Lift the quarantine of one drafter, or of all."""
    status, freed = released(status, order.drafter, scene.now)
    result = f"{', '.join(freed)} may be tried again" if freed else "done: nothing was quarantined"
    return recorded(scene, status, order, result)
