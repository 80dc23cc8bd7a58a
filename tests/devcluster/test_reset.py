from typing import Any

import pytest

from devcluster.reset import has_to_be_deleted, is_users


def item(kind: str, name: str, namespace: str | None = None, **metadata: Any) -> dict[str, Any]:
    where = {} if namespace is None else {"namespace": namespace}
    return {"kind": kind, "metadata": {"name": name, **where, **metadata}}


@pytest.mark.parametrize(
    ("thing", "users"),
    [
        (item("Deployment", "web", "default"), True),
        (item("SpecDeployment", "gemma", "models"), True),
        (item("Namespace", "models"), True),
        (item("CustomResourceDefinition", "specdeployments.specdeploy.dev"), True),
        (item("ClusterRole", "specdeploy"), True),
        (item("Namespace", "default"), False),
        (item("Service", "kubernetes", "default"), False),
        (item("ConfigMap", "kube-root-ca.crt", "models"), False),
        (item("Secret", "token", "kube-system"), False),
        (item("ClusterRole", "admin", labels={"kubernetes.io/bootstrapping": "rbac-defaults"}), False),
        (item("ClusterRole", "system:node"), False),
        (item("PriorityClass", "system-node-critical"), False),
        (item("Node", "specdeploy-node"), False),
    ],
    ids=lambda value: f"{value['kind']} {value['metadata']['name']}" if isinstance(value, dict) else None,
)
def test_only_what_users_put_in_is_deleted(thing: dict[str, Any], users: bool) -> None:
    assert is_users(thing) is users


@pytest.mark.parametrize(
    ("thing", "due"),
    [
        (item("Service", "web", "default"), True),
        (item("Service", "web", "default", deletionTimestamp="2026-01-01T00:00:00Z"), False),
        (
            item("Pod", "web", "d", deletionTimestamp="2026-01-01T00:00:00Z", deletionGracePeriodSeconds=340),
            True,
        ),
        (
            item("Pod", "web", "d", deletionTimestamp="2026-01-01T00:00:00Z", deletionGracePeriodSeconds=1),
            False,
        ),
    ],
    ids=["not yet", "on its way", "a pod that drains", "a pod that ends at once"],
)
def test_a_deletion_is_asked_for_once_and_a_long_drain_is_cut_short(thing: dict[str, Any], due: bool) -> None:
    assert has_to_be_deleted(thing) is due
