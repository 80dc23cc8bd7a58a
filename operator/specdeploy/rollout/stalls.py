"""Engines that give no token to those who wait, and call themselves healthy all the same.

The readings of counters -> stalls -> the pods of an observation -> health, conditions, what moves pods.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from specdeploy.api.status import instant
from specdeploy.rollout.observation import Pod, Sign

STALL_SECONDS = 60.0
LASTING_SECONDS = 300.0
"""An engine may compile for minutes (AITER: 225 s, aiter#4055). What has proven that it serves is given so
long, and nothing that nobody judges is made anew before."""
LONGEST_SECONDS = 3600.0
# A reading comes some moments after its window's end, not always the same: two windows of 60 s are a stall.
_JITTER = 5.0

Signs = Mapping[tuple[str, int], Sign]
"""By the uid of a pod and the restarts of its engine: another process lives another life."""


class Remade:
    """How often in a row all pods of a template were dead: each time they are given twice as long."""

    def __init__(self) -> None:
        self._times: Counter[str] = Counter()
        self._dead: frozenset[str] = frozenset()

    def patience(self, template: str) -> float:
        """Seconds that its pods may stand still before they are made anew."""
        return min(LONGEST_SECONDS, LASTING_SECONDS * 2.0 ** self._times[template])

    def note(self, pods: tuple[Pod, ...]) -> tuple[Pod, ...]:
        """Count those that are dead now; who has moved since begins anew. The pods are handed on."""
        dead = frozenset(pod.template for pod in pods if pod.dead)
        self._times.update(dead - self._dead)
        self._dead = dead
        for pod in pods:
            if pod.answers and pod.moves:
                del self._times[pod.template]
        return pods


def with_stalls(pods: Iterable[Pod], signs: Signs, remade: Remade) -> tuple[Pod, ...]:
    """The pods as they are to those who wait for tokens.

    Where all of a Deployment stand still for long they are as good as never started: nothing is lost by
    taking them. Not where others of it serve or load: a ReplicaSet sees no difference and might take those.
    """
    here = tuple(_as_it_is(pod, signs.get((pod.uid, pod.restarts))) for pod in pods)
    alive = {p.template for p in here if not p.terminating and not _stands(p, remade.patience(p.template))}
    return tuple(pod if pod.silence is None or pod.template in alive else _dead(pod) for pod in here)


def lasts(pod: Pod) -> bool:
    """Whether a pod stands still for so long that it does not come back."""
    return _stands(pod, LASTING_SECONDS)


def everywhere(pods: Iterable[Pod], template: str) -> bool:
    """Whether nothing has moved in the pods beside a template's since one of its own stands still. It may be
    the network, a driver or the clients then: it is no fault of a drafter."""
    here = [pod for pod in pods if not pod.terminating]
    since = max((p.silence.seconds for p in here if p.template == template and p.silence), default=0.0)
    others = [pod for pod in here if pod.template != template]
    return bool(others) and not any(p.quiet is not None and p.quiet < since - _JITTER for p in others)


def stand_still(pods: Iterable[Pod]) -> str | None:
    """Which pods stand still and what becomes of them, in words that stay while it lasts; None: none does."""
    still = sorted((pod for pod in pods if pod.silence is not None and not pod.terminating), key=_name)
    if not still:
        return None
    first, more = still[0], f" and {len(still) - 1} more" if still[1:] else ""
    since = instant(min(pod.silence.since for pod in still if pod.silence is not None))
    return (
        f"{first.name}{more}: no sign of life since {since}, with /health answering; a pod that is deleted "
        f"is made anew, and so are all of a Deployment in which none lives for {LASTING_SECONDS / 60:.0f} min"
    )


def _name(pod: Pod) -> str:
    return pod.name


def _as_it_is(pod: Pod, sign: Sign | None) -> Pod:
    if sign is None or not pod.ready:
        return pod
    stalls = sign.silence is not None and sign.silence.seconds >= STALL_SECONDS - _JITTER
    return replace(pod, quiet=sign.quiet, moves=sign.moves, silence=sign.silence if stalls else None)


def _stands(pod: Pod, seconds: float) -> bool:
    """Gauges alone are not believed for long: what they show may be left over from a client that is gone."""
    return pod.silence is not None and pod.silence.asked and pod.silence.seconds >= seconds - _JITTER


def _dead(pod: Pod) -> Pod:
    return replace(pod, ready=False, ready_since=None, started=False, dead=True)
