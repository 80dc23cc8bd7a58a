"""Where these tests run: the full development cluster, the images of this checkout, the chart's operator.

place (cluster, images, resource) -> objects (what is applied) -> journal (what is seen) -> the tests
"""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.kube import CRD, ROOT, Kubectl, KubectlError, eventually, install_crd

OPERATOR_IMAGE = "localhost/specdeploy:dev"
SIM_IMAGE = "localhost/specdeploy-sim:dev"
RELEASE = "sdtest"
OPERATOR_NAMESPACE = "sdtest-system"
OPERATOR = "sdtest-specdeploy"
# A resource of our own: whoever shares the cluster keeps the GPUs.
RESOURCE = "example.com/test-gpu"
# Longer than helm itself waits, which is five minutes.
_HELM_SECONDS = 400


@dataclass(frozen=True)
class Place:
    """A cluster that runs pods: kubectl on it, helm's path, and a namespace for each operator under test."""

    kubectl: Kubectl
    helm: Path
    suffix: str

    def namespace(self, purpose: str) -> str:
        """The name of this run's namespace for a purpose."""
        return f"sdtest-{purpose}-{self.suffix}"

    def within(self, namespace: str) -> Kubectl:
        """kubectl in a namespace, which is made if it is missing."""
        kubectl = Kubectl(self.kubectl.command, self.kubectl.kubeconfig, namespace)
        if kubectl.finished("get", "namespace", namespace).returncode:
            kubectl.run("create", "namespace", namespace)
        return kubectl


@contextmanager
def dev_place() -> Iterator[Place]:
    """The running development cluster, or one that is brought up here and taken down afterwards."""
    was_up = _devcluster("status", check=False).returncode == 0
    if not was_up:
        _devcluster("up")
    try:
        for target, tag in (("operator", OPERATOR_IMAGE), ("sim", SIM_IMAGE)):
            _devcluster("image", "--tag", tag, "--file", "Dockerfile", "--target", target, "--context", ".")
        tools = Path(_devcluster("path").stdout.strip())
        kubectl = Kubectl(tools / "kubectl", Path(_devcluster("kubeconfig").stdout.strip()))
        _offer_resource(kubectl)
        yield Place(kubectl, tools / "helm", secrets.token_hex(3))
    finally:
        if not was_up and os.environ.get("SPECDEPLOY_KEEP_CLUSTER") != "1":
            _devcluster("down")


def _devcluster(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "devcluster", *words],
        cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=1500, check=check,
    )  # fmt: skip


def _offer_resource(kubectl: Kubectl) -> None:
    """The node offers our resource, as a device plugin's result would be."""
    node = kubectl.run("get", "nodes", "--output=jsonpath={.items[0].metadata.name}")
    path = "/status/capacity/" + RESOURCE.replace("/", "~1")
    patch = json.dumps([{"op": "add", "path": path, "value": "64"}])
    kubectl.run("patch", "node", node, "--subresource=status", "--type=json", f"--patch={patch}")
    eventually(
        lambda: RESOURCE in kubectl.run("get", "node", node, "--output=jsonpath={.status.allocatable}"),
        every=1,
    )


@contextmanager
def chart_operator(place: Place, namespaces: tuple[str, ...]) -> Iterator[None]:
    """The operator as users install it, with the chart's rights, in the image of this checkout.

    The CRD comes with it and goes with it, unless there is one already: then it is brought up to date.
    """
    owner = _owner_of_crd(place.kubectl)
    ours = owner in (None, RELEASE)
    if not ours:
        install_crd(place.kubectl)
    repository, _, tag = OPERATOR_IMAGE.rpartition(":")
    try:
        _helm(
            place, "upgrade", "--install", RELEASE, str(ROOT / "charts" / "specdeploy"),
            "--namespace", OPERATOR_NAMESPACE, "--create-namespace", "--wait",
            "--set", f"image.repository={repository},image.tag={tag},crd.install={str(ours).lower()}",
            "--set", f"logFormat=plain,maxTrials=16,watchNamespaces={{{','.join(namespaces)}}}",
        )  # fmt: skip
        yield
    finally:
        _helm(place, "uninstall", RELEASE, "--namespace", OPERATOR_NAMESPACE, "--ignore-not-found", "--wait")
        place.kubectl.run("delete", "namespace", OPERATOR_NAMESPACE, *namespaces, "--wait=false")
        if ours:
            place.kubectl.run("delete", f"--filename={CRD}", "--ignore-not-found", "--wait=false")


def _owner_of_crd(kubectl: Kubectl) -> str | None:
    """The Helm release that brought the CRD; "" if none did; None if there is no CRD."""
    if kubectl.finished("get", f"--filename={CRD}").returncode:
        return None
    path = r"{.metadata.annotations.meta\.helm\.sh/release-name}"
    return kubectl.run("get", f"--filename={CRD}", f"--output=jsonpath={path}")


def _helm(place: Place, *words: str) -> None:
    done = subprocess.run(
        [place.helm, *words, f"--kubeconfig={place.kubectl.kubeconfig}"],
        capture_output=True, text=True, timeout=_HELM_SECONDS, check=False,
    )  # fmt: skip
    if done.returncode:
        raise KubectlError(f"helm {words[0]}: {done.stderr.strip()}")
