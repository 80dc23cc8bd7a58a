"""The verbs against a server on loopback: paths, queries, bodies, and what each answer means."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from kubernetes.aio.client import ApiClient, Configuration

from specdeploy.cluster import (
    DEPLOYMENTS,
    NODES,
    PODS,
    SERVICES,
    SPEC_DEPLOYMENTS,
    AlreadyExists,
    ClusterError,
    Conflict,
    Forbidden,
    KubernetesCluster,
    NotFound,
    Refused,
    Unavailable,
)


@dataclass
class Api:
    """Answers everything alike, and keeps what it was asked."""

    status: int = 200
    body: bytes = b"{}"
    asked: list[dict[str, Any]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        raw = await request.read()
        self.asked.append(
            {
                "call": f"{request.method} {request.path}",
                "query": dict(request.query),
                "type": request.headers.get("Content-Type"),
                "body": json.loads(raw) if raw else None,
            }
        )
        return web.Response(status=self.status, body=self.body, content_type="application/json")


@pytest.fixture
async def api() -> AsyncIterator[tuple[KubernetesCluster, Api]]:
    server = Api()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    cluster = KubernetesCluster(ApiClient(Configuration(host=f"http://127.0.0.1:{port}")))
    yield cluster, server
    await cluster.close()
    await runner.cleanup()


async def test_every_verb_asks_what_it_should(api: tuple[KubernetesCluster, Api]) -> None:
    cluster, server = api
    sd = "/apis/specdeploy.dev/v1alpha1/namespaces/ns/specdeployments/gemma"
    await cluster.get(SPEC_DEPLOYMENTS, "ns", "gemma")
    await cluster.get(NODES, "", "n1")
    await cluster.list_all(PODS, "ns", "specdeploy.dev/name=gemma")
    await cluster.list_all(SPEC_DEPLOYMENTS, "")
    await cluster.create(DEPLOYMENTS, "ns", {"a": 1})
    await cluster.patch(DEPLOYMENTS, "ns", "d", {"a": 1}, "merge")
    await cluster.patch(SERVICES, "ns", "s", {"a": 1}, "apply")
    await cluster.patch(SERVICES, "ns", "s", {"a": 1}, "force")
    await cluster.replace_status(SPEC_DEPLOYMENTS, "ns", "gemma", {"a": 1})
    await cluster.delete(DEPLOYMENTS, "ns", "d", "u1")
    ours = {"fieldManager": "specdeploy"}
    assert [(a["call"], a["query"]) for a in server.asked] == [
        (f"GET {sd}", {}),
        ("GET /api/v1/nodes/n1", {}),
        ("GET /api/v1/namespaces/ns/pods", {"labelSelector": "specdeploy.dev/name=gemma"}),
        ("GET /apis/specdeploy.dev/v1alpha1/specdeployments", {}),
        ("POST /apis/apps/v1/namespaces/ns/deployments", ours),
        ("PATCH /apis/apps/v1/namespaces/ns/deployments/d", ours),
        ("PATCH /api/v1/namespaces/ns/services/s", ours),
        ("PATCH /api/v1/namespaces/ns/services/s", {**ours, "force": "true"}),
        (f"PUT {sd}/status", {"fieldManager": "specdeploy-status"}),
        ("DELETE /apis/apps/v1/namespaces/ns/deployments/d", {}),
    ]
    types = [a["type"] for a in server.asked if a["call"].startswith("PATCH")]
    assert types == ["application/merge-patch+json", *["application/apply-patch+yaml"] * 2]
    wanted = {"propagationPolicy": "Background", "preconditions": {"uid": "u1"}}
    assert server.asked[-1]["body"] == wanted


@pytest.mark.parametrize(
    ("status", "answer", "error"),
    [
        (404, {"message": "not found"}, NotFound),
        (409, {"reason": "Conflict", "message": "modified"}, Conflict),
        (409, {"reason": "AlreadyExists", "message": "exists"}, AlreadyExists),
        (403, {"message": 'deployments.apps is forbidden: User "x" cannot create'}, Forbidden),
        (403, {"message": 'admission webhook "policy" denied the request: no'}, Refused),
        (
            403,
            {"message": "is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"},
            Refused,
        ),
        (
            403,
            {"message": 'deployments.apps "x" is forbidden: exceeded quota: team, requested: 1'},
            Forbidden,
        ),
        (401, {"message": "Unauthorized"}, Forbidden),
        (422, {"message": "spec.replicas: Invalid value"}, Refused),
        (400, {"message": "bad"}, Refused),
        (413, {"message": "too large"}, Refused),
        (429, {"message": "slow down"}, Unavailable),
        (500, {"message": "etcd"}, Unavailable),
        (503, "<html>a proxy's page</html>", Unavailable),
        (200, "not JSON", Unavailable),
        (200, ["a list"], Unavailable),
    ],
)
async def test_each_answer_has_its_meaning_and_keeps_the_servers_words(
    api: tuple[KubernetesCluster, Api], status: int, answer: Any, error: type[ClusterError]
) -> None:
    cluster, server = api
    server.status = status
    server.body = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
    with pytest.raises(error) as raised:
        await cluster.create(DEPLOYMENTS, "ns", {})
    assert type(raised.value) is error
    words = answer["message"] if isinstance(answer, dict) else str(answer)
    assert words in str(raised.value)
    assert "POST /apis/apps/v1/namespaces/ns/deployments" in str(raised.value)


async def test_a_log_is_asked_for_within_bounds_and_is_any_text(api: tuple[KubernetesCluster, Api]) -> None:
    cluster, server = api
    server.body = b"no JSON at all\n\xff\n"
    assert await cluster.log("ns", "p", "vllm", since=None, limit=10) == "no JSON at all\n\ufffd\n"
    await cluster.log("ns", "p", "vllm", since="2027-01-15T08:00:00Z", limit=10)
    path, common = "GET /api/v1/namespaces/ns/pods/p/log", {"container": "vllm", "limitBytes": "10"}
    assert [(a["call"], a["query"]) for a in server.asked] == [
        (path, common),
        (path, {**common, "sinceTime": "2027-01-15T08:00:00Z"}),
    ]


@pytest.mark.parametrize(
    ("status", "error"), [(403, Forbidden), (404, NotFound), (400, Refused), (500, Unavailable)]
)
async def test_a_log_that_cannot_be_had_keeps_the_servers_words(
    api: tuple[KubernetesCluster, Api], status: int, error: type[ClusterError]
) -> None:
    cluster, server = api
    server.status, server.body = status, b'{"message": "pods/log: not for you"}'
    with pytest.raises(error, match=r"GET /api/v1/namespaces/ns/pods/p/log: .*pods/log: not for you"):
        await cluster.log("ns", "p", "vllm", since=None, limit=10)


@pytest.mark.parametrize("status", [404, 409])
async def test_deleting_what_is_gone_or_another_by_now_is_quiet(
    api: tuple[KubernetesCluster, Api], status: int
) -> None:
    api[1].status = status
    await api[0].delete(DEPLOYMENTS, "ns", "d", "u1")


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    cluster = KubernetesCluster(ApiClient(Configuration(host="http://127.0.0.1:9")))
    with pytest.raises(Unavailable, match="GET /api/v1/nodes"):
        await cluster.list_all(NODES, "")
    await cluster.close()
