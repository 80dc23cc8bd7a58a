"""Reads what engines answered to the fixed questions from the logs of their pods. I/O.

`rollout.agreement` says whose are needed, `judge.answers` what a line means. Each start of an engine is asked
about once. Nothing here can stop a pass, or hold it up for long: a log that can't be read, or that has begun
anew since, leaves the answers unknown.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from specdeploy.api.names import CONTAINER
from specdeploy.api.status import instant
from specdeploy.cluster import Cluster, ClusterError, Forbidden, NotFound, Unavailable
from specdeploy.engine.questions import QUESTION_SET
from specdeploy.judge.answers import Answers, read
from specdeploy.rollout import Pod

log = logging.getLogger(__name__)

# The answers come right after what an engine writes while it loads, which is a few hundred KiB at most.
LOG_BYTES = 1024 * 1024
# A kubelet that can't be reached is asked again, but not in every pass for ever.
MOST_TRIES = 3
# How long a pass waits for logs, and of how many at once: each may be as long as LOG_BYTES.
HEAR_SECONDS = 10.0
AT_ONCE = 8

Start = tuple[str, int]
"""One start of an engine: the uid of its pod, and how often its container was restarted."""


@dataclass
class Heard:
    """What is known of one start: its answers, else why there are none. `tries`: how often its log was asked
    for in vain."""

    answers: Answers = field(default_factory=dict)
    why: str = ""
    tries: int = 0

    @property
    def settled(self) -> bool:
        """Whether its log need not be read again."""
        return bool(self.answers) or self.tries >= MOST_TRIES


class Listener:
    """Reads logs of pods through the API server."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._complained = False

    async def hear(self, namespace: str, wanted: Iterable[Pod], heard: dict[Start, Heard]) -> None:
        """Add to `heard` what the wanted pods answered, as far as their logs are read in time: those first
        that were asked for least, the others in a later pass."""
        starts = [(pod, heard.setdefault(_start(pod), Heard())) for pod in wanted]
        due = sorted((each for each in starts if not each[1].settled), key=lambda each: each[1].tries)
        slots = asyncio.Semaphore(AT_ONCE)
        reads = (self._in_turn(slots, namespace, pod, known) for pod, known in due)
        try:
            async with asyncio.timeout(HEAR_SECONDS):
                await asyncio.gather(*reads)
        except TimeoutError:
            log.debug("%s: not all logs of pods were read within %.0f s", namespace, HEAR_SECONDS)

    async def _in_turn(self, slots: asyncio.Semaphore, namespace: str, pod: Pod, known: Heard) -> None:
        async with slots:
            known.tries += 1
            known.why = f"the log of pod {pod.name} can't be read: no answer"
            await self._read(namespace, pod, known)

    async def _read(self, namespace: str, pod: Pod, known: Heard) -> None:
        since = None if pod.running_since is None else instant(pod.running_since)
        try:
            text = await self._cluster.log(namespace, pod.name, CONTAINER, since=since, limit=LOG_BYTES)
        except Forbidden as error:
            known.why, known.tries = f"the operator may not read logs (pods/log): {error}", MOST_TRIES
            self._complain(error)
        except (NotFound, Unavailable) as error:
            known.why = f"the log of pod {pod.name} can't be read: {error}"
        except ClusterError as error:
            known.why, known.tries = f"the log of pod {pod.name} can't be read: {error}", MOST_TRIES
        else:
            known.answers = read(text, QUESTION_SET)
            known.why, known.tries = f"the log of pod {pod.name} has no answers", MOST_TRIES

    def _complain(self, error: ClusterError) -> None:
        """Once: without logs everything works but the guard of output agreement."""
        if not self._complained:
            log.warning("logs of pods can't be read; output agreement is not checked: %s", error)
            self._complained = True


def forget_gone(heard: dict[Start, Heard], pods: Sequence[Pod]) -> None:
    """Drop what is known of engines that run no more."""
    live = {_start(pod) for pod in pods}
    for start in [start for start in heard if start not in live]:
        del heard[start]


def answers_of(heard: Mapping[Start, Heard], pods: Sequence[Pod]) -> dict[str, Answers]:
    """Pod uid -> answers, of those that are known."""
    return {p.uid: known.answers for p in pods if (known := heard.get(_start(p))) and known.answers}


def unheard(heard: Mapping[Start, Heard], pods: Sequence[Pod]) -> dict[str, str]:
    """Pod name -> why its answers are not known, of those that were asked about."""
    return {p.name: known.why for p in pods if (known := heard.get(_start(p))) and not known.answers}


def _start(pod: Pod) -> Start:
    return pod.uid, pod.restarts
