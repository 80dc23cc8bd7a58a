"""What nodes are like: the kind of their GPUs, by label. I/O, with a memory of some minutes."""

from collections.abc import Callable, Iterable

from specdeploy.cluster import NODES, Cluster, ClusterError
from specdeploy.engine.accelerators import kind_of, matches

_KEPT_SECONDS = 600.0
_KEPT_LIST_SECONDS = 60.0
_MAX_NODES = 10_000


class Nodes:
    """Looks nodes up one by one as pods run on them; lists them only to tell why a pod finds no room."""

    def __init__(self, cluster: Cluster, clock: Callable[[], float]) -> None:
        self._cluster = cluster
        self._clock = clock
        self._labels: dict[str, tuple[float, dict[str, str]]] = {}
        self._listed: tuple[float, list[dict[str, str]]] | None = None

    async def kinds(self, names: Iterable[str]) -> dict[str, str]:
        """Node name -> kind of GPU; a node without the labels, or that can't be read, is left out."""
        found: dict[str, str] = {}
        for name in sorted(set(names)):
            kind = kind_of(await self._of(name))
            if kind is not None:
                found[name] = kind
        return found

    async def offers(self, accelerator: str) -> bool:
        """Whether any node is labelled as having this accelerator; True while that can't be told."""
        try:
            return any(matches(labels, accelerator) for labels in await self._all())
        except ClusterError:
            return True

    async def _of(self, name: str) -> dict[str, str]:
        now = self._clock()
        known = self._labels.get(name)
        if known is not None and now - known[0] < _KEPT_SECONDS:
            return known[1]
        try:
            labels = _labels(await self._cluster.get(NODES, "", name))
        except ClusterError:
            labels = {}
        if len(self._labels) >= _MAX_NODES:
            self._labels.clear()
        self._labels[name] = (now, labels)
        return labels

    async def _all(self) -> list[dict[str, str]]:
        now = self._clock()
        if self._listed is None or now - self._listed[0] > _KEPT_LIST_SECONDS:
            self._listed = (now, [_labels(node) for node in await self._cluster.list_all(NODES, "")])
        return self._listed[1]


def _labels(node: dict[str, object]) -> dict[str, str]:
    meta = node.get("metadata")
    labels = meta.get("labels") if isinstance(meta, dict) else None
    return {str(k): str(v) for k, v in labels.items()} if isinstance(labels, dict) else {}
