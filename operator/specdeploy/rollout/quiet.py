"""The quiet parts of a status: state that moves with every window; losing some of it costs delay.

They are written together with anything else that changes, and alone only now and then; in between the process
keeps them in memory and lays them over what it reads.
"""

from dataclasses import dataclass

from specdeploy.api.status import Status

SECONDS = 900.0

_SERVING = frozenset({"guard", "compared_time"})
_BASELINE = frozenset({"history"})


@dataclass(frozen=True)
class Kept:
    """Quiet parts that are newer than the stored ones. `stored`: the status that they belong over."""

    stored: Status
    known: Status


def loud(status: Status) -> Status:
    """The status without its quiet parts. In a re-check nothing is quiet: it would begin anew with every
    restart."""
    checking = status.baseline is not None and status.baseline.check is not None
    return status if checking else _with_parts(status, Status())


def overlaid(stored: Status, kept: Kept | None) -> Status:
    """The stored status with what is known since; as it is where somebody has stored another one, for what
    was known then belongs to it no more."""
    if kept is None or stored != kept.stored:
        return stored
    return _with_parts(stored, kept.known)


def _with_parts(status: Status, known: Status) -> Status:
    update: dict[str, object] = {}
    for name, parts in (("serving", _SERVING), ("baseline", _BASELINE)):
        here, there = getattr(status, name), getattr(known, name)
        if here is not None:
            update[name] = here.model_copy(update={part: getattr(there, part, None) for part in parts})
    return status.model_copy(update=update)
