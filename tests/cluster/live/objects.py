"""What these tests apply: SpecDeployments over simulated engines, and the pods of their clients."""

import json
from typing import Any

from tests.cluster.kube import Kubectl, eventually
from tests.cluster.live.place import RESOURCE, SIM_IMAGE

MODEL = "sim/llama"
WINDOW_SECONDS = 5
# Longer than anybody waits: without clients no window is evidence.
CLIENTS_SECONDS = 3600

Object = dict[str, Any]

# About 0.4 times as fast as no drafter at all: a disaster.
LOSER: Object = {
    "name": "heavy",
    "method": "eagle3",
    "model": "sim/heavy?q1=0.3&q=0.3&d0=2.4&d1=0.1",
    "numSpeculativeTokens": 3,
}
WINNER: Object = {"name": "dflash", "method": "dflash", "model": "sim/dflash", "numSpeculativeTokens": 7}
# About 1.9 times as fast, and about half as fast once little of its guesses is accepted.
FADING: Object = {
    "name": "fading",
    "method": "eagle3",
    "model": "sim/fading?q1=0.85&q=0.83&d0=0.8&d1=0.08",
    "numSpeculativeTokens": 7,
}
FADED = ("q1=0.2", "q=0.2")


def drafter(name: str, knobs: str = "", **more: Any) -> Object:
    """An eagle3 drafter whose simulated engine has these knobs, such as `fail=hang&fail_after=20`."""
    model = f"sim/{name}" + (f"?{knobs}" if knobs else "")
    return {"name": name, "method": "eagle3", "model": model, "numSpeculativeTokens": 3, **more}


def spec_deployment(name: str, *drafters: Object, replicas: int = 2, **more: Any) -> Object:
    """A SpecDeployment whose engines load in a second and whose windows are as short as they may be."""
    return {
        "apiVersion": "specdeploy.dev/v1alpha1",
        "kind": "SpecDeployment",
        "metadata": {"name": name},
        "spec": {
            "model": MODEL,
            "replicas": replicas,
            "accelerator": {"resourceName": RESOURCE, "count": 1},
            "engine": {
                "image": SIM_IMAGE,
                "startupSeconds": 240,
                "drain": {"endpointRemovalSeconds": 3, "requestSeconds": 60},
                "env": [{"name": "VLLM_SIM_STARTUP_SECONDS", "value": "1"}],
            },
            "drafters": list(drafters),
            "trial": {
                "windowSeconds": WINDOW_SECONDS,
                "warmupSeconds": 10,
                "deadlineSeconds": 600,
                "totalDeadlineSeconds": 3600,
            },
            **more,
        },
    }


def start_clients(
    kubectl: Kubectl, name: str, *more: str, concurrency: int = 8, timeout: int = 60, pod: str = ""
) -> None:
    """Clients of the SpecDeployment, in a pod, through its Service; a new connection for each request.

    `more`: further words of the load generator; `pod` names a second pod of clients.
    """
    address = kubectl.run("get", "service", name, "--output=jsonpath={.spec.clusterIP}")
    command = [
        "python3", "-m", "vllm_sim.load", "--url", f"http://{address}:8000", "--model", MODEL,
        "--concurrency", str(concurrency), "--max-tokens", "128", "--seconds", str(CLIENTS_SECONDS),
        "--timeout", str(timeout), "--interval", "10", *more,
    ]  # fmt: skip
    container = {
        "name": "clients",
        "image": SIM_IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": command,
    }
    kubectl.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": pod or f"{name}-clients"},
            "spec": {
                "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 30,
                "containers": [container],
            },
        }
    )


def stop_clients(kubectl: Kubectl, name: str, *, pod: str = "") -> dict[str, Any]:
    """Let the clients finish what is in flight; their summary, with `requests`, `failed` and `failures`."""
    pod = pod or f"{name}-clients"
    kubectl.run("exec", pod, "--", "python3", "-c", "import os; os.kill(1, 15)")
    phase = "--output=jsonpath={.status.phase}"
    eventually(lambda: kubectl.run("get", "pod", pod, phase) in ("Succeeded", "Failed"), every=1)
    last = kubectl.run("logs", pod, "--tail=1").strip()
    summary: dict[str, Any] = json.loads(last)
    return summary


def lower_acceptance(kubectl: Kubectl, name: str, drafter: str) -> None:
    """What is served changes: every pod of the drafter accepts little from now on."""
    set_knobs(kubectl, name, drafter, *FADED)


def set_knobs(kubectl: Kubectl, name: str, drafter: str, *knobs: str) -> None:
    """Every engine of the drafter behaves otherwise from now on."""
    selector = f"--selector=specdeploy.dev/name={name},specdeploy.dev/drafter={drafter}"
    for pod in kubectl.run("get", "pods", selector, "--output=name").split():
        kubectl.run("exec", pod, "--", "vllm", "set", *knobs)
