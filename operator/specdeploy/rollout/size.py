"""The size of a status: always below 16 KiB, whatever was said. Last step of a decision.

What is dropped first is what is told elsewhere (Events, metrics) or drawn for people; what decides (verdicts
of listed revisions, the trial's evidence, the guard, the newest requests) is never dropped.
"""

import json
from collections.abc import Callable, Collection, Iterator

from specdeploy.api.reasons import Outcome
from specdeploy.api.status import Status, Verdict
from specdeploy.rollout.verdicts import INVALID_DRAFTER

LARGEST = 16 * 1024
# Room for what the API server may write differently.
_BUDGET = LARGEST - 256
_SHORT = 64


def size(status: Status) -> int:
    """Bytes of the status as stored."""
    return len(json.dumps(status.wire(), separators=(",", ":"), ensure_ascii=False).encode())


def fitted(status: Status, listed: Collection[str]) -> Status:
    """The status, or as much of it as stays below the limit. `listed`: the spec's revisions."""
    lighter = _lighter(status, listed)
    while size(status) > _BUDGET:
        less = next(lighter, None)
        if less is None:
            break
        status = less
    return status


def _lighter(status: Status, listed: Collection[str]) -> Iterator[Status]:
    """The status with less and less: without pictures, strangers (verdicts of revisions that are not listed),
    sentences, the oldest first; then with short words and bare figures."""
    for change in (_without_picture, _without_stranger(listed), _without_sentence):
        for place in reversed(range(len(status.verdicts or []))):
            verdicts = list(status.verdicts or [])
            verdicts[place : place + 1] = change(verdicts[place])
            status = status.model_copy(update={"verdicts": verdicts or None})
            yield status
    for shorten in _SHORTEN:
        status = shorten(status)
        yield status


def _without_picture(verdict: Verdict) -> list[Verdict]:
    return [verdict.model_copy(update={"recent": None})]


def _without_stranger(listed: Collection[str]) -> Callable[[Verdict], list[Verdict]]:
    return lambda verdict: [verdict] if verdict.revision in listed else []


def _without_sentence(verdict: Verdict) -> list[Verdict]:
    return [verdict.model_copy(update={"message": None})]


def _cut(text: str) -> str:
    """The beginning of a text, in bytes."""
    return text.encode()[:_SHORT].decode(errors="ignore")


def _short_conditions(status: Status) -> Status:
    conditions = [c.model_copy(update={"message": _cut(c.message)}) for c in status.conditions or []]
    return status.model_copy(update={"conditions": conditions, "message": _cut(status.message or "")})


def _short_requests(status: Status) -> Status:
    requests = [r.model_copy(update={"result": _cut(r.result)}) for r in status.requests or []]
    return status.model_copy(update={"requests": requests or None})


def _lean_trial(status: Status) -> Status:
    """The trial without what only people read."""
    if status.trial is None:
        return status
    lean = status.trial.model_copy(update=dict.fromkeys(("recent", "skipped", "first_window_time")))
    return status.model_copy(update={"trial": lean})


def _bare(verdict: Verdict) -> Verdict:
    """What a verdict decides by, and its outcome; without the figures that only people read."""
    dropped = ["windows", "upper", "ratio", "first_window_time"]
    if verdict.outcome is not Outcome.RUNNER_UP:  # the best of them is found by its lower end
        dropped.append("lower")
    if verdict.reason != INVALID_DRAFTER:
        dropped.append("reason")
    return verdict.model_copy(update=dict.fromkeys(dropped))


def _bare_verdicts(status: Status) -> Status:
    return status.model_copy(update={"verdicts": [_bare(v) for v in status.verdicts or []] or None})


def _fresh_fallback(status: Status) -> Status:
    """What served before a promotion is guarded, and checked, anew if it comes back."""
    trial = status.trial
    if trial is None or trial.fallback is None:
        return status
    bare = dict.fromkeys(("guard", "compared_time", "rollback_seconds", "finding"))
    fallback = trial.fallback.model_copy(update=bare)
    return status.model_copy(update={"trial": trial.model_copy(update={"fallback": fallback})})


def _untold(status: Status) -> Status:
    """What engines have told of themselves: those that run are asked again."""
    engine, arm = status.engine, status.baseline
    if engine is not None:
        status = status.model_copy(update={"engine": engine.model_copy(update={"vllm_version": None})})
    if arm is not None:
        status = status.model_copy(update={"baseline": arm.model_copy(update={"answers": None})})
    return status


def _no_history(status: Status) -> Status:
    """Without its history the baseline teaches less; the guard itself is never dropped."""
    arm = status.baseline
    return (
        status
        if arm is None
        else status.model_copy(update={"baseline": arm.model_copy(update={"history": None})})
    )


_SHORTEN: tuple[Callable[[Status], Status], ...] = (
    _short_conditions,
    _short_requests,
    _lean_trial,
    _bare_verdicts,
    _fresh_fallback,
    _untold,
    _no_history,
)
