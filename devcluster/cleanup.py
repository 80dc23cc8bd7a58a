"""Takes a cluster off the machine: processes, containers, mounts, interfaces, rules, cgroups, files.

Works from what is recorded in the state folder and goes on from wherever an earlier try or a crash left off.
"""

import os
import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from devcluster import network
from devcluster.errors import DevclusterError
from devcluster.files import read_json, write_json
from devcluster.node import containerd_socket
from devcluster.processes import Process, Processes, end, identify
from devcluster.settings import Settings
from devcluster.shell import capture, say, succeeds

CONTAINER_LOGS = Path("/var/log/containers")
# Where kubelet, containerd and the CNI library write whatever their configuration says.
FIXED_FOLDERS = ("/var/lib/kubelet", "/run/containerd", "/var/lib/cni", str(CONTAINER_LOGS))
NO_SUCH_PROCESS = (FileNotFoundError, ProcessLookupError, DevclusterError)
CGROUPS = Path("/sys/fs/cgroup")


def note_folders(state: Path) -> None:
    """Before anything starts: which of `FIXED_FOLDERS` are not there yet, and so will be ours."""
    write_json(state / "folders-before.json", [name for name in FIXED_FOLDERS if not Path(name).exists()])


def remove(settings: Settings) -> list[str]:
    """Remove everything and return what is left all the same: empty when nothing is."""
    processes = Processes(settings.state)
    if network.is_prepared(settings.state):
        # The kubelet first: it would start again what is stopped after it.
        processes.end_all(["kubelet", "kube-proxy"])
        _end_containers(settings)
    processes.end_all()
    if network.is_prepared(settings.state):
        _end_survivors(settings)
        _unmount(settings.state)
        network.restore(settings.state)
        _remove_cgroups()
        _remove_log_links(settings.state)
        _remove_fixed_folders(settings.state)
    left = leftovers(settings)
    if not left:
        _remove_folder(settings.state)
    return left


def leftovers(settings: Settings) -> list[str]:
    """What of this cluster is on the machine besides its files, in words."""
    left = [f"process {process}" for process in _alive(settings)]
    left += [
        f"mount {mount}" for mount in mounts_below(Path("/proc/self/mountinfo").read_text(), settings.state)
    ]
    if network.is_prepared(settings.state):
        left += [f"{process.name} process {process.pid}" for process in _survivors(settings)]
        left += [f"cgroup {folder}" for folder in _cgroups()]
        left += network.leftovers()
    return left


def mounts_below(mountinfo: str, folder: Path) -> list[str]:
    """Mount points inside a folder, the innermost first."""
    points = (
        re.sub(r"\\([0-7]{3})", lambda code: chr(int(code.group(1), 8)), line.split()[4])
        for line in mountinfo.splitlines()
    )
    return sorted((point for point in points if point.startswith(f"{folder}/")), reverse=True)


def _alive(settings: Settings) -> list[str]:
    processes = Processes(settings.state)
    dead = processes.dead()
    return [f"{process.name} ({process.pid})" for process in processes.all() if process.name not in dead]


def _end_containers(settings: Settings) -> None:
    ctr = ["ctr", f"--address={containerd_socket(settings)}", "--namespace=k8s.io"]
    if not succeeds([*ctr, "version"], seconds=5):
        return
    tasks = capture([*ctr, "tasks", "ls", "-q"]).split()
    if tasks:
        succeeds([*ctr, "tasks", "rm", "--force", *tasks])


def _bundles(settings: Settings) -> list[Path]:
    """containerd's folder of each running container, where it writes pids down."""
    return list((settings.state / "containerd" / "state").glob("io.containerd.runtime.v2.task/*/*"))


def _survivors(settings: Settings) -> list[Process]:
    """Containers and shims that outlived containerd."""
    return [*_containers(settings), *_shims(settings)]


def _containers(settings: Settings) -> list[Process]:
    """The first process of each container, by the pid that containerd wrote down and its cgroup."""
    found = []
    for bundle in _bundles(settings):
        with suppress(*NO_SUCH_PROCESS):
            pid = int((bundle / "init.pid").read_text())
            if bundle.name in Path(f"/proc/{pid}/cgroup").read_text():
                found.append(identify("container", pid))
    return found


def _shims(settings: Settings) -> list[Process]:
    """Their pids are written down nowhere; the socket in their arguments tells whose they are."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(*NO_SUCH_PROCESS):
            if is_shim((folder / "cmdline").read_text(), str(containerd_socket(settings))):
                found.append(identify("containerd-shim", int(folder.name)))
    return found


def is_shim(command_line: str, socket: str) -> bool:
    """Whether a /proc/PID/cmdline is of a shim that belongs to the containerd at `socket`."""
    program, *arguments = command_line.split("\0")
    return Path(program).name.startswith("containerd-shim") and socket in arguments


def _end_survivors(settings: Settings) -> None:
    for process in _survivors(settings):
        end(process, seconds=0.5)
    for bundle in _bundles(settings):
        address = bundle / "address"
        if address.exists():
            Path(address.read_text().strip().removeprefix("unix://")).unlink(missing_ok=True)


def _unmount(folder: Path) -> None:
    for point in mounts_below(Path("/proc/self/mountinfo").read_text(), folder):
        if not succeeds(["umount", point]):
            succeeds(["umount", "--lazy", point])


def _cgroups() -> list[Path]:
    return [*CGROUPS.glob("kubepods"), *CGROUPS.glob("*/kubepods")]


def _remove_cgroups() -> None:
    for top in _cgroups():
        for path, _, _ in os.walk(top, topdown=False):
            # A killed container leaves its group a moment later.
            _patiently(Path(path).rmdir)


def _patiently(action: Callable[[], None], seconds: float = 5) -> None:
    """Try again while the kernel says that something is busy; what stays is reported as a leftover."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return action()
        except FileNotFoundError:
            return None
        except OSError:
            if time.monotonic() > deadline:
                return None
            time.sleep(0.1)


def _remove_log_links(state: Path) -> None:
    for link in CONTAINER_LOGS.glob("*.log"):
        if link.is_symlink() and str(state) in os.readlink(link):
            link.unlink()


def _remove_fixed_folders(state: Path) -> None:
    for name in read_json(state / "folders-before.json", []):
        for path, _, files in os.walk(name, topdown=False):
            for socket in (Path(path, file) for file in files):
                if socket.is_socket():
                    socket.unlink()
            with suppress(OSError):  # somebody else has put something in
                Path(path).rmdir()


def _remove_folder(state: Path) -> None:
    """The state folder itself; never through a mount, behind which a user's own files may lie."""
    if mounts_below(Path("/proc/self/mountinfo").read_text(), state):
        raise DevclusterError(f"something is still mounted under {state}; nothing was deleted")
    shutil.rmtree(state)
    say(f"removed {state}")
