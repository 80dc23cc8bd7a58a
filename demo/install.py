"""Installs the chart and applies the demo's SpecDeployment."""

import json
from pathlib import Path
from string import Template

from demo.place import ROOT, Place, vllm_paths
from demo.shell import say

RELEASE = "specdeploy"
OPERATOR_NAMESPACE = "specdeploy-system"
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
    """The chart of this checkout with the image built from it; it watches the demo's namespace."""
    repository, _, tag = place.operator_image.rpartition(":")
    place.helm(
        "upgrade", "--install", RELEASE, str(ROOT / "charts" / "specdeploy"),
        "--namespace", OPERATOR_NAMESPACE, "--create-namespace",
        "--set", f"image.repository={repository},image.tag={tag}",
        "--set", f"logFormat=plain,watchNamespaces={{{NAMESPACE}}}",
        "--wait", "--timeout", "180s",
    )  # fmt: skip
    # A new image behind the same tag is only seen by a new pod.
    place.kubectl("rollout", "restart", f"deployment/{RELEASE}", "-n", OPERATOR_NAMESPACE)
    place.kubectl("rollout", "status", f"deployment/{RELEASE}", "-n", OPERATOR_NAMESPACE, "--timeout=120s")


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
