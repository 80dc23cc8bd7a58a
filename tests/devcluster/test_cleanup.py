import os
from pathlib import Path

import pytest

from devcluster.cleanup import is_shim, leftovers, mounts_below, remove
from devcluster.processes import Processes
from devcluster.settings import Settings

SOCKET = "/state/containerd.sock"
MOUNTINFO = """\
22 1 254:0 / / rw - ext4 /dev/vda rw
40 22 0:50 / /state/kubelet/pods/a/volumes/token rw - tmpfs tmpfs rw
41 22 0:51 / /state/containerd/rootfs rw - overlay overlay rw
42 41 0:52 / /state/containerd/rootfs/with\\040blank rw - proc proc rw
43 22 0:53 / /state-of-another rw - tmpfs tmpfs rw
"""


def test_mounts_are_found_inside_the_folder_alone_and_innermost_first() -> None:
    assert mounts_below(MOUNTINFO, Path("/state")) == [
        "/state/kubelet/pods/a/volumes/token",
        "/state/containerd/rootfs/with blank",
        "/state/containerd/rootfs",
    ]


@pytest.mark.parametrize(
    ("arguments", "ours"),
    [
        (["/usr/bin/containerd-shim-runc-v2", "-id", "x", "-address", SOCKET], True),
        (
            ["/usr/bin/containerd-shim-runc-v2", "-id", "x", "-address", "/run/containerd/containerd.sock"],
            False,
        ),
        (["ctr", "-address", SOCKET], False),
        ([""], False),
    ],
)
def test_a_shim_is_ours_by_the_socket_of_its_containerd(arguments: list[str], ours: bool) -> None:
    assert is_shim("\0".join(arguments) + "\0", SOCKET) is ours


def test_removal_ends_what_runs_and_deletes_the_folder(tmp_path: Path) -> None:
    settings = Settings(state=tmp_path / "state", cache=tmp_path, control_plane_only=True)
    process = Processes(settings.state).start("etcd", ["/bin/sleep", "60"], os.environ)
    assert leftovers(settings) == [f"process etcd ({process.pid})"]
    assert remove(settings) == []
    os.waitpid(process.pid, 0)
    assert not settings.state.exists()
