import re
from collections.abc import Callable

import pytest

from devcluster import build
from devcluster.errors import DevclusterError

GO_MOD = build.read_module()


def test_every_staging_module_is_replaced_by_the_release_that_belongs_to_the_kubernetes_version() -> None:
    minor_and_patch = build.kubernetes_version(GO_MOD).removeprefix("v1.")
    replaced = re.findall(r"^\t(k8s\.io/\S+) => (\S+) (\S+)$", GO_MOD, re.MULTILINE)
    assert len(replaced) > 20
    assert {(to, version) for name, to, version in replaced} == {
        (name, f"v0.{minor_and_patch}") for name, _, _ in replaced
    }


def test_no_module_is_left_at_the_version_that_no_proxy_serves() -> None:
    replaced = set(re.findall(r"^\t(\S+) => ", GO_MOD, re.MULTILINE))
    at_zero = set(re.findall(r"^\t(\S+) v0\.0\.0(?: |$)", GO_MOD, re.MULTILINE))
    assert at_zero <= replaced


def test_the_module_builds_all_that_the_cluster_starts_and_people_use() -> None:
    assert set(build.tools(GO_MOD)) == {
        "helm",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-proxy",
        "kube-scheduler",
        "kubectl",
        "kubelet",
    }


def test_binaries_know_their_version() -> None:
    link = build.flags("v1.36.3")[-1]
    assert "gitVersion=v1.36.3 " in link
    assert "gitMajor=1 " in link
    assert link.endswith("gitMinor=36")


@pytest.mark.parametrize("read", [build.kubernetes_version, build.go_version])
def test_a_go_mod_without_what_is_asked_for_is_an_error(read: Callable[[str], str]) -> None:
    with pytest.raises(DevclusterError):
        read("module empty\n")
