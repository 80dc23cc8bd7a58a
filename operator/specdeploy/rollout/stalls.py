"""Engines that give no token to those who wait, and call themselves healthy all the same.

The readings of counters -> stalls -> the pods of an observation -> health, conditions, what moves pods.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from specdeploy.api.status import instant
from specdeploy.rollout.observation import Pod, Silence

STALL_SECONDS = 60.0
LASTING_SECONDS = 300.0
"""An engine may compile for minutes (AITER: 225 s, aiter#4055). What has proven that it serves is given so
long, and nothing that nobody judges is made anew before."""
# A reading comes some moments after its window's end, not always the same: two windows of 60 s are a stall.
_JITTER = 5.0

Silences = Mapping[tuple[str, int], Silence]
"""By the uid of a pod and the restarts of its engine: another process is not silent yet."""


def with_stalls(pods: Iterable[Pod], silences: Silences) -> tuple[Pod, ...]:
    """The pods as they are to those who wait for tokens.

    Where all of a Deployment stand still for long they are as good as never started: nothing is lost by
    taking them. Not where others of it serve: a ReplicaSet sees no difference and might take those.
    """
    told = tuple(_as_it_is(pod, silences.get((pod.uid, pod.restarts))) for pod in pods)
    alive = {pod.template for pod in told if pod.ready and not pod.terminating and not lasts(pod)}
    return tuple(_dead(pod) if lasts(pod) and pod.template not in alive else pod for pod in told)


def lasts(pod: Pod) -> bool:
    """Whether a pod stands still for so long that it does not come back."""
    return pod.silence is not None and pod.silence.seconds >= LASTING_SECONDS - _JITTER


def all_stand_still(pods: Iterable[Pod]) -> bool:
    """Whether none of these pods answers, and one of them stands still."""
    here = [pod for pod in pods if not pod.terminating]
    return any(pod.silence is not None for pod in here) and not any(pod.answers for pod in here)


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


def _as_it_is(pod: Pod, silence: Silence | None) -> Pod:
    stalls = silence is not None and pod.ready and silence.seconds >= STALL_SECONDS - _JITTER
    return replace(pod, silence=silence) if stalls else pod


def _dead(pod: Pod) -> Pod:
    return replace(pod, ready=False, ready_since=None, started=False)
