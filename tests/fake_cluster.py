"""The protocol `Cluster` in memory: objects, uids, resourceVersions, conflicts, server-side apply, faults.

`crash_after` stops the caller after so many writes, as a kill would. Deployments make no pods by themselves:
`settle` does what controllers and kubelets would do.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from specdeploy.cluster import (
    DEPLOYMENTS,
    PODS,
    SPEC_DEPLOYMENTS,
    AlreadyExists,
    Conflict,
    Kind,
    NotFound,
    Object,
    Refused,
)


class Killed(BaseException):
    """The process was killed here."""


@dataclass
class FakeCluster:
    """Objects by (kind, namespace, name). `writes` lists every write as (verb, kind, name)."""

    objects: dict[tuple[str, str, str], Object] = field(default_factory=dict)
    writes: list[tuple[str, str, str]] = field(default_factory=list)
    crash_after: int | None = None
    refuse: Callable[[Kind, Object], str | None] = lambda kind, body: None
    prune: frozenset[str] = frozenset()
    time: str = "2026-01-01T00:00:00Z"
    _version: int = 0
    _uid: int = 0

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        try:
            return copy.deepcopy(self.objects[kind.plural, namespace, name])
        except KeyError:
            raise NotFound(f"{kind.plural} {name}") from None

    async def list_all(self, kind: Kind, namespace: str, selector: str = "") -> list[Object]:
        key, _, value = selector.partition("=")
        return [
            copy.deepcopy(body)
            for (plural, ns, _), body in sorted(self.objects.items())
            if plural == kind.plural
            and namespace in ("", ns)
            and (not selector or (body["metadata"].get("labels") or {}).get(key) == value)
        ]

    async def create(self, kind: Kind, namespace: str, body: Object) -> Object:
        self._count("create", kind, body["metadata"]["name"])
        if fault := self.refuse(kind, body):
            raise Refused(fault)
        key = (kind.plural, namespace, body["metadata"]["name"])
        if key in self.objects:
            raise AlreadyExists(key[2])
        return self.put(kind, namespace, body)

    async def patch(self, kind: Kind, namespace: str, name: str, body: Object, how: str) -> Object:
        self._count(how, kind, name)
        key = (kind.plural, namespace, name)
        if key not in self.objects:
            if how == "apply":
                return self.put(kind, namespace, body)
            raise NotFound(name)
        live = self.objects[key]
        wanted = body.get("metadata", {}).get("resourceVersion")
        if wanted not in (None, live["metadata"]["resourceVersion"]):
            raise Conflict(name)
        return self._bump(key, _merged(live, body))

    async def replace_status(self, kind: Kind, namespace: str, name: str, body: Object) -> Object:
        self._count("status", kind, name)
        key = (kind.plural, namespace, name)
        live = self.objects[key]
        if body["metadata"]["resourceVersion"] != live["metadata"]["resourceVersion"]:
            raise Conflict(name)
        status = {k: v for k, v in copy.deepcopy(body["status"]).items() if k not in self.prune}
        return self._bump(key, {**live, "status": status})

    async def delete(self, kind: Kind, namespace: str, name: str, uid: str) -> None:
        self._count("delete", kind, name)
        live = self.objects.get((kind.plural, namespace, name))
        if live is not None and live["metadata"]["uid"] == uid:
            del self.objects[kind.plural, namespace, name]

    # -- for tests ----------------------------------------------------------------------------------

    def put(self, kind: Kind, namespace: str, body: Object) -> Object:
        """Store an object as the API server would: uid, resourceVersion, creation time, generation."""
        self._uid += 1
        body = copy.deepcopy(body)
        meta = body["metadata"]
        meta.setdefault("uid", f"uid-{self._uid}")
        meta.setdefault("namespace", namespace)
        meta.setdefault("creationTimestamp", self.time)
        meta.setdefault("generation", 1)
        return self._bump((kind.plural, namespace, meta["name"]), body)

    def of(self, kind: Kind) -> list[Object]:
        return [body for (plural, _, _), body in sorted(self.objects.items()) if plural == kind.plural]

    def settle(self, *, ready: bool = True) -> None:
        """Controllers and kubelets: as many pods as each Deployment wants."""
        for deployment in self.of(DEPLOYMENTS):
            meta, labels = deployment["metadata"], deployment["spec"]["template"]["metadata"]["labels"]
            mine = [
                p
                for p in self.of(PODS)
                if p["metadata"]["labels"]["specdeploy.dev/template"] == labels["specdeploy.dev/template"]
            ]
            for pod in mine[deployment["spec"]["replicas"] :]:
                del self.objects["pods", meta["namespace"], pod["metadata"]["name"]]
            for _ in range(deployment["spec"]["replicas"] - len(mine)):
                self.put(PODS, meta["namespace"], self._new_pod(meta["name"], labels, ready=ready))

    def _new_pod(self, owner: str, labels: dict[str, str], *, ready: bool) -> Object:
        self._uid += 1
        state = "True" if ready else "False"
        return {
            "metadata": {"name": f"{owner}-{self._uid}", "labels": dict(labels)},
            "spec": {"nodeName": "n1"},
            "status": {
                "phase": "Running",
                "podIP": f"10.0.0.{self._uid}",
                "conditions": [{"type": "Ready", "status": state, "lastTransitionTime": self.time}],
                "containerStatuses": [
                    {"name": "vllm", "restartCount": 0, "started": ready, "imageID": "sha256:1", "state": {}}
                ],
            },
        }

    def sd(self, name: str = "gemma", namespace: str = "default") -> Object:
        return self.objects[SPEC_DEPLOYMENTS.plural, namespace, name]

    def edit(self, kind: Kind, name: str, namespace: str = "default", **spec: Any) -> None:
        """What a person does with kubectl edit."""
        key = (kind.plural, namespace, name)
        live = self.objects[key]
        meta = {**live["metadata"], "generation": live["metadata"].get("generation", 1) + 1}
        self._bump(key, {**live, "metadata": meta, "spec": {**live["spec"], **spec}})

    def _bump(self, key: tuple[str, str, str], body: Object) -> Object:
        self._version += 1
        body = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self._version)}}
        self.objects[key] = body
        return copy.deepcopy(body)

    def _count(self, verb: str, kind: Kind, name: str) -> None:
        if self.crash_after is not None and len(self.writes) >= self.crash_after:
            raise Killed
        self.writes.append((verb, kind.plural, name))


def _merged(live: Any, patch: Any) -> Any:
    if not isinstance(live, dict) or not isinstance(patch, dict):
        return copy.deepcopy(patch)
    return {**live, **{k: _merged(live.get(k), v) for k, v in patch.items()}}
