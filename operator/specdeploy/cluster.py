"""All traffic with the API server but the watches: a few verbs over plain dicts. I/O.

The reconciler sees only the protocol `Cluster`; `tests/fake_cluster.py` is its twin in memory. Live objects
are never parsed into models: a newer field must not stop an older operator.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import aiohttp
from kubernetes.aio import config
from kubernetes.aio.client import ApiClient, Configuration
from kubernetes.aio.client.exceptions import ApiException

from specdeploy.api.names import FIELD_MANAGER, GROUP, PLURAL, VERSION

Object = dict[str, Any]
TIMEOUT_SECONDS = 30.0
# The API server asks a kubelet for it, which it may not reach; nothing that is urgent waits for a log.
LOG_TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True)
class Kind:
    """A resource: the path of its API, its plural name, whether it lives in a namespace."""

    api: str
    plural: str
    namespaced: bool = True


SPEC_DEPLOYMENTS = Kind(f"/apis/{GROUP}/{VERSION}", PLURAL)
DEPLOYMENTS = Kind("/apis/apps/v1", "deployments")
PODS = Kind("/api/v1", "pods")
SERVICES = Kind("/api/v1", "services")
EVENTS = Kind("/api/v1", "events")
NODES = Kind("/api/v1", "nodes", namespaced=False)
BUDGETS = Kind("/apis/policy/v1", "poddisruptionbudgets")
CRDS = Kind("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions", namespaced=False)


class ClusterError(Exception):
    """The API server did not do what was asked.

    ClusterError
      NotFound        404
      Conflict        409, the object is not what we read any more
      AlreadyExists   409, the name is in use
      Forbidden       401, 403: rights are missing, or a quota is used up
      Refused         400, 413, 422: this body will never be taken
      Unavailable     everything else, the network included: try again
    """


class NotFound(ClusterError):  # noqa: N818
    """404."""


class Conflict(ClusterError):  # noqa: N818
    """409: read again."""


class AlreadyExists(ClusterError):  # noqa: N818
    """409 on create."""


class Forbidden(ClusterError):  # noqa: N818
    """401 or 403: it says nothing of the body."""


class Refused(ClusterError):  # noqa: N818
    """400, 413 or 422: the message says what is wrong with the body."""


class Unavailable(ClusterError):  # noqa: N818
    """Anything that may pass."""


_BY_STATUS: Mapping[int, type[ClusterError]] = {
    400: Refused,
    401: Forbidden,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: Refused,
    422: Refused,
}

Patch = Literal["merge", "apply", "force"]
_CONTENT: Mapping[Patch, str] = {
    "merge": "application/merge-patch+json",
    "apply": "application/apply-patch+yaml",
    "force": "application/apply-patch+yaml",
}
# A webhook or a policy may answer 403 where it means the body. Missing rights and a quota that is used up,
# which also read "is forbidden", say nothing of it.
_DENIED = ("denied the request", "denied request")


class Cluster(Protocol):
    """The verbs that the operator needs. Every method may raise ClusterError."""

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        """The object, live. NotFound if there is none."""

    async def list_all(self, kind: Kind, namespace: str, selector: str = "") -> list[Object]:
        """All objects of a kind whose labels match, live; in all namespaces if `namespace` is empty."""

    async def log(self, namespace: str, name: str, container: str, *, since: str | None, limit: int) -> str:
        """The log of a pod's container from an instant (RFC 3339) on, at most `limit` bytes of it."""

    async def create(self, kind: Kind, namespace: str, body: Object) -> Object:
        """POST. AlreadyExists if the name is in use."""

    async def patch(self, kind: Kind, namespace: str, name: str, body: Object, how: Patch) -> Object:
        """Merge-patch ("merge"), or server-side apply of the fields that we own: "apply" raises Conflict
        where another manager set one of them otherwise, "force" overrules it. A `uid` or `resourceVersion`
        in the body must be the live object's, else Conflict."""

    async def replace_status(self, kind: Kind, namespace: str, name: str, body: Object) -> Object:
        """PUT of the status subresource. Conflict unless the resourceVersion is the one that was read."""

    async def delete(self, kind: Kind, namespace: str, name: str, uid: str) -> None:
        """Delete exactly this object; its own children go in the background. Quiet if it is gone."""


@dataclass(frozen=True)
class Access:
    """How the API server is reached, for whoever opens watches: kopf. Paths are files; absent is None."""

    server: str
    scheme: str | None
    token: str | None
    ca_path: str | None
    ca_data: str | bytes | None
    certificate_path: str | None
    private_key_path: str | None
    insecure: bool


