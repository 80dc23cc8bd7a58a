"""`reset`: a cluster without anything that users put in, imported images kept; quicker than down and up."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from devcluster.errors import DevclusterError
from devcluster.kubectl import Kubectl, wait_for
from devcluster.processes import Processes
from devcluster.settings import Settings
from devcluster.shell import say

SYSTEM_NAMESPACES = frozenset({"kube-system", "kube-public", "kube-node-lease"})
# What every cluster has from the start, by resource; the API server's own RBAC has a label that says so.
BUILT_IN = {
    "namespaces": SYSTEM_NAMESPACES | {"default"},
    "services": {"kubernetes"},
    "endpoints": {"kubernetes"},
    "endpointslices.discovery.k8s.io": {"kubernetes"},
    "configmaps": {"kube-root-ca.crt"},
    "serviceaccounts": {"default"},
    "priorityclasses.scheduling.k8s.io": {"system-cluster-critical", "system-node-critical"},
}
# Made by the cluster for itself, or gone together with what they belong to.
KEPT_RESOURCES = frozenset(
    {
        "nodes",
        "events",
        "events.events.k8s.io",
        "leases.coordination.k8s.io",
        "apiservices.apiregistration.k8s.io",
        "csinodes.storage.k8s.io",
        "ipaddresses.networking.k8s.io",
        "servicecidrs.networking.k8s.io",
        "flowschemas.flowcontrol.apiserver.k8s.io",
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
        "storageversions.internal.apiserver.k8s.io",
    }
)
DEADLINE_SECONDS = 90


def is_users(resource: str, item: dict[str, Any]) -> bool:
    """Whether a user put this object in; `resource` is its plural with group, as in `api-resources`."""
    metadata = item["metadata"]
    labels = metadata.get("labels") or {}
    return not (
        resource in KEPT_RESOURCES
        or metadata.get("namespace") in SYSTEM_NAMESPACES
        or metadata["name"] in BUILT_IN.get(resource, ())
        or labels.get("kubernetes.io/bootstrapping") == "rbac-defaults"
        or metadata["name"].startswith("system:")
    )


def reset(settings: Settings) -> None:
    """Delete all of it and wait until it is gone. Raises DevclusterError that names what stays."""
    kubectl = Kubectl(settings)
    _delete_round(kubectl)
    if not settings.control_plane_only:
        kubectl.run("delete", "pods", "--all", "--all-namespaces", "--grace-period=1", "--wait=false")
    try:
        wait_for(
            "the deletions",
            lambda: not _delete_round(kubectl),
            seconds=DEADLINE_SECONDS,
            meanwhile=Processes(settings.state).must_live,
        )
    except DevclusterError as error:
        left = ", ".join(
            f"{resource} {item['metadata']['name']}" for resource, item in _users_objects(kubectl)
        )
        raise DevclusterError(
            f"{error}; still there: {left}; `down` and `up` give an empty cluster"
        ) from None
    say("reset: the cluster is empty, images are kept")


def _delete_round(kubectl: Kubectl) -> bool:
    """Ask for the deletion of whatever a user put in; whether there was anything."""
    doomed: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    found = False
    for resource, item in _users_objects(kubectl):
        found = True
        if "deletionTimestamp" not in item["metadata"]:
            doomed[resource, item["metadata"].get("namespace", "")].append(item["metadata"]["name"])
    for (resource, namespace), names in doomed.items():
        where = [f"--namespace={namespace}"] if namespace else []
        kubectl.run(
            "delete", resource, *where, "--wait=false", "--ignore-not-found", "--grace-period=1", *names
        )
    return found


def _users_objects(kubectl: Kubectl) -> Iterable[tuple[str, dict[str, Any]]]:
    for resource in kubectl.run("api-resources", "--verbs=list,delete", "--output=name").split():
        if resource not in KEPT_RESOURCES:
            for item in (kubectl.get(resource, "--all-namespaces") or {}).get("items", []):
                if is_users(resource, item):
                    yield resource, item
