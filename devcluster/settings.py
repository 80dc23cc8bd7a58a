"""Where one cluster lives and which addresses and ports it takes.

The settings of a running cluster are kept in its state folder, so that no other verb needs flags.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from devcluster.errors import DevclusterError
from devcluster.files import read_json, write_json

CONTEXT = "specdeploy-devcluster"
NODE_NAME = "specdeploy-node"
NODE_ADDRESS = "10.250.0.1"
SERVICE_RANGE = "10.96.0.0/16"
KUBERNETES_SERVICE = "10.96.0.1"
POD_RANGE = "10.244.0.0/24"
DEFAULT_PORT_BASE = 16440
DEFAULT_GPUS = 8
DEFAULT_LABELS = {"amd.com/gpu.device-id": "74a1"}
PORT_NAMES = (
    "etcd",
    "etcd-peer",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kubelet-health",
    "kube-proxy",
    "kube-proxy-metrics",
)
# Unix socket paths end at 107 bytes; the longest one of ours adds 40 to the state folder.
LONGEST_STATE_PATH = 65


@dataclass(frozen=True)
class Settings:
    """One cluster. `port_base` is the first of nine consecutive ports; `gpus` is what the node offers."""

    state: Path
    cache: Path
    port_base: int = DEFAULT_PORT_BASE
    control_plane_only: bool = False
    gpus: int = DEFAULT_GPUS
    labels: Mapping[str, str] = field(default_factory=lambda: dict(DEFAULT_LABELS))

    def port(self, name: str) -> int:
        """The port of one of `PORT_NAMES`."""
        return self.port_base + PORT_NAMES.index(name)

    @property
    def address(self) -> str:
        """Where the API server listens: loopback alone, or the node's address that pods can reach too."""
        return "127.0.0.1" if self.control_plane_only else NODE_ADDRESS

    @property
    def server(self) -> str:
        return f"https://{self.address}:{self.port('kube-apiserver')}"

    @property
    def kubeconfig(self) -> Path:
        return self.state / "kubeconfig"

    @property
    def logs(self) -> Path:
        return self.state / "logs"

    @property
    def lock(self) -> Path:
        """Beside the cache and not in the state folder, which `down` removes."""
        return self.cache / "locks" / hashlib.sha256(str(self.state).encode()).hexdigest()[:16]


def folders(environ: Mapping[str, str]) -> tuple[Path, Path]:
    """State and cache folder: `SPECDEPLOY_STATE` and `SPECDEPLOY_CACHE`, or their defaults.

    Raises DevclusterError when the state folder is too long a path for unix sockets.
    """
    state = Path(environ.get("SPECDEPLOY_STATE") or "/var/tmp/specdeploy-devcluster").absolute()  # noqa: S108
    caches = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = Path(environ.get("SPECDEPLOY_CACHE") or caches / "specdeploy").absolute()
    if len(os.fsencode(state)) > LONGEST_STATE_PATH:
        raise DevclusterError(
            f"the state folder {state} has a path of more than {LONGEST_STATE_PATH} bytes, too long "
            "for the sockets in it: set SPECDEPLOY_STATE to a shorter one"
        )
    return state, cache


def saved(state: Path, cache: Path) -> Settings | None:
    """The settings of the cluster in this state folder, or None where there is none."""
    stored: dict[str, Any] | None = read_json(state / "settings.json", None)
    return None if stored is None else Settings(state=state, cache=cache, **stored)


def save(settings: Settings) -> None:
    """Keep the settings for the verbs that come later."""
    stored = asdict(settings)
    del stored["state"], stored["cache"]
    write_json(settings.state / "settings.json", stored)


def changed(base: Settings, **wishes: Any) -> Settings:
    """`base` with every wish that is not None."""
    return replace(base, **{name: wish for name, wish in wishes.items() if wish is not None})
