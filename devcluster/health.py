"""Asks each part of the cluster whether it is well."""

import ssl
import urllib.request
from collections.abc import Callable
from urllib.error import URLError

from devcluster.node import containerd_socket
from devcluster.settings import Settings
from devcluster.shell import succeeds

PROBE_SECONDS = 3.0


def probes(settings: Settings) -> dict[str, Callable[[], bool]]:
    """A question by part, in start order; each answers within `PROBE_SECONDS`."""
    port = settings.port
    parts: dict[str, Callable[[], bool]] = {
        "etcd": lambda: answers(settings, f"http://127.0.0.1:{port('etcd')}/health"),
        "kube-apiserver": lambda: answers(settings, f"{settings.server}/readyz"),
        "kube-controller-manager": lambda: answers(settings, _healthz(port("kube-controller-manager"))),
    }
    if settings.control_plane_only:
        return parts
    return parts | {
        "kube-scheduler": lambda: answers(settings, _healthz(port("kube-scheduler"))),
        "containerd": lambda: succeeds(
            ["ctr", f"--address={containerd_socket(settings)}", "version"], seconds=PROBE_SECONDS
        ),
        "kubelet": lambda: answers(settings, f"http://127.0.0.1:{port('kubelet-health')}/healthz"),
        "kube-proxy": lambda: answers(settings, f"http://127.0.0.1:{port('kube-proxy')}/healthz"),
    }


def answers(settings: Settings, url: str) -> bool:
    """Whether a GET is answered with 200 by a server that our authority vouches for."""
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}),
        urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=_authority(settings))),
    )
    try:
        with opener.open(url, timeout=PROBE_SECONDS) as response:
            return bool(response.status == 200)
    except (URLError, OSError):
        return False


def _authority(settings: Settings) -> str:
    return str(settings.state / "pki" / "ca.crt")


def _healthz(port: int) -> str:
    return f"https://127.0.0.1:{port}/healthz"
