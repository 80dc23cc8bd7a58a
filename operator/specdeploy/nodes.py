"""What nodes are like: the kind of their GPUs, by label. I/O, with a memory of some minutes."""

import logging
from collections.abc import Callable, Iterable

from specdeploy.cluster import NODES, Cluster, ClusterError, NotFound
from specdeploy.engine.accelerators import kind_of, matches

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
        self._listed: tuple[float, list[dict[str, str]]] = (-LIST_KEPT_SECONDS, [])
        self._complained = False

    async def kinds(self, names: Iterable[str]) -> dict[str, str]:
        """Node name -> kind of GPU; a node without the labels, or that can't be read, is left out."""
        found = {name: await self._kind(name) for name in sorted(set(names))}
        return {name: kind for name, kind in found.items() if kind is not None}

    async def offers(self, accelerator: str) -> bool:
        """Whether any node is labelled as having this accelerator; True while that can't be told."""
        try:
            return any(matches(labels, accelerator) for labels in await self._all())
        except ClusterError as error:
            self._complain(error)
            return True

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

    async def _all(self) -> list[dict[str, str]]:
        now = self._clock()
        if now - self._listed[0] >= LIST_KEPT_SECONDS:
            self._listed = (now, [_labels(node) for node in await self._cluster.list_all(NODES, "")])
        return self._listed[1]

    def _complain(self, error: ClusterError) -> None:
        """Once: without nodes everything works but the comparison of GPUs."""
        if not self._complained:
            log.warning("nodes can't be read; different kinds of GPU are not told apart: %s", error)
            self._complained = True


def _labels(node: dict[str, object]) -> dict[str, str]:
    meta = node.get("metadata")
    labels = meta.get("labels") if isinstance(meta, dict) else None
    return {str(k): str(v) for k, v in labels.items()} if isinstance(labels, dict) else {}
