"""Engines that give no token to those who wait, and call themselves healthy all the same.

The readings of counters -> stalls -> the pods of an observation -> health, conditions, what moves pods.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from specdeploy.rollout.observation import Pod, Silence

STALL_SECONDS = 60.0
# A reading comes some moments after its window's end, not always the same: two windows of 60 s are a stall.
_JITTER = 5.0


def with_stalls(pods: Iterable[Pod], silences: Mapping[str, Silence]) -> tuple[Pod, ...]:
    """The pods as they are to those who wait for tokens. `silences`: pod name -> since when it gives none.

    Where all of a Deployment stand still they are as good as never started: nothing is lost by taking them.
    Not where others of it serve: a ReplicaSet can't tell them apart and might take those.
    """
    told = tuple(replace(pod, silence=_stall(pod, silences.get(pod.name))) for pod in pods)
    alive = {pod.template for pod in told if pod.answers and not pod.terminating}
    return tuple(pod if pod.silence is None or pod.template in alive else _dead(pod) for pod in told)


def _stall(pod: Pod, silence: Silence | None) -> Silence | None:
    """Silent at a reading and, with no token in between, at one a minute later."""
    if silence is None or not pod.ready or silence.seconds < STALL_SECONDS - _JITTER:
        return None
    return silence


def _dead(pod: Pod) -> Pod:
    return replace(pod, ready=False, ready_since=None, started=False)
