"""The protocol `Cluster` in memory: objects, uids, resourceVersions, conflicts, server-side apply, faults.

`crash_after` stops the caller after so many writes, as a kill would; `fault` lets single calls fail, `hangs`
lets them end as the real client's do that get no answer.
Deployments make no pods by themselves: `settle` does what controllers and kubelets would do.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from specdeploy.cluster import (
    DEPLOYMENTS,
    LOG_TIMEOUT_SECONDS,
    PODS,
    SPEC_DEPLOYMENTS,
    TIMEOUT_SECONDS,
    AlreadyExists,
    ClusterError,
    Conflict,
    Kind,
    NotFound,
    Object,
    Unavailable,
)

Key = tuple[str, str, str]
Path = tuple[str, ...]
_ATOMIC = ("selector",)  # maps that one manager owns as a whole
_UNMANAGED = ("name", "namespace", "uid", "resourceVersion")


class Killed(BaseException):
    """The process was killed here."""


@dataclass
class FakeCluster:
    """Objects by (kind, namespace, name). `writes` lists every write as (verb, kind, name).

    `fault(verb, kind, name)`: an error for this call, or None. `hangs(verb, kind, name)`: whether it gets no
    answer. `prune`: paths under status that the CRD
    does not know, such as `trial.evidence`. `time`: the creation time of what is made now. `logs`: pod name
    -> its log; `logs_read`: names of pods whose logs were asked for.
    """

    objects: dict[Key, Object] = field(default_factory=dict)
    writes: list[tuple[str, str, str]] = field(default_factory=list)
    crash_after: int | None = None
    fault: Callable[[str, Kind, str], ClusterError | None] = lambda verb, kind, name: None
    hangs: Callable[[str, Kind, str], bool] = lambda verb, kind, name: False
    prune: frozenset[str] = frozenset()
    time: str = "2026-01-01T00:00:00Z"
    logs: dict[str, str] = field(default_factory=dict)
    logs_read: list[str] = field(default_factory=list)
    _applied: dict[Key, Object] = field(default_factory=dict)
    _version: int = 0
    _uid: int = 0

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        await self._fail("get", kind, name)
        try:
            return _copy(self.objects[kind.plural, namespace, name])
        except KeyError:
            raise NotFound(f"{kind.plural} {name}") from None

    async def list_all(self, kind: Kind, namespace: str, selector: str = "") -> list[Object]:
        await self._fail("list", kind, namespace)
        key, _, value = selector.partition("=")
        return [
            _copy(body)
            for (plural, ns, _), body in sorted(self.objects.items())
            if plural == kind.plural
            and namespace in ("", ns)
            and (not selector or (body["metadata"].get("labels") or {}).get(key) == value)
        ]

    async def log(self, namespace: str, name: str, container: str, *, since: str | None, limit: int) -> str:
        self.logs_read.append(name)
        await self.get(PODS, namespace, name)
        await self._fail("log", PODS, name)
        return self.logs.get(name, "")[:limit]

    async def create(self, kind: Kind, namespace: str, body: Object) -> Object:
        key = await self._write("create", kind, namespace, body["metadata"]["name"])
        if key in self.objects:
            raise AlreadyExists(key[2])
        return self.put(kind, namespace, body)

    async def patch(self, kind: Kind, namespace: str, name: str, body: Object, how: str) -> Object:
        key = await self._write(how, kind, namespace, name)
        live = self.objects.get(key)
        meta = body.get("metadata", {})
        known = live["metadata"] if live else {}
        if any(meta[k] != known.get(k) for k in ("uid", "resourceVersion") if k in meta):
            raise Conflict(f"{name}: the object has been modified")
        if how == "merge":
            if live is None:
                raise NotFound(name)
            return self._store(key, _merged(live, body))
        return self._apply(key, kind, live, body, force=how == "force")

    def _apply(self, key: Key, kind: Kind, live: Object | None, body: Object, *, force: bool) -> Object:
        before = self._applied.get(key, {})
        clashes = [
            path
            for path, value in _leaves(body)
            if _differs(live, path, value) and not _has(before, path, live)
        ]
        if clashes and not force:
            field = ".".join(clashes[0])
            raise Conflict(
                f'Apply failed with {len(clashes)} conflict: conflict with "kubectl-edit": .{field}'
            )
        self._applied[key] = _copy(body)
        base = live if live is not None else self.put(kind, key[1], {"metadata": {"name": key[2]}})
        merged = _applied(base, before, body)
        entry = {"manager": "specdeploy", "operation": "Apply", "fieldsV1": _fields(body)}
        others = [e for e in base["metadata"].get("managedFields", []) if e["manager"] != "specdeploy"]
        merged["metadata"]["managedFields"] = [*others, entry]
        return self._store(key, merged)

    async def replace_status(self, kind: Kind, namespace: str, name: str, body: Object) -> Object:
        key = await self._write("status", kind, namespace, name)
        if key not in self.objects:
            raise NotFound(name)
        live = self.objects[key]
        if body["metadata"]["resourceVersion"] != live["metadata"]["resourceVersion"]:
            raise Conflict(name)
        return self._store(key, {**live, "status": _pruned(_copy(body["status"]), self.prune)})

    async def delete(self, kind: Kind, namespace: str, name: str, uid: str) -> None:
        key = await self._write("delete", kind, namespace, name)
        live = self.objects.get(key)
        if live is not None and live["metadata"]["uid"] == uid:
            del self.objects[key]

    # -- for tests ----------------------------------------------------------------------------------

    def put(self, kind: Kind, namespace: str, body: Object) -> Object:
        """Store an object as the API server would: uid, resourceVersion, creation time, generation."""
        self._uid += 1
        body = _copy(body)
        meta = body["metadata"]
        meta.setdefault("uid", f"uid-{self._uid}")
        meta.setdefault("namespace", namespace)
        meta.setdefault("creationTimestamp", self.time)
        meta.setdefault("generation", 1)
        return self._store((kind.plural, namespace, meta["name"]), body)

    def of(self, kind: Kind) -> list[Object]:
        return [body for (plural, _, _), body in sorted(self.objects.items()) if plural == kind.plural]

    def one(self, kind: Kind, name: str, namespace: str = "default") -> Object:
        return self.objects[kind.plural, namespace, name]

    def sd(self, name: str = "gemma", namespace: str = "default") -> Object:
        return self.one(SPEC_DEPLOYMENTS, name, namespace)

    def edit(self, kind: Kind, name: str, patch: Object, namespace: str = "default") -> None:
        """What a person does with kubectl edit: a merge patch; None removes a field."""
        key = (kind.plural, namespace, name)
        live = self.objects[key]
        merged = _merged(live, patch)
        if "spec" in patch:
            merged["metadata"] = {**merged["metadata"], "generation": live["metadata"]["generation"] + 1}
        self._store(key, merged)

    def remove(self, kind: Kind, name: str, namespace: str = "default") -> None:
        """What a person does with kubectl delete."""
        self._applied.pop((kind.plural, namespace, name), None)
        del self.objects[kind.plural, namespace, name]

    def settle(self) -> None:
        """Controllers: as many pods as each Deployment wants; new ones are not ready yet."""
        for deployment in self.of(DEPLOYMENTS):
            meta, labels = deployment["metadata"], deployment["spec"]["template"]["metadata"]["labels"]
            mine = [
                p
                for p in self.of(PODS)
                if p["metadata"]["labels"]["specdeploy.dev/template"] == labels["specdeploy.dev/template"]
                and p["status"]["phase"] == "Running"
            ]
            for pod in mine[deployment["spec"]["replicas"] :]:
                self.remove(PODS, pod["metadata"]["name"], meta["namespace"])
            for _ in range(deployment["spec"]["replicas"] - len(mine)):
                self.put(PODS, meta["namespace"], self._new_pod(meta["name"], labels))

    def _new_pod(self, owner: str, labels: dict[str, str]) -> Object:
        number = self._uid + 1
        return {
            "metadata": {"name": f"{owner}-{number}", "labels": dict(labels)},
            "spec": {"nodeName": "n1"},
            "status": {
                "phase": "Running",
                "podIP": f"10.0.{number // 250}.{number % 250 + 1}",
                "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": self.time}],
                "containerStatuses": [
                    {"name": "vllm", "restartCount": 0, "started": False, "imageID": "sha256:1", "state": {}}
                ],
            },
        }

    def make_ready(self, pod: Object) -> None:
        """The kubelet: its engine is up."""
        status = _copy(pod["status"])
        status["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": self.time}]
        status["containerStatuses"][0]["started"] = True
        self._store(
            ("pods", pod["metadata"]["namespace"], pod["metadata"]["name"]), {**pod, "status": status}
        )

    def _store(self, key: Key, body: Object) -> Object:
        self._version += 1
        body = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self._version)}}
        self.objects[key] = body
        return _copy(body)

    async def _write(self, verb: str, kind: Kind, namespace: str, name: str) -> Key:
        if self.crash_after is not None and len(self.writes) >= self.crash_after:
            raise Killed
        self.writes.append((verb, kind.plural, name))
        await self._fail(verb, kind, name)
        return kind.plural, namespace, name

    async def _fail(self, verb: str, kind: Kind, name: str) -> None:
        if self.hangs(verb, kind, name):
            await asyncio.sleep(LOG_TIMEOUT_SECONDS if verb == "log" else TIMEOUT_SECONDS)
            raise Unavailable(f"{verb} {kind.plural} {name}: TimeoutError")
        error = self.fault(verb, kind, name)
        if error is not None:
            raise error


def _copy(body: Any) -> Any:
    """As it goes over the wire."""
    return json.loads(json.dumps(body))


def _merged(live: Any, patch: Any) -> Any:
    if not isinstance(live, dict) or not isinstance(patch, dict):
        return _copy(patch)
    kept = {k: v for k, v in live.items() if patch.get(k, 0) is not None}
    return {**kept, **{k: _merged(live.get(k), v) for k, v in patch.items() if v is not None}}


def _applied(live: Any, before: Any, wanted: Any, name: str = "") -> Any:
    """Server-side apply: what was applied before and is wanted no more goes, what others added stays."""
    if isinstance(wanted, dict) and name not in _ATOMIC:
        live, before = live if isinstance(live, dict) else {}, before if isinstance(before, dict) else {}
        kept = {k: v for k, v in live.items() if k in wanted or k not in before}
        return {**kept, **{k: _applied(live.get(k), before.get(k), v, k) for k, v in wanted.items()}}
    if isinstance(wanted, list):
        others = [item for item in live or [] if item not in (before or []) and item not in wanted]
        return [*others, *_copy(wanted)]
    return wanted


def _leaves(body: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    for key, value in body.items():
        if isinstance(value, dict) and key not in _ATOMIC:
            yield from _leaves(value, (*path, key))
        elif not isinstance(value, list):
            yield (*path, key), value


def _at(body: Any, path: Path) -> Any:
    for key in path:
        body = body.get(key) if isinstance(body, dict) else None
    return body


def _differs(live: Object | None, path: Path, value: Any) -> bool:
    return live is not None and _at(live, path) not in (None, value)


def _has(before: Object, path: Path, live: Object | None) -> bool:
    """Whether we set what is there now."""
    return _at(before, path) is not None and _at(before, path) == _at(live, path)


def _fields(body: Any) -> Any:
    if not isinstance(body, dict):
        return {}
    inner = {key: {} if key in _ATOMIC else value for key, value in body.items() if key not in _UNMANAGED}
    return {f"f:{key}": _fields(value) for key, value in inner.items()}


def _pruned(status: Any, paths: frozenset[str], at: str = "") -> Any:
    if isinstance(status, list):
        return [_pruned(item, paths, f"{at}[]") for item in status]
    if not isinstance(status, dict):
        return status
    inner = {key: f"{at}.{key}".lstrip(".") for key in status}
    return {k: _pruned(v, paths, inner[k]) for k, v in status.items() if inner[k] not in paths}
