"""What can still be checked of a spec in which something is wrong: quotes are read as they were meant, what
can't be read is left out. For `lint`, so that one mistake hides no other; nothing is applied from it.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from specdeploy.api.admission import Refusal, Refused, completed, object_refusals

from .nodes import Node
from .paths import Path, is_of_a_drafter
from .values import value_at

# What is left out may leave out what another needs.
_ROUNDS = 4
# The API server refuses these, and yet they can be read.
_READABLE = (Refused.UNKNOWN, Refused.RULE, Refused.TWICE)


def refused(body: dict[str, Any], most: int) -> list[Refusal]:
    """What the API server would refuse of a completed object, the first ones."""
    return list(islice(object_refusals(body), most))


def readable(root: Node, body: dict[str, Any], most: int) -> tuple[dict[str, Any] | None, bool]:
    """A completed body whose spec can be read but for some drafters, None if there is no way to it; and
    whether all of it is as it was meant."""
    exact = True
    for _ in range(_ROUNDS):
        wrong = [each for each in refused(body, most) if _hinders(each)]
        if not wrong:
            return body, exact
        for each in wrong:
            meant = _meant(root, each)
            exact = exact and meant is not None
            if not _put(body, each.path, meant) and not _leave_out(body, each):
                return None, False
        body = completed(body)
    return None, False


def _hinders(refusal: Refusal) -> bool:
    of_spec = refusal.path[0] == "spec" and not is_of_a_drafter(refusal.path)
    return of_spec and refusal.why not in _READABLE


def _meant(root: Node, refusal: Refusal) -> str | int | bool | None:
    """What a value with quotes too many or too few stands for."""
    node = value_at(root, refusal.path)
    if node is None:
        return None
    if refusal.why is Refused.UNQUOTED:
        return node.text
    if refusal.why is Refused.QUOTED:
        return node.text == "true" if node.text in ("true", "false") else int(node.text)
    return None


def _put(body: dict[str, Any], path: Path, meant: str | int | bool | None) -> bool:
    holder: Any = _at(body, path[:-1])
    if meant is None or holder is None:
        return False
    holder[path[-1]] = meant
    return True


def _leave_out(body: dict[str, Any], refusal: Refusal) -> bool:
    """Remove the field that is wrong, or lacks another; with it the list that it is an item of."""
    path = refusal.path[:-1] if refusal.why is Refused.MISSING else refusal.path
    while path and isinstance(path[-1], int):
        path = path[:-1]
    holder = _at(body, path[:-1])
    if len(path) < 2 or not isinstance(holder, dict):
        return False
    holder.pop(path[-1], None)
    return True


def _at(body: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        try:
            body = body[step]
        except (KeyError, IndexError, TypeError):
            return None
    return body
