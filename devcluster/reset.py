"""`reset`: a cluster without anything that users put in, imported images kept; quicker than down and up."""

import json
from typing import Any

from devcluster.errors import DevclusterError
from devcluster.kubectl import Kubectl, wait_for
from devcluster.processes import Processes
from devcluster.settings import Settings
from devcluster.shell import say

SYSTEM_NAMESPACES = frozenset({"kube-system", "kube-public", "kube-node-lease"})
# What every cluster has from the start, by kind; the API server's own RBAC has a label that says so.
BUILT_IN = {
    "Namespace": SYSTEM_NAMESPACES | {"default"},
    "Service": frozenset({"kubernetes"}),
    "Endpoints": frozenset({"kubernetes"}),
    "EndpointSlice": frozenset({"kubernetes"}),
    "ConfigMap": frozenset({"kube-root-ca.crt"}),
    "ServiceAccount": frozenset({"default"}),
    "PriorityClass": frozenset({"system-cluster-critical", "system-node-critical"}),
}
# Made by the cluster for itself, or gone together with what they belong to.
KEPT_KINDS = frozenset(
    {"Node", "Event", "Lease", "APIService", "CSINode", "IPAddress", "ServiceCIDR"}
    | {"FlowSchema", "PriorityLevelConfiguration"}
)
GRACE_SECONDS = 1
DEADLINE_SECONDS = 90


def is_users(item: dict[str, Any]) -> bool:
    """Whether a user put this object in, or it follows from one."""
    kind, metadata = item["kind"], item["metadata"]
    return not (
        kind in KEPT_KINDS
        or metadata.get("namespace") in SYSTEM_NAMESPACES
        or metadata["name"] in BUILT_IN.get(kind, ())
        or metadata["name"].startswith("system:")
        or "kubernetes.io/bootstrapping" in metadata.get("labels", {})
    )


def has_to_be_deleted(item: dict[str, Any]) -> bool:
    """Whether a request is due: not yet deleted, or a pod on its way that takes the time its spec allows."""
    metadata = item["metadata"]
    slow = item["kind"] == "Pod" and metadata.get("deletionGracePeriodSeconds", 0) > GRACE_SECONDS
    return slow or "deletionTimestamp" not in metadata


def reset(settings: Settings) -> None:
    """Delete all of it and wait until it is gone. Raises DevclusterError that names what stays."""
    kubectl = Kubectl(settings)
    alive = Processes(settings.state).must_live
    try:
        wait_for("the deletions", lambda: _delete_all(kubectl), seconds=DEADLINE_SECONDS, meanwhile=alive)
    except DevclusterError as error:
        left = ", ".join(
            f"{item['kind']} {item['metadata']['name']}" for item in _users_objects(kubectl) or ()
        )
        hint = "`down` and `up` give an empty cluster"
        raise DevclusterError(f"{error}; still there: {left or 'nothing'}; {hint}") from None
    say("reset: the cluster is empty, images are kept")


def _delete_all(kubectl: Kubectl) -> bool:
    """Ask for every deletion that is due; whether nothing is left."""
    items = _users_objects(kubectl)
    due = [
        {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": _identity(item["metadata"])}
        for item in items or ()
        if has_to_be_deleted(item)
    ]
    if due:
        objects = json.dumps({"apiVersion": "v1", "kind": "List", "items": due})
        options = ["--wait=false", "--ignore-not-found", f"--grace-period={GRACE_SECONDS}"]
        kubectl.succeeds("delete", "--filename=-", *options, stdin=objects)
    return items == []


def _identity(metadata: dict[str, Any]) -> dict[str, Any]:
    return {key: metadata[key] for key in ("name", "namespace") if key in metadata}


def _users_objects(kubectl: Kubectl) -> list[dict[str, Any]] | None:
    """All objects of users; None when a kind went away while the list was read."""
    kinds = kubectl.run("api-resources", "--verbs=list,delete", "--output=name").split()
    listed = kubectl.get(",".join(kinds), "--all-namespaces")
    return None if listed is None else [item for item in listed["items"] if is_users(item)]
