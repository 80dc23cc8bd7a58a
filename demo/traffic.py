"""Clients: a load generator in a pod of its own, which opens a new connection for every request."""

import json
import time
from pathlib import Path

from demo.install import NAME, NAMESPACE, POD
from demo.place import Place
from demo.shell import DemoError

LONGEST_SECONDS = 2400
# The clients' pod, to start them again by hand.
MANIFEST = Path("demo-out/clients.json")


def start(place: Place, *, model: str, concurrency: int, max_tokens: int, prompts: str) -> None:
    """Start the clients against the Service's address; they end by themselves."""
    address = place.kubectl(
        "get", "service", NAME, "-n", NAMESPACE, "-o", "jsonpath={.spec.clusterIP}"
    ).strip()
    command = [
        "python3", "-m", "vllm_sim.load", "--url", f"http://{address}:8000", "--model", model,
        "--concurrency", str(concurrency), "--max-tokens", str(max_tokens), "--prompts", prompts,
        "--seconds", str(LONGEST_SECONDS), "--interval", "10", "--timeout", "120",
    ]  # fmt: skip
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": POD},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 90,
            "containers": [
                {
                    "name": POD,
                    "image": place.sim_image,
                    "imagePullPolicy": "IfNotPresent",
                    "command": command,
                }
            ],
        },
    }
    MANIFEST.parent.mkdir(exist_ok=True)
    MANIFEST.write_text(json.dumps(pod, indent=2))
    place.kubectl("apply", "-n", NAMESPACE, "-f", str(MANIFEST))


def stop(place: Place) -> dict[str, object]:
    """Tell the clients to finish; returns their summary: requests, failed, tokens and speeds."""
    place.kubectl(
        "exec", "-n", NAMESPACE, POD, "--", "python3", "-c", "import os; os.kill(1, 15)", check=False
    )
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        phase = place.kubectl("get", "pod", POD, "-n", NAMESPACE, "-o", "jsonpath={.status.phase}").strip()
        if phase in ("Succeeded", "Failed"):
            break
        time.sleep(1)
    lines = place.kubectl("logs", "-n", NAMESPACE, POD, "--tail=50").strip().splitlines()
    for line in reversed(lines):
        if line.startswith("{") and "requests" in (found := json.loads(line)):
            return dict(found)
    raise DemoError(f"the clients left no summary; see `kubectl logs -n {NAMESPACE} {POD}`")
