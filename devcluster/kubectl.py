"""Talks to the running cluster through its own kubectl."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from devcluster.build import folder
from devcluster.errors import DevclusterError
from devcluster.node import node_patches
from devcluster.settings import NODE_NAME, Settings
from devcluster.shell import capture

POLL_SECONDS = 0.2


class Kubectl:
    """One cluster's kubectl, as its administrator."""

    def __init__(self, settings: Settings) -> None:
        self._argv = [f"{folder(settings.cache)}/kubectl", f"--kubeconfig={settings.kubeconfig}"]

    def run(self, *words: str | Path, stdin: str | None = None, seconds: float = 60) -> str:
        """Stdout; raises DevclusterError with kubectl's message."""
        return capture([*self._argv, *map(str, words)], stdin=stdin, seconds=seconds)

    def succeeds(self, *words: str, stdin: str | None = None) -> bool:
        """Whether a kubectl command is carried out."""
        try:
            self.run(*words, stdin=stdin)
        except DevclusterError:
            return False
        return True

    def get(self, *words: str) -> Any:
        """The object or list as parsed JSON; None while it, or the server, is not there."""
        try:
            return json.loads(self.run("get", *words, "-o", "json"))
        except DevclusterError:
            return None

    def node_condition(self) -> str:
        """`True` when the node is ready; empty before it has registered."""
        node = self.get("node", NODE_NAME) or {}
        conditions = node.get("status", {}).get("conditions", [])
        return next((str(entry["status"]) for entry in conditions if entry["type"] == "Ready"), "")

    def declare_node(self, settings: Settings) -> None:
        """Give the node its GPUs and labels; writes nothing when it has them."""
        node = self.get("node", NODE_NAME)
        if node is None:
            raise DevclusterError("the node has not registered")
        if offered_gpus(node) != settings.gpus:
            self.run(
                "patch",
                "node",
                NODE_NAME,
                "--subresource=status",
                "--type=json",
                "-p",
                json.dumps(node_patches(settings.gpus)),
            )
        labels = node["metadata"]["labels"]
        if any(labels.get(key) != value for key, value in settings.labels.items()):
            self.run(
                "label", "node", NODE_NAME, "--overwrite", *(f"{k}={v}" for k, v in settings.labels.items())
            )


def offered_gpus(node: dict[str, Any]) -> int | None:
    """What the scheduler may hand out, None before anything was said."""
    value = node["status"].get("allocatable", {}).get("amd.com/gpu")
    return None if value is None else int(value)


def wait_for(
    what: str, holds: Callable[[], bool], *, meanwhile: Callable[[], None], seconds: float = 60
) -> None:
    """Ask until it holds; `meanwhile` may raise when that is in vain; so does this at the deadline."""
    deadline = time.monotonic() + seconds
    while not holds():
        meanwhile()
        if time.monotonic() > deadline:
            raise DevclusterError(f"waited {seconds:.0f} s for {what}")
        time.sleep(POLL_SECONDS)