class KubernetesCluster:
    """The real one, over the official client's transport."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    @classmethod
    async def connect(cls, version: str) -> "KubernetesCluster":
        """From the pod's service account, else from the kubeconfig."""
        configuration = Configuration()
        try:
            config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        except config.ConfigException:
            await _load_kubeconfig(configuration)
        client = ApiClient(configuration)
        client.user_agent = f"specdeploy/{version}"
        return cls(client)

    async def access(self) -> Access:
        """The access in force now; a service account's token is read anew when it was rotated."""
        known = self._client.configuration
        scheme, _, token = (await known.get_api_key_with_prefix("BearerToken") or "").partition(" ")
        return Access(
            server=known.host,
            scheme=scheme.capitalize() or None,
            token=token or None,
            ca_path=known.ssl_ca_cert or None,
            ca_data=known.ca_cert_data or None,
            certificate_path=known.cert_file or None,
            private_key_path=known.key_file or None,
            insecure=not known.verify_ssl,
        )

    async def close(self) -> None:
        await self._client.close()  # type: ignore[no-untyped-call]

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        return await self._call("GET", _path(kind, namespace, name))

    async def list_all(self, kind: Kind, namespace: str, selector: str = "") -> list[Object]:
        query = [("labelSelector", selector)] if selector else []
        answer = await self._call("GET", _path(kind, namespace), query)
        items: list[Object] = answer.get("items") or []
        return items

    async def log(self, namespace: str, name: str, container: str, *, since: str | None, limit: int) -> str:
        path = _path(PODS, namespace, name) + "/log"
        query = [("container", container), ("limitBytes", str(limit))]
        query += [("sinceTime", since)] if since else []
        status, payload = await self._exchange("GET", path, query, timeout=LOG_TIMEOUT_SECONDS)
        if status >= 400:
            _result("GET", path, status, payload)
        return payload.decode(errors="replace")

    async def create(self, kind: Kind, namespace: str, body: Object) -> Object:
        query = [("fieldManager", FIELD_MANAGER)]
        return await self._call("POST", _path(kind, namespace), query, body)

    async def patch(self, kind: Kind, namespace: str, name: str, body: Object, how: Patch) -> Object:
        query = [("fieldManager", FIELD_MANAGER)] + ([("force", "true")] if how == "force" else [])
        return await self._call("PATCH", _path(kind, namespace, name), query, body, _CONTENT[how])

    async def replace_status(self, kind: Kind, namespace: str, name: str, body: Object) -> Object:
        query = [("fieldManager", f"{FIELD_MANAGER}-status")]
        return await self._call("PUT", _path(kind, namespace, name) + "/status", query, body)

    async def delete(self, kind: Kind, namespace: str, name: str, uid: str) -> None:
        body = {"propagationPolicy": "Background", "preconditions": {"uid": uid}}
        try:
            await self._call("DELETE", _path(kind, namespace, name), [], body)
        except (NotFound, Conflict):
            return  # gone, or another object of that name by now

    async def _call(
        self,
        method: str,
        path: str,
        query: list[tuple[str, str]] | None = None,
        body: Object | None = None,
        content: str = "application/json",
    ) -> Object:
        return _result(method, path, *await self._exchange(method, path, query, body, content))

    async def _exchange(
        self,
        method: str,
        path: str,
        query: list[tuple[str, str]] | None = None,
        body: Object | None = None,
        content: str = "application/json",
        timeout: float = TIMEOUT_SECONDS,
    ) -> tuple[int, bytes]:
        """Status and body of the answer, whatever they are."""
        headers = {"Accept": "application/json", "Content-Type": content}
        try:
            request = await self._client.param_serialize(
                method, path, query_params=query or [], header_params=headers, body=body,
                auth_settings=["BearerToken"],
            )  # fmt: skip
            response = await self._client.call_api(*request, _request_timeout=timeout)
            payload: bytes = await response.read()  # type: ignore[no-untyped-call]
        except (aiohttp.ClientError, TimeoutError, OSError, ApiException) as error:
            raise Unavailable(f"{method} {path}: {type(error).__name__}: {error}") from error
        return response.status, payload


async def _load_kubeconfig(configuration: Configuration) -> None:
    # What the loader warns of, it also raises.
    logging.getLogger("kubernetes.aio.config").setLevel(logging.ERROR)
    try:
        await config.load_kube_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except config.ConfigException as error:
        raise Unavailable(
            f"no cluster to talk to: this is no pod, and no kubeconfig can be used ({error}); set KUBECONFIG"
        ) from error


def _path(kind: Kind, namespace: str, name: str = "") -> str:
    parts = [kind.api]
    if kind.namespaced and namespace:
        parts += ["namespaces", namespace]
    parts.append(kind.plural)
    return "/".join([*parts, name] if name else parts)


def _result(method: str, path: str, status: int, payload: bytes) -> Object:
    try:
        answer = json.loads(payload or b"{}")
    except ValueError:
        answer = payload[:200].decode(errors="replace")
    if status < 400 and isinstance(answer, dict):
        return answer
    message = str(answer.get("message") if isinstance(answer, dict) else answer)
    error = _BY_STATUS.get(status, Unavailable)
    if error is Forbidden and any(words in message for words in _DENIED):
        error = Refused
    if error is Conflict and isinstance(answer, dict) and answer.get("reason") == "AlreadyExists":
        error = AlreadyExists
    raise error(f"{method} {path}: {status}: {message[:600]}")
