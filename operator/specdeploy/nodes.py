"""What nodes are like: the kind of their GPUs, by label. I/O, with a memory of some minutes.

Nothing here can stop a pass, or hold it up for long: what is not read in time is unknown for a minute.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable

from specdeploy.api.engine_spec import Accelerator
from specdeploy.cluster import NODES, Cluster, ClusterError, NotFound
from specdeploy.engine.accelerators import kind_of
from specdeploy.engine.node_advice import Node, advice

log = logging.getLogger(__name__)

# The labels of a node change when somebody installs a labeller or repartitions its GPUs.
KEPT_SECONDS = 600.0
FAILURE_KEPT_SECONDS = 60.0
LIST_KEPT_SECONDS = 60.0
_MAX_NODES = 10_000
# How long a pass waits for all nodes that it asks for, and of how many at once.
LOOK_SECONDS = 5.0
AT_ONCE = 16


class Nodes:
    """Looks nodes up one by one as pods run on them; lists them only to tell why a pod finds no room."""

    def __init__(self, cluster: Cluster, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._clock = clock
        self._kinds: dict[str, tuple[float, str | None]] = {}
        self._listed: tuple[float, list[Node] | None] = (-LIST_KEPT_SECONDS, None)
        self._complained = False

    async def kinds(self, names: Iterable[str]) -> dict[str, str]:
        """Node name -> kind of GPU; a node without the labels, or that can't be read, is left out."""
        wanted = sorted(set(names))
        due = [name for name in wanted if self._clock() >= self._kinds.get(name, (0.0, None))[0]]
        if len(self._kinds) + len(due) > _MAX_NODES:
            self._kinds.clear()
        slots = asyncio.Semaphore(AT_ONCE)
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await asyncio.gather(*(self._look(name, slots) for name in due))
        except TimeoutError as error:
            self._complain(error)
        for name in due:  # what was known of one without an answer stays
            until, kind = self._kinds.get(name, (0.0, None))
            if self._clock() >= until:
                self._keep(name, kind, FAILURE_KEPT_SECONDS)
        return {name: kind for name in wanted if (kind := self._kinds[name][1]) is not None}

    async def advice(self, wanted: Accelerator) -> str | None:
        """What to do where nodes lack what is wanted; None where they don't, and while that can't be told."""
        listed = await self._all()
        return None if listed is None else advice(wanted, listed)

    async def _look(self, name: str, slots: asyncio.Semaphore) -> None:
        async with slots:
            try:
                self._keep(name, kind_of(_labels(await self._cluster.get(NODES, "", name))), KEPT_SECONDS)
            except NotFound:
                self._keep(name, None, KEPT_SECONDS)
            except ClusterError as error:
                self._complain(error)

    def _keep(self, name: str, kind: str | None, seconds: float) -> None:
        self._kinds[name] = (self._clock() + seconds, kind)

    async def _all(self) -> list[Node] | None:
        """None: they can't be read."""
        now = self._clock()
        if now - self._listed[0] >= LIST_KEPT_SECONDS:
            self._listed = (now, None)
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    self._listed = (now, [_node(n) for n in await self._cluster.list_all(NODES, "")])
            except (ClusterError, TimeoutError) as error:
                self._complain(error)
        return self._listed[1]

    def _complain(self, error: Exception) -> None:
        """Once: without nodes everything works but the comparison of GPUs."""
        if not self._complained:
            why = str(error) or f"no answer within {LOOK_SECONDS:.0f} s"
            log.warning("nodes can't be read; different kinds of GPU are not told apart: %s", why)
            self._complained = True


def _node(raw: dict[str, object]) -> Node:
    status = raw.get("status")
    offered = status.get("allocatable") if isinstance(status, dict) else None
    pairs = offered.items() if isinstance(offered, dict) else ()
    offers = {str(name): str(amount) for name, amount in pairs if "/" in str(name)}
    return Node(_name(raw), _labels(raw), offers)


def _name(raw: dict[str, object]) -> str:
    meta = raw.get("metadata")
    return str(meta.get("name", "")) if isinstance(meta, dict) else ""


def _labels(node: dict[str, object]) -> dict[str, str]:
    meta = node.get("metadata")
    labels = meta.get("labels") if isinstance(meta, dict) else None
    return {str(k): str(v) for k, v in labels.items()} if isinstance(labels, dict) else {}
