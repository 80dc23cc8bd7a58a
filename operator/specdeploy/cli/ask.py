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
            config = yaml.safe_load(Path(path).read_text())
        except (OSError, yaml.YAMLError):
            continue
        found = _namespace(config if isinstance(config, dict) else {})
        if found:
            return found
    return "default"


def _namespace(config: dict[str, Any]) -> str | None:
    wanted = config.get("current-context")
    for entry in config.get("contexts") or []:
        if entry.get("name") == wanted:
            return (entry.get("context") or {}).get("namespace")
    return None
