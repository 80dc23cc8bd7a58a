"""What nodes are like: the kind of their GPUs, by label. I/O, with a memory of some minutes."""

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


class Nodes:
    """Looks nodes up one by one as pods run on them; lists them only to tell why a pod finds no room."""

    def __init__(self, cluster: Cluster, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._clock = clock
        self._kinds: dict[str, tuple[float, str | None]] = {}
        self._listed: tuple[float, list[Node]] = (-LIST_KEPT_SECONDS, [])
        self._complained = False

    async def kinds(self, names: Iterable[str]) -> dict[str, str]:
        """Node name -> kind of GPU; a node without the labels, or that can't be read, is left out."""
        found = {name: await self._kind(name) for name in sorted(set(names))}
        return {name: kind for name, kind in found.items() if kind is not None}

    async def advice(self, wanted: Accelerator) -> str | None:
        """What to do where nodes lack what is wanted; None where they don't, and while that can't be told."""
        try:
            return advice(wanted, await self._all())
        except ClusterError as error:
            self._complain(error)
            return None

    async def _kind(self, name: str) -> str | None:
        until, kind = self._kinds.get(name, (0.0, None))
        if self._clock() < until:
            return kind
        kept = KEPT_SECONDS
        try:
            kind = kind_of(_labels(await self._cluster.get(NODES, "", name)))
        except NotFound:
            kind = None
        except ClusterError as error:
            self._complain(error)
            kept = FAILURE_KEPT_SECONDS  # what was known of it stays
        if len(self._kinds) >= _MAX_NODES:
            self._kinds.clear()
        self._kinds[name] = (self._clock() + kept, kind)
        return kind

    async def _all(self) -> list[Node]:
        now = self._clock()
        if now - self._listed[0] >= LIST_KEPT_SECONDS:
            self._listed = (now, [_node(n) for n in await self._cluster.list_all(NODES, "")])
        return self._listed[1]

    def _complain(self, error: ClusterError) -> None:
        """Once: without nodes everything works but the comparison of GPUs."""
        if not self._complained:
            log.warning("nodes can't be read; different kinds of GPU are not told apart: %s", error)
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
