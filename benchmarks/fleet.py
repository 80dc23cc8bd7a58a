"""Twenty settled SpecDeployments on an API server without nodes: a kubelet's part is played here.

A drafter serves some of them, watched by its guard beside a baseline pod; the status that says so is written
here before the operator sees the object.

The pods of most of them are made Ready by writing their status, with the address of one simulated engine that
all of them share, so that the operator reads counters as it would on GPUs. The others wait for a node.
"""

import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from specdeploy.api.reasons import Outcome
from specdeploy.api.spec import Spec
from specdeploy.api.status import BaselineStatus, Serving, Status, Verdict, instant
from specdeploy.engine.revision import templates
from tests.cluster.kube import ROOT, Kubectl, eventually

MODEL = "sim/llama"
ENGINE_ADDRESS = "127.0.9.1"
_IMAGE = "localhost/engine:bench"
_DRAFTER = {"name": "proven", "method": "ngram", "numSpeculativeTokens": 3}
# Judged at first sight: what is left is a settled object with a verdict.
_REFUSED = {**_DRAFTER, "name": "refused", "options": {"no_such_key": 1}}


def name_of(number: int) -> str:
    return f"idle-{number:02d}"


def spec_deployment(number: int, *, replicas: int, window_seconds: int) -> dict[str, Any]:
    """One of the fleet."""
    trial = {"windowSeconds": window_seconds, "warmupSeconds": 0}
    return {
        "apiVersion": "specdeploy.dev/v1alpha1",
        "kind": "SpecDeployment",
        "metadata": {"name": name_of(number)},
        "spec": {
            "model": MODEL,
            "replicas": replicas,
            "engine": {"image": _IMAGE, "vllmVersion": "0.32.0"},
            "drafters": [_DRAFTER, _REFUSED],
            "baseline": {"retention": "Always", "probationSeconds": 0},
            "trial": trial,
        },
    }


def apply(kubectl: Kubectl, count: int, *, replicas: int, window_seconds: int) -> None:
    """Apply them all at once."""
    items = [
        spec_deployment(n, replicas=replicas, window_seconds=window_seconds) for n in range(1, count + 1)
    ]
    kubectl.run("apply", "--filename=-", given={"apiVersion": "v1", "kind": "List", "items": items})


def promote(kubectl: Kubectl, numbers: Iterable[int]) -> None:
    """Let their drafter serve, as if it had been proven; the others' is judged to be no faster. All before an
    operator sees them."""
    serving = set(numbers)
    for body in kubectl.json("get", "specdeployments")["items"]:
        name, spec = body["metadata"]["name"], Spec.model_validate(body["spec"])
        status = _status(name, spec, serves=name in {name_of(n) for n in serving})
        kubectl.run(
            "patch", "sd", name, "--subresource=status", "--type=merge", "--patch-file=/dev/stdin",
            given={"status": status.wire()},
        )  # fmt: skip


def _status(name: str, spec: Spec, *, serves: bool) -> Status:
    arms, now = templates(name, spec, _IMAGE), instant(time.time())
    baseline, drafter = arms.baseline, arms.drafters[0]
    verdict = Verdict(
        drafter=drafter.drafter,
        revision=drafter.revision,
        outcome=Outcome.PROMOTED if serves else Outcome.NOT_WORTH_IT,
        time=now,
    )
    arm = drafter if serves else baseline
    return Status(
        serving=Serving(name=arm.drafter, revision=arm.revision, template=arm.hash, since=now),
        baseline=BaselineStatus(revision=baseline.revision, template=baseline.hash, since=now),
        verdicts=[verdict],
    )


def make_ready(kubectl: Kubectl, count: int, *, replicas: int) -> None:
    """Wait for every pod, then say Ready for those of the first `count` SpecDeployments."""
    names = {name_of(n) for n in range(1, count + 1)}

    def pods() -> list[dict[str, Any]]:
        found = kubectl.json("get", "pods", "--selector=specdeploy.dev/name")["items"]
        return [p for p in found if p["metadata"]["labels"]["specdeploy.dev/name"] in names]

    eventually(lambda: len(pods()) == count * replicas, every=1)
    for pod in pods():
        kubectl.run(
            "patch", "pod", pod["metadata"]["name"], "--subresource=status", "--patch-file=/dev/stdin",
            given={"status": _ready_status()},
        )  # fmt: skip


def _ready_status() -> dict[str, Any]:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    conditions = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    return {
        "phase": "Running",
        "podIP": ENGINE_ADDRESS,
        "podIPs": [{"ip": ENGINE_ADDRESS}],
        "startTime": now,
        "conditions": [{"type": c, "status": "True", "lastTransitionTime": now} for c in conditions],
        "containerStatuses": [
            {
                "name": "vllm",
                "image": _IMAGE,
                "imageID": "sha256:bench",
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": now}},
            }
        ],
    }


@contextmanager
def engine() -> Iterator[None]:
    """The engine behind every pod, with a client that keeps its counters moving."""
    environment = {"PYTHONPATH": str(ROOT / "operator"), "VLLM_SIM_STARTUP_SECONDS": "0", "PATH": "/usr/bin"}
    url = f"http://{ENGINE_ADDRESS}:8000"
    serve = ["-m", "vllm_sim", "serve", MODEL, "--host", ENGINE_ADDRESS, "--port", "8000"]
    load = ["-m", "vllm_sim.load", "--url", url, "--model", MODEL, "--rate", "1", "--seconds", "3600"]
    processes = [
        subprocess.Popen([sys.executable, *words], env=environment, stdout=subprocess.DEVNULL)
        for words in (serve, load)
    ]
    try:
        yield
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()
