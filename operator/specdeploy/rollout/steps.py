"""How many pods a promoted drafter has in each step, and which step comes next. Pure arithmetic."""

from collections.abc import Sequence

WHOLE = 100


def stepped(served: int, percent: int, least: int) -> int:
    """Pods of the promoted drafter when `percent` of the `served` pods are its own: rounded up, at least
    `least` (those that its trial had), at most all."""
    return min(served, max(least, -(-percent * served // WHOLE)))


def following(steps: Sequence[int], percent: int, served: int, least: int) -> int | None:
    """The first step with more pods than `percent` gives; None where that gives all of them. Steps of as
    many pods are one."""
    have = stepped(served, percent, least)
    if have >= served:
        return None
    more = (step for step in sorted(steps) if stepped(served, step, least) > have)
    return next(more, WHOLE)


def beyond_half(served: int, percent: int, least: int) -> bool:
    """Whether a step gives more than half of the pods, an odd one left aside."""
    return stepped(served, percent, least) > -(-served // 2)
