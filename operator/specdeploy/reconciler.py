"""The only orchestration: gather -> decide -> write status once -> plan from what is stored -> apply -> tell.

A kill at any point resumes to the same end: nothing is applied from a decision that is not stored.
"""

from collections.abc import Callable
from dataclasses import replace

from specdeploy.apply import Applied, Applier
from specdeploy.cluster import SPEC_DEPLOYMENTS, Cluster, NotFound, Object
from specdeploy.gather import Gathered, Gatherer, Key
from specdeploy.memory import Memory
from specdeploy.metrics.windows import WindowBook
from specdeploy.rollout import Step, advance, plan
from specdeploy.rollout.scene import scene
from specdeploy.rollout.watch import too_short
from specdeploy.slots import TrialSlots, holds_pod
from specdeploy.storing import StatusWriter, Stored
from specdeploy.telemetry import Telemetry

RESYNC_SECONDS = 600.0
# No event tells that a name is free now, or a quota larger: what is in the way is tried again so often at
# the least, and ever more slowly until then.
OBSTRUCTED_SECONDS = 30.0
_SHORTEST_SECONDS = 0.05


class Reconciler:
    """One pass for one key. Errors of the API server fly: the caller queues the key again."""

    def __init__(
        self,
        *,
        cluster: Cluster,
        gatherer: Gatherer,
        book: WindowBook,
        slots: TrialSlots,
        telemetry: Telemetry,
        clock: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._gatherer = gatherer
        self._writer = StatusWriter(cluster, telemetry)
        self._applier = Applier(cluster)
        self._book = book
        self._slots = slots
        self._telemetry = telemetry
        self._clock = clock
        self._memory: dict[Key, tuple[str, Memory]] = {}

    async def reconcile(self, key: Key) -> float | None:
        """Bring one SpecDeployment a step on. Returns the seconds until the next look; None: it is gone."""
        raw = await self._read(key)
        if raw is None:
            self._forget(key)
            return None
        memory = self._remember(key, raw["metadata"]["uid"])
        found = await self._gatherer.gather(raw, memory, slot_free=self._slots.free(key))
        found = self._without_extended(found)
        step = self._decide(key, found)
        stored = await self._writer.store(found, step.status, memory)
        self._note(key, found, stored)
        applied = Applied()
        try:
            todo = plan(found.seen, stored.status)
            applied = await self._applier.apply(found, stored.status, todo, memory)
        finally:  # what was decided is stored, so it is told, whatever became of the children
            decided = step.events if stored.decided else ()
            await self._applier.tell(found, (*decided, *applied.events))
        return min(self._delay(found, step), _sooner(applied, memory))

    async def _read(self, key: Key) -> Object | None:
        try:
            raw = await self._cluster.get(SPEC_DEPLOYMENTS, *key)
        except NotFound:
            return None
        return None if "deletionTimestamp" in raw["metadata"] else raw

    def _remember(self, key: Key, uid: str) -> Memory:
        known = self._memory.get(key)
        if known is None or known[0] != uid:
            self._forget(key)
            known = self._memory[key] = (uid, Memory())
        return known[1]

    def _forget(self, key: Key) -> None:
        known = self._memory.pop(key, None)
        if known is not None:
            self._book.forget(known[0])
            self._slots.note(key, holds=False)
        self._telemetry.forget(*key)

    def _without_extended(self, found: Gathered) -> Gathered:
        """A window with too little traffic grows instead of being judged. The disaster lane and guards see it
        when it is whole, after ten minutes at the latest: so few requests tell them nothing before. One in
        which an arm holds requests and gives no token never grows."""
        measured, spec = found.measured, found.seen.reading.spec
        if measured is None or spec is None:
            return found
        if not too_short(scene(found.seen, found.status), found.status, spec, measured.window):
            return found
        self._book.extend(found.seen.uid, measured.window.index)
        return found.extended()

    def _decide(self, key: Key, found: Gathered) -> Step:
        """A trial starts only with a slot in hand; another pass may have taken the last one meanwhile."""
        step = advance(found.seen, found.status)
        if holds_pod(step.status) and not holds_pod(found.status) and not self._slots.take(key):
            step = advance(replace(found.seen, slot_free=False), found.status)
        return step

    def _note(self, key: Key, found: Gathered, stored: Stored) -> None:
        """What follows from a stored status here: the window is done, slots, metrics."""
        if found.measured is not None and found.seen.window is not None and stored.decided:
            self._book.commit(found.seen.uid, found.measured.window.index)
        self._slots.note(key, holds=holds_pod(stored.status))
        self._telemetry.trials.set(len(self._slots))
        self._telemetry.verdicts_of(found.status, stored.status)
        self._telemetry.skipped_windows(found.status, stored.status)
        self._telemetry.status(*key, stored.status)
        self._telemetry.failed_scrapes(failure.kind for failure in found.failures)
        if found.measured is not None:
            self._telemetry.window(*key, found.measured.figures)
        elif not any(pod.ready for pod in found.seen.pods):
            self._telemetry.window(*key, {})

    def _delay(self, found: Gathered, step: Step) -> float:
        """Seconds until time alone may change something; some spread, so that not all come at once."""
        spread = 0.9 + 0.2 * (sum(found.seen.uid.encode()) % 100) / 100
        longest = (OBSTRUCTED_SECONDS if found.seen.taken else RESYNC_SECONDS) * spread
        if step.next_check is None:
            return longest
        return min(longest, max(_SHORTEST_SECONDS, step.next_check - self._clock()))


def _sooner(applied: Applied, memory: Memory) -> float:
    """Seconds until a pass that was not all done is repeated: none after the first that ended early."""
    memory.repeats = memory.repeats + 1 if applied.again else 0
    memory.failing = memory.failing + 1 if memory.obstructed else 0
    if memory.repeats:
        return _doubling(memory.repeats - 1)
    return _doubling(memory.failing) if memory.failing else RESYNC_SECONDS


def _doubling(times: int) -> float:
    return min(OBSTRUCTED_SECONDS, 2.0 ** min(times - 1, 8)) if times > 0 else 0.0
