"""Installs the chart and applies the demo's SpecDeployment."""

import json
from pathlib import Path
from string import Template

from demo.place import ROOT, Place, vllm_paths
from demo.shell import DemoError, say

RELEASE = "specdeploy-demo"
OPERATOR_NAMESPACE = "specdeploy-demo-system"
NAMESPACE = "specdeploy-demo"
NAME = "demo"
POD = "clients"
HERE = Path(__file__).resolve().parent

# The lean form of the real engine on two cores (vLLM 0.32 on the CPU); every arm gets the same.
VLLM_ARGS = [
    "--max-model-len=512", "--dtype=float32", "--enforce-eager", "--distributed-executor-backend=uni",
    "--kv-cache-memory-bytes=67108864",
]  # fmt: skip


def prepare(place: Place) -> None:
    """A namespace of the demo's own, without what an earlier demo left in it."""
    place.kubectl("create", "namespace", NAMESPACE, check=False)
    place.kubectl("delete", "pod", POD, "-n", NAMESPACE, "--ignore-not-found", "--grace-period=1")
    place.kubectl("delete", "sd", NAME, "-n", NAMESPACE, "--ignore-not-found", check=False)
    place.kubectl(
        "wait", "pod", "-n", NAMESPACE, "-l", f"specdeploy.dev/name={NAME}", "--for=delete",
        "--timeout=120s", check=False,
    )  # fmt: skip
    place.kubectl("delete", "events", "--all", "-n", NAMESPACE)


def operator(place: Place) -> None:
    """The chart of this checkout with the image built from it. It watches the demo's namespace only: it goes
    nowhere near an installation that is there already, nor near what the tests do on the same cluster."""
    _refuse_a_rival(place)
    repository, _, tag = place.operator_image.rpartition(":")
    place.helm(
        "upgrade", "--install", RELEASE, str(ROOT / "charts" / "specdeploy"),
        "--namespace", OPERATOR_NAMESPACE, "--create-namespace",
        "--set", f"image.repository={repository},image.tag={tag},logFormat=plain",
        "--set", f"crd.install={str(not _crd_of_another(place)).lower()}",
        "--set", f"watchNamespaces={{{NAMESPACE}}}",
        "--wait", "--timeout", "180s",
    )  # fmt: skip
    # A new image behind the same tag is only seen by a new pod.
    place.kubectl("rollout", "restart", f"deployment/{RELEASE}", "-n", OPERATOR_NAMESPACE)
    place.kubectl("rollout", "status", f"deployment/{RELEASE}", "-n", OPERATOR_NAMESPACE, "--timeout=120s")


def _refuse_a_rival(place: Place) -> None:
    """Two operators over one namespace would fight: one that watches all namespaces is told, not replaced."""
    answer = place.kubectl(
        "get", "deployments", "-A", "-l", "app.kubernetes.io/name=specdeploy", "-o", "json"
    )
    for found in json.loads(answer)["items"]:
        space, name = found["metadata"]["namespace"], found["metadata"]["name"]
        env = found["spec"]["template"]["spec"]["containers"][0].get("env") or []
        watched = next((e.get("value") for e in env if e["name"] == "SPECDEPLOY_NAMESPACES"), "")
        if space != OPERATOR_NAMESPACE and not watched:
            raise DemoError(
                f"the operator {space}/{name} watches all namespaces of this cluster already; apply "
                f"demo/sim.yaml by hand there, or restrict it with watchNamespaces"
            )


def _crd_of_another(place: Place) -> bool:
    """Whether the CRD is there and another release, or nobody's helm, has brought it."""
    name = "specdeployments.specdeploy.dev"
    answer = place.kubectl("get", "crd", name, "--ignore-not-found", "-o", "json")
    if not answer.strip():
        return False
    annotations = json.loads(answer)["metadata"].get("annotations") or {}
    return annotations.get("meta.helm.sh/release-name") != RELEASE


def remove(place: Place) -> None:
    """Take everything of the demo off a cluster of yours; the CRD stays, as the chart promises."""
    place.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--timeout=180s", quiet=False)
    place.helm("uninstall", RELEASE, "--namespace", OPERATOR_NAMESPACE, "--ignore-not-found")
    place.kubectl(
        "delete", "namespace", OPERATOR_NAMESPACE, "--ignore-not-found", "--timeout=180s", quiet=False
    )


def manifest(place: Place, engine: str) -> str:
    """The demo's SpecDeployment as YAML."""
    values = {"ENGINE_IMAGE": place.sim_image}
    if engine == "vllm":
        venv, models = vllm_paths()
        values = {
            "ENGINE_IMAGE": place.vllm_image,
            "ENGINE_ARGS": json.dumps(VLLM_ARGS),
            "VENV": venv,
            "MODELS": models,
        }
    return Template((HERE / f"{engine}.yaml").read_text()).substitute(values)


def apply(place: Place, text: str) -> None:
    """`kubectl apply` of the demo's SpecDeployment, shown as it is."""
    say("kubectl apply -f - :")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            say("    " + line)
    place.kubectl("apply", "-n", NAMESPACE, "-f", "-", stdin=text)
