"""What this machine has to offer, checked before anything is changed; missing packages are installed.

The checks are pure functions of `Machine`, so that each message can be tested without such a machine.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from devcluster.errors import DevclusterError
from devcluster.files import write_text
from devcluster.settings import Settings
from devcluster.shell import capture, say, succeeds

INSTEAD = (
    "Use a cluster you already have instead: set CONTEXT=<kubeconfig context> "
    "(kind, k3d, a cloud; anything that kubectl reaches)."
)
# The Debian package that brings each program (or file) we call.
CONTROL_PLANE_PACKAGES = {"etcd": "etcd-server", "openssl": "openssl"}
NODE_PACKAGES = {
    "containerd": "containerd",
    "runc": "runc",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
    "buildah": "buildah",
    "debootstrap": "debootstrap",
    "conntrack": "conntrack",
    "iptables": "iptables",
    "nft": "nftables",
    "ip": "iproute2",
    "busybox": "busybox-static",
    "umount": "mount",
}
CONTROLLERS = ("cpu", "memory", "pids")


@dataclass(frozen=True)
class Machine:
    """What the checks look at. `go` is the output of `go version`, empty without Go."""

    system: str
    user: int
    apt: bool
    go: str
    gotoolchain: str
    controllers: frozenset[str]
    cgroups_writable: bool
    kubelet_runs: bool
    missing: tuple[str, ...]


def survey(control_plane_only: bool) -> Machine:
    """Look at this machine."""
    wanted = CONTROL_PLANE_PACKAGES | ({} if control_plane_only else NODE_PACKAGES)
    go = shutil.which("go")
    return Machine(
        system=sys.platform,
        user=os.geteuid(),
        apt=shutil.which("apt-get") is not None,
        go=capture(["go", "version"]).strip() if go else "",
        gotoolchain=capture(["go", "env", "GOTOOLCHAIN"]).strip() if go else "",
        controllers=_controllers(),
        cgroups_writable=os.access("/sys/fs/cgroup", os.W_OK),
        kubelet_runs=any(
            [*Path("/sys/fs/cgroup").glob("kubepods"), *Path("/sys/fs/cgroup").glob("*/kubepods")]
        ),
        missing=tuple(package for program, package in wanted.items() if shutil.which(program) is None),
    )


def _controllers() -> frozenset[str]:
    unified = Path("/sys/fs/cgroup/cgroup.controllers")
    if unified.exists():
        return frozenset(unified.read_text().split())
    return frozenset(name for name in CONTROLLERS if Path("/sys/fs/cgroup", name).is_dir())


def problems(machine: Machine, *, needed_go: str, built: bool, control_plane_only: bool) -> Iterator[str]:
    """What stands in the way on this machine, each with what would mend it; `needed_go` is like `1.26.0`."""
    if machine.system != "linux":
        yield f"this is {machine.system}: the kubelet needs Linux"
        return
    if not control_plane_only:
        yield from _node_problems(machine)
    if machine.missing and not machine.apt:
        yield f"these Debian packages are missing and there is no apt-get: {' '.join(machine.missing)}"
    elif machine.missing and machine.user != 0:
        yield f"these packages are missing and only root can install them: {' '.join(machine.missing)}"
    if not built:
        yield from _go_problems(machine, needed_go)


def _node_problems(machine: Machine) -> Iterator[str]:
    if machine.user != 0:
        yield "not root: containers, network interfaces and mounts need it (run it with sudo -E)"
    if machine.kubelet_runs:
        yield (
            "another kubelet uses this machine (there are cgroups named kubepods): if it is a development "
            "cluster in another folder, take that down with SPECDEPLOY_STATE=<folder>"
        )
    lacking = [name for name in CONTROLLERS if name not in machine.controllers]
    if lacking:
        yield f"no cgroup controllers {' '.join(lacking)} under /sys/fs/cgroup: containers cannot be limited"
    elif machine.user == 0 and not machine.cgroups_writable:
        yield "/sys/fs/cgroup is read-only: start this container with --privileged"


def _go_problems(machine: Machine, needed_go: str) -> Iterator[str]:
    if not machine.go:
        yield f"no Go: Kubernetes is built from source with Go {needed_go} or newer (https://go.dev/dl)"
        return
    found = re.search(r"go(\d+(?:\.\d+)+)", machine.go)
    if found and machine.gotoolchain == "local" and _numbers(found.group(1)) < _numbers(needed_go):
        yield f"Go {found.group(1)} is too old and GOTOOLCHAIN=local keeps it from fetching Go {needed_go}"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def check(settings: Settings, *, needed_go: str, built: bool) -> None:
    """Raises one DevclusterError that names everything that is missing; installs missing packages."""
    machine = survey(settings.control_plane_only)
    found = list(
        problems(machine, needed_go=needed_go, built=built, control_plane_only=settings.control_plane_only)
    )
    if found:
        lines = "\n".join(f"  * {problem}" for problem in found)
        raise DevclusterError(f"this machine cannot run the development cluster:\n{lines}\n{INSTEAD}")
    if machine.missing:
        install(machine.missing)


def install(packages: tuple[str, ...]) -> None:
    """apt-get install, without starting the daemons that packages bring."""
    say(f"installing Debian packages: {' '.join(packages)}")
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    wait = ["-o", "DPkg::Lock::Timeout=300"]
    with _no_daemons():
        capture(["apt-get", *wait, "update"], seconds=600, env=quiet)
        capture(
            ["apt-get", *wait, "install", "-y", "--no-install-recommends", *packages], seconds=1200, env=quiet
        )


@contextmanager
def _no_daemons() -> Iterator[None]:
    """While it holds, package scripts start no service: etcd and containerd run under our own settings."""
    policy = Path("/usr/sbin/policy-rc.d")
    if policy.exists():
        yield
        return
    write_text(policy, "#!/bin/sh\nexit 101\n", mode=0o755)
    try:
        yield
    finally:
        policy.unlink(missing_ok=True)


def tools_for_images() -> None:
    """Install what building an image needs, when it is missing."""
    missing = tuple(
        package
        for program, package in NODE_PACKAGES.items()
        if program in {"buildah", "debootstrap", "busybox"} and not shutil.which(program)
    )
    if missing and not succeeds(["apt-get", "--version"]):
        raise DevclusterError(
            f"these Debian packages are missing and there is no apt-get: {' '.join(missing)}"
        )
    if missing:
        install(missing)
