"""The only orchestration: gather -> decide -> write status once -> plan from what is stored -> apply -> tell.

A kill at any point resumes to the same end: nothing is applied from a decision that is not stored.
"""

import logging
from collections.abc import Callable

from specdeploy.api.findings import read_status
from specdeploy.api.reasons import TrialState
from specdeploy.api.status import Status
from specdeploy.apply import Applier
from specdeploy.cluster import SPEC_DEPLOYMENTS, Cluster, NotFound, Object
from specdeploy.gather import Gathered, Gatherer, Key, Memory
from specdeploy.judge import Use, assess
from specdeploy.metrics.windows import WindowBook
from specdeploy.rollout import Event, Step, advance, plan
from specdeploy.rollout.evidence import settings_of
from specdeploy.rollout.scene import ON_STAGE, scene
from specdeploy.slots import TrialSlots
from specdeploy.telemetry import Telemetry

log = logging.getLogger(__name__)

RESYNC_SECONDS = 600.0
_HOLDS_POD = ON_STAGE | {TrialState.PROMOTING, TrialState.ROLLING_BACK}


class Reconciler:
    """One pass for one key. Errors of the API server fly: the caller queues the key again."""

    def __init__(
        self,
        *,
        cluster: Cluster,
        gatherer: Gatherer,
        applier: Applier,
        book: WindowBook,
        slots: TrialSlots,
        telemetry: Telemetry,
        clock: Callable[[], float],
    ) -> None:
        self._cluster = cluster
        self._gatherer = gatherer
        self._applier = applier
        self._book = book
        self._slots = slots
        self._telemetry = telemetry
        self._clock = clock
        self._memory: dict[Key, tuple[str, Memory]] = {}

    async def reconcile(self, key: Key) -> float | None:
        """Bring one SpecDeployment a step on. Returns the seconds until the next look; None: it is gone."""
        try:
            raw = await self._cluster.get(SPEC_DEPLOYMENTS, *key)
        except NotFound:
            return self._forget(key)
        if "deletionTimestamp" in raw["metadata"]:
            return self._forget(key)
        memory = self._remember(key, raw["metadata"]["uid"])
        found = await self._gatherer.gather(raw, memory, slot_free=self._slots.free(key))
        found = self._without_extended(found)
        step = advance(found.seen, found.status)
        stored = await self._store(found, step.status, memory)
        self._note(key, found, stored)
        todo = plan(found.seen, stored)
        image = stored.engine.image if stored.engine and stored.engine.image else ""
        again = await self._applier.apply(found, todo, image, memory)
        drift = tuple(Event("Warning", "ReplicasEdited", note) for note in todo.notes)
        await self._applier.tell(found, (*step.events, *drift))
        return 0.0 if again else self._delay(found, step)

    def _remember(self, key: Key, uid: str) -> Memory:
        known = self._memory.get(key)
        if known is None or known[0] != uid:
            known = (uid, Memory())
            self._memory[key] = known
        return known[1]

    def _forget(self, key: Key) -> float | None:
        known = self._memory.pop(key, None)
        if known is not None:
            self._book.forget(known[0])
        self._slots.note(key, holds=False)
        self._telemetry.forget(*key)
        return None

    def _without_extended(self, found: Gathered) -> Gathered:
        """A window with too little traffic grows instead of being judged."""
        measured, spec = found.measured, found.seen.reading.spec
        trial = found.status.trial
        if measured is None or spec is None or trial is None or trial.state not in ON_STAGE:
            return found
        settings = settings_of(scene(found.seen, found.status), found.status, spec)
        if assess(measured.window, settings).use is not Use.EXTEND:
            return found
        self._book.extend(found.seen.uid, measured.window.index)
        return found.extended()

    async def _store(self, found: Gathered, status: Status, memory: Memory) -> Status:
        """Write the status if its meaning changed; returns what the cluster holds."""
        wire = status.wire()
        if wire == (found.raw.get("status") or {}) or (memory.pruned and wire == memory.sent):
            return status
        body: Object = {**found.raw, "status": wire}
        answer = await self._cluster.replace_status(
            SPEC_DEPLOYMENTS, found.seen.namespace, found.seen.name, body
        )
        self._telemetry.status_writes.inc()
        memory.sent = wire
        memory.pruned = _pruned(wire, answer.get("status") or {})
        return read_status(answer.get("status"))[0] if memory.pruned else status

    def _note(self, key: Key, found: Gathered, stored: Status) -> None:
        """What follows from a stored status here: the window is done, slots, metrics."""
        if found.measured is not None:
            if found.seen.window is not None:
                self._book.commit(found.seen.uid, found.measured.window.index)
            self._telemetry.window(*key, found.measured.figures)
        old = {(v.revision, v.attempt, v.outcome) for v in found.status.verdicts or []}
        for verdict in stored.verdicts or []:
            if (verdict.revision, verdict.attempt, verdict.outcome) not in old:
                self._telemetry.verdicts.labels(verdict.outcome.value).inc()
        self._slots.note(key, holds=stored.trial is not None and stored.trial.state in _HOLDS_POD)
        self._telemetry.trials.set(len(self._slots))
        self._telemetry.status(*key, stored)

    def _delay(self, found: Gathered, step: Step) -> float:
        resync = RESYNC_SECONDS * (0.9 + 0.2 * (sum(found.seen.uid.encode()) % 100) / 100)
        if step.next_check is None:
            return resync
        return min(resync, max(0.05, step.next_check - self._clock()))


def _pruned(sent: Object, kept: Object) -> str | None:
    """What an older CRD has cut from a status, in words."""
    lost = sorted(set(sent) - set(kept))
    lost += sorted(
        f"{part}.{name}"
        for part, value in sent.items()
        if isinstance(value, dict) and isinstance(kept.get(part), dict)
        for name in set(value) - set(kept[part])
    )
    if not lost:
        return None
    return (
        f"the CRD in the cluster is older than this operator and dropped status.{', status.'.join(lost[:5])}; "
        "upgrade it (helm upgrade, or kubectl apply of `specdeploy crd`)"
    )
