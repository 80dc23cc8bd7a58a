from dataclasses import replace

import pytest

from devcluster.prerequisites import Machine, problems

GOOD = Machine(
    system="linux",
    user=0,
    apt=True,
    go="go version go1.26.8 linux/amd64",
    gotoolchain="local",
    controllers=frozenset({"cpu", "memory", "pids"}),
    cgroups_writable=True,
    kubelet_runs=False,
    missing=(),
)


def found(machine: Machine, *, built: bool = False, control_plane_only: bool = False) -> str:
    return "\n".join(
        problems(machine, needed_go="1.26.0", built=built, control_plane_only=control_plane_only)
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"system": "darwin"}, "this is darwin"),
        ({"user": 1000}, "not root"),
        ({"controllers": frozenset({"cpu", "pids"})}, "no cgroup controllers memory"),
        ({"cgroups_writable": False}, "/sys/fs/cgroup is read-only"),
        ({"kubelet_runs": True}, "another kubelet"),
        ({"go": ""}, "no Go"),
        ({"go": "go version go1.24.1 linux/amd64"}, "Go 1.24.1 is too old"),
        ({"apt": False, "missing": ("runc",)}, "there is no apt-get: runc"),
        ({"user": 1000, "missing": ("runc",)}, "only root can install them: runc"),
    ],
    ids=lambda value: None if isinstance(value, dict) else value,
)
def test_what_is_missing_is_named(change: dict[str, object], says: str) -> None:
    assert says in found(replace(GOOD, **change))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "machine",
    [
        GOOD,
        replace(GOOD, missing=("runc",)),
        replace(GOOD, go="go version go1.24.1 linux/amd64", gotoolchain="auto"),
        replace(GOOD, go="go version go1.27 linux/amd64"),
    ],
    ids=["all there", "packages that can be installed", "older Go that fetches the newer", "newer Go"],
)
def test_a_machine_that_will_do_has_no_problems(machine: Machine) -> None:
    assert found(machine) == ""


def test_binaries_in_the_cache_make_go_needless() -> None:
    assert found(replace(GOOD, go=""), built=True) == ""


def test_a_control_plane_alone_needs_neither_root_nor_cgroups() -> None:
    modest = replace(GOOD, user=1000, controllers=frozenset(), cgroups_writable=False)
    assert found(modest, control_plane_only=True) == ""
