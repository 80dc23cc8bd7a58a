"""Where the demo runs: a cluster of your own by its kubeconfig context, or the development cluster."""

import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from demo.shell import DemoError, run, say, stream

ROOT = Path(__file__).resolve().parent.parent
OPERATOR_IMAGE = "localhost/specdeploy:dev"
SIM_IMAGE = "localhost/specdeploy-sim:dev"
VLLM_IMAGE = "localhost/specdeploy-vllm-cpu:dev"


@dataclass(frozen=True)
class Place:
    """A cluster with the tools to reach it, and the images that its nodes can run."""

    env: Mapping[str, str]
    context: str | None
    operator_image: str
    sim_image: str
    vllm_image: str

    def kubectl(self, *words: str, stdin: str | None = None, check: bool = True, quiet: bool = True) -> str:
        """kubectl, on this cluster."""
        chosen = ["--context", self.context] if self.context else []
        return run(["kubectl", *chosen, *words], env=self.env, stdin=stdin, check=check, quiet=quiet)

    def helm(self, *words: str, check: bool = True, quiet: bool = False) -> str:
        """helm, on this cluster."""
        chosen = ["--kube-context", self.context] if self.context else []
        return run(["helm", *words, *chosen], env=self.env, check=check, quiet=quiet)


def tools_only(context: str) -> Place:
    """A cluster that you have, where nothing needs to be started."""
    for tool in ("kubectl", "helm"):
        if shutil.which(tool) is None:
            raise DemoError(f"{tool} is not on the PATH; install it, or leave CONTEXT out")
    return Place(dict(os.environ), context, "", "", "")


def existing(context: str, *, vllm: bool) -> Place:
    """A cluster that you have. Its nodes must be able to pull the images named by IMAGE and SIM_IMAGE."""
    place = tools_only(context)
    if vllm:
        raise DemoError("ENGINE=vllm mounts this machine's folders into pods; leave CONTEXT out for it")
    images = {name: os.environ.get(name, "") for name in ("IMAGE", "SIM_IMAGE")}
    missing = [name for name, value in images.items() if not value]
    if missing:
        raise DemoError(
            f"set {' and '.join(missing)}: images that the nodes of {context} can pull, built with "
            "`docker build --target operator .` and `docker build --target sim .`"
        )
    return replace(place, operator_image=images["IMAGE"], sim_image=images["SIM_IMAGE"])


def devcluster(*, vllm: bool) -> Place:
    """The development cluster: brought up, and the images built from this checkout's Dockerfile."""
    _devcluster("up", "--label", "amd.com/gpu.device-id=74a1")
    env = dict(os.environ)
    env["KUBECONFIG"] = run([sys.executable, "-m", "devcluster", "kubeconfig"], quiet=True).strip()
    tools = run([sys.executable, "-m", "devcluster", "path"], quiet=True).strip()
    env["PATH"] = f"{tools}{os.pathsep}{env['PATH']}"
    wanted = [("operator", OPERATOR_IMAGE, "Dockerfile"), ("sim", SIM_IMAGE, "Dockerfile")]
    for target, tag, file in wanted:
        _devcluster("image", "--tag", tag, "--file", file, "--target", target, "--context", ".")
    if vllm:
        _devcluster(
            "image", "--tag", VLLM_IMAGE, "--file", "tools/vllm/Dockerfile", "--context", "tools/vllm"
        )
    return Place(env, None, OPERATOR_IMAGE, SIM_IMAGE, VLLM_IMAGE)


def down() -> None:
    """Remove the development cluster, every trace of it."""
    _devcluster("down")


def _devcluster(*words: str) -> None:
    stream([sys.executable, "-m", "devcluster", *words])


def vllm_paths() -> tuple[str, str]:
    """Folders of the real engine's environment and of the tiny models, made if they are missing."""
    say("the real engine's environment and its tiny models (made once, then cached)")
    answer = run([sys.executable, str(ROOT / "tools" / "vllm" / "environment.py"), "--json"])
    found = json.loads(answer.strip().splitlines()[-1])
    return found["venv"], found["models"]
