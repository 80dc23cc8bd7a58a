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
HERE = Path(__file__).resolve().parent

# The lean form of the real engine on two cores (vLLM 0.32 on the CPU); every arm gets the same.
VLLM_ARGS = [
    "--max-model-len=512", "--dtype=float32", "--enforce-eager", "--distributed-executor-backend=uni",
    "--kv-cache-memory-bytes=67108864",
]  # fmt: skip
VLLM_ENV = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "OMP_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
    "HF_HUB_OFFLINE": "1",
}


def operator(place: Place) -> None:
    """The chart, from this checkout, with the image that was built from it."""
    repository, _, tag = place.operator_image.rpartition(":")
    place.helm(
        "upgrade", "--install", RELEASE, str(ROOT / "charts" / "specdeploy"),
        "--namespace", OPERATOR_NAMESPACE, "--create-namespace",
        "--set", f"image.repository={repository},image.tag={tag}",
        "--set", "logFormat=plain",
        "--wait", "--timeout", "180s",
    )  # fmt: skip
    # A new image behind the same tag is only seen by a new pod.
    place.kubectl("rollout", "restart", "deployment", "-n", OPERATOR_NAMESPACE)
    place.kubectl("rollout", "status", "deployment", "-n", OPERATOR_NAMESPACE, "--timeout=120s")


def manifest(place: Place, engine: str) -> str:
    """The demo's SpecDeployment as YAML."""
    values = {"ENGINE_IMAGE": place.sim_image}
    if engine == "vllm":
        venv, models = vllm_paths()
        env = [{"name": name, "value": value} for name, value in VLLM_ENV.items()]
        values = {
            "ENGINE_IMAGE": place.vllm_image,
            "ENGINE_ARGS": json.dumps(VLLM_ARGS),
            "ENGINE_ENV": json.dumps(env),
            "VENV": venv,
            "MODELS": models,
        }
    return Template((HERE / f"{engine}.yaml").read_text()).substitute(values)


def apply(place: Place, text: str) -> None:
    """`kubectl apply`, into a namespace of the demo's own; what an earlier demo left is removed first."""
    place.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=true", "--timeout=180s")
    place.kubectl("create", "namespace", NAMESPACE)
    say("kubectl apply -f - :")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            say("    " + line)
    place.kubectl("apply", "-n", NAMESPACE, "-f", "-", stdin=text)
