"""Engines that give no token to those who wait, and call themselves healthy all the same.

The readings of counters -> stalls -> the pods of an observation -> health, conditions, what moves pods.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

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


@dataclass(frozen=True)
class Remade:
    """How often in a row all pods of a template were dead (`times`): each time they are given twice as long.
    `dead`: templates whose pods are, and wait to be taken."""

    times: Mapping[str, int] = field(default_factory=dict)
    dead: frozenset[str] = frozenset()

    def patience(self, template: str) -> float:
        """Seconds that its pods may stand still before they are made anew."""
        before = self.times.get(template, 0) - (template in self.dead)
        return min(LONGEST_SECONDS, LASTING_SECONDS * 2.0**before)

    def after(self, pods: Iterable[Pod]) -> "Remade":
        """With those that are dead now; who has moved since begins anew."""
        here = tuple(pods)
        dead = frozenset(pod.template for pod in here if pod.dead)
        moving = {pod.template for pod in here if pod.answers and pod.moves}
        times = {**self.times, **{each: self.times.get(each, 0) + 1 for each in dead - self.dead}}
        return Remade({each: count for each, count in times.items() if each not in moving}, dead)


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
    still = {pod.name: pod.silence.since for pod in pods if pod.silence is not None and not pod.terminating}
    if not still:
        return None
    more, since = f" and {len(still) - 1} more" if len(still) > 1 else "", instant(min(still.values()))
    return (
        f"{min(still)}{more}: no sign of life since {since}, with /health answering; a pod that is deleted "
        f"is made anew, and so are all of a Deployment in which none lives for {LASTING_SECONDS / 60:.0f} min"
    )


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
