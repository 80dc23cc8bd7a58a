"""kubectl for tests, and a development cluster of their own that they bring up and take down."""

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CRD = ROOT / "crds" / "specdeployments.yaml"
# For one step of a cluster: a pod comes or goes, a word is told. Here it takes 1 to 40 s. The machine may be
# several times slower and stand still for a while; where all is well, patience costs nothing.
PATIENCE_SECONDS = 240.0


class KubectlError(Exception):
    """kubectl's own words, for what the API server refused."""


@dataclass(frozen=True)
class Kubectl:
    """kubectl against one cluster: `command` is its path, `kubeconfig` names the cluster."""

    command: Path
    kubeconfig: Path
    namespace: str = "default"

    def run(self, *arguments: str, given: Mapping[str, Any] | None = None) -> str:
        """What kubectl prints; `given` is its standard input (`-f -`). Raises KubectlError with its words."""
        done = self.finished(*arguments, given=given)
        if done.returncode:
            raise KubectlError(done.stderr.strip())
        return done.stdout

    def finished(
        self, *arguments: str, given: Mapping[str, Any] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """The finished run, whatever its exit code: for what kubectl says on its standard error."""
        where = [
            f"--kubeconfig={self.kubeconfig}",
            f"--cache-dir={self.kubeconfig.parent / 'kubectl-cache'}",
            f"--namespace={self.namespace}",
        ]
        return subprocess.run(
            [self.command, *where, *arguments],
            input=json.dumps(given) if given is not None else "",
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )

    def json(self, *arguments: str, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What kubectl prints, as JSON."""
        found: dict[str, Any] = json.loads(self.run(*arguments, "--output=json", given=given))
        return found

    def apply(self, body: Mapping[str, Any], *flags: str) -> dict[str, Any]:
        """The object as the API server stored it after a server-side apply."""
        return self.json("apply", "--server-side", *flags, "--filename=-", given=body)


@contextmanager
def dev_cluster(state: Path, *flags: str) -> Iterator[Kubectl]:
    """A development cluster in its own state folder; kept with SPECDEPLOY_KEEP_CLUSTER=1."""
    environment = {**os.environ, "SPECDEPLOY_STATE": str(state)}
    _devcluster(environment, "up", *flags)
    try:
        folder = _devcluster(environment, "path").strip()
        yield Kubectl(Path(folder) / "kubectl", Path(_devcluster(environment, "kubeconfig").strip()))
    finally:
        if os.environ.get("SPECDEPLOY_KEEP_CLUSTER") != "1":
            _devcluster(environment, "down")


def _devcluster(environment: Mapping[str, str], *arguments: str) -> str:
    """What a verb prints. Its progress is on standard error, where pytest keeps it for a failure."""
    done = subprocess.run(
        [sys.executable, "-m", "devcluster", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        timeout=1500,
        check=True,
    )
    return done.stdout


def fresh_namespace(kubectl: Kubectl) -> Kubectl:
    """The same cluster, in a new namespace: a cluster that was kept may hold what an earlier run left."""
    namespace = f"test-{secrets.token_hex(4)}"
    kubectl.run("create", "namespace", namespace)
    return replace(kubectl, namespace=namespace)


def install_crd(kubectl: Kubectl) -> None:
    """Install the CRD of this checkout and wait until it is served and kubectl can name it."""
    kubectl.run("apply", "--server-side", "--force-conflicts", f"--filename={CRD}")
    # kubectl takes an object that has no conditions yet for a broken one.
    eventually(
        lambda: (
            '"type":"Established"'
            in kubectl.run("get", f"--filename={CRD}", "--output=json").replace(" ", "")
        )
    )
    kubectl.run("wait", "--for=condition=Established", "--timeout=120s", f"--filename={CRD}")
    eventually(lambda: "specdeployments" in kubectl.run("api-resources", "--api-group=specdeploy.dev"))


def eventually(check: Callable[[], bool], every: float = 0.2) -> None:
    """Wait until `check` is true; fails after PATIENCE_SECONDS."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not check():
        assert time.monotonic() < end, f"not within {PATIENCE_SECONDS:.0f} s"
        time.sleep(every)
