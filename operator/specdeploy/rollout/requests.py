"""Verbs by annotation: executed once, in a fixed order, never because an old object was restored."""

from dataclasses import dataclass
from typing import Literal

from specdeploy.api.names import ANNOTATION_ABORT, ANNOTATION_RETRY
from specdeploy.api.status import MAX_REQUESTS, Request, Status, instant, seconds
from specdeploy.rollout.decision import Event
from specdeploy.rollout.scene import Scene
from specdeploy.rollout.verdicts import released

Verb = Literal["abort", "retry"]
_ANNOTATIONS: tuple[tuple[Verb, str], ...] = (("abort", ANNOTATION_ABORT), ("retry", ANNOTATION_RETRY))


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
    stamp, _, drafter = value.partition("/")
    try:
        moment = seconds(stamp)
    except ValueError:
        return Order(verb, value, fault="not understood; write <RFC 3339 time>[/<drafter>]")
    last = max((seconds(r.value.partition("/")[0]) for r in _executed(status, verb)), default=0.0)
    if moment < scene.seen.created or moment <= last:
        return Order(verb, value, fault="stale: older than the object or than the last one handled")
    if drafter and scene.spec is not None and drafter not in scene.spec.names():
        return Order(verb, value, fault=f"no drafter {drafter!r} is listed")
    return Order(verb, value, drafter or None)


def _executed(status: Status, verb: Verb) -> list[Request]:
    return [r for r in status.requests or [] if r.verb == verb and not r.result.startswith("not ")]


def recorded(scene: Scene, status: Status, order: Order, result: str) -> tuple[Status, Event]:
    """The status that remembers this order as handled, and what is told."""
    request = Request(verb=order.verb, value=order.value, time=instant(scene.now), result=result[:1000])
    kept = [request, *(status.requests or [])][:MAX_REQUESTS]
    kind: Literal["Normal", "Warning"] = "Warning" if order.fault else "Normal"
    return status.model_copy(update={"requests": kept}), Event(
        kind, order.verb.capitalize(), f"{order.verb} {order.value}: {result}"
    )


def execute_retry(scene: Scene, status: Status, order: Order) -> tuple[Status, Event]:
    """Lift the quarantine of one drafter, or of all."""
    status, freed = released(status, order.drafter, scene.now)
    result = f"{', '.join(freed)} may be tried again" if freed else "done: nothing was quarantined"
    return recorded(scene, status, order, result)
