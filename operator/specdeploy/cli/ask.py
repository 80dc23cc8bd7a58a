"""How the commands reach the cluster: read objects, put a verb's annotation. I/O."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import yaml

from specdeploy import __version__
from specdeploy.cluster import SPEC_DEPLOYMENTS, KubernetesCluster, Object

T = TypeVar("T")


def with_cluster(work: Callable[[KubernetesCluster], Awaitable[T]]) -> T:
    """Run `work` with a connection that is closed afterwards."""

    async def _run() -> T:
        cluster = await KubernetesCluster.connect(__version__)
        try:
            return await work(cluster)
        finally:
            await cluster.close()

    return asyncio.run(_run())


def read_all(namespace: str) -> list[Object]:
    """Every SpecDeployment of a namespace; of all namespaces if it is empty."""
    return with_cluster(lambda c: c.list_all(SPEC_DEPLOYMENTS, namespace))


def read_one(namespace: str, name: str) -> Object:
    """One SpecDeployment. NotFound if there is none."""
    return with_cluster(lambda c: c.get(SPEC_DEPLOYMENTS, namespace, name))


def annotate(namespace: str, name: str, annotations: dict[str, str | None]) -> Object:
    """Set annotations; None removes one."""
    body: dict[str, Any] = {"metadata": {"annotations": annotations}}
    return with_cluster(lambda c: c.patch(SPEC_DEPLOYMENTS, namespace, name, body, "merge"))


def current_namespace() -> str:
    """The namespace of the kubeconfig's current context, as kubectl has it; "default" if there is none."""
    for path in os.environ.get("KUBECONFIG", str(Path.home() / ".kube" / "config")).split(os.pathsep):
        try:
            config = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError, RecursionError):
            continue
        found = _namespace(config if isinstance(config, dict) else {})
        if found:
            return found
    return "default"


def _namespace(config: dict[str, Any]) -> str | None:
    wanted, listed = config.get("current-context"), config.get("contexts")
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, dict) and entry.get("name") == wanted:
            context = entry.get("context")
            found = context.get("namespace") if isinstance(context, dict) else None
            return found if isinstance(found, str) else None
    return None
