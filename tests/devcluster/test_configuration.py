import json
import tomllib
from pathlib import Path

import pytest

from devcluster import controlplane, node
from devcluster.settings import NODE_ADDRESS, PORT_NAMES, Settings

FULL = Settings(state=Path("/state"), cache=Path("/cache"), port_base=20000)
ALONE = Settings(state=Path("/state"), cache=Path("/cache"), port_base=20000, control_plane_only=True)
BINARIES = Path("/bin")


def test_containerd_keeps_everything_inside_the_state_folder() -> None:
    config = tomllib.loads(node.containerd_config(FULL))
    cri = config["plugins"]["io.containerd.grpc.v1.cri"]
    runc = cri["containerd"]["runtimes"]["runc"]["options"]
    places = [
        config["root"],
        config["state"],
        config["grpc"]["address"],
        cri["cni"]["conf_dir"],
        runc["Root"],
    ]
    assert all(place.startswith("/state/") for place in places)
    assert cri["netns_mounts_under_state_dir"] is True


def test_a_sandbox_that_may_not_lower_oom_scores_can_run_containers() -> None:
    cri = tomllib.loads(node.containerd_config(FULL))["plugins"]["io.containerd.grpc.v1.cri"]
    assert cri["restrict_oom_score_adj"] is True


def test_the_kubelet_accepts_cgroup_v1_and_only_asks_who_calls() -> None:
    config = node.kubelet_config(FULL)
    assert config["failCgroupV1"] is False
    assert config["authentication"]["anonymous"]["enabled"] is False
    assert config["authorization"]["mode"] == "Webhook"
    assert config["port"] == FULL.port("kubelet")


def test_configuration_files_are_json() -> None:
    for config in (node.kubelet_config(FULL), node.kube_proxy_config(FULL), node.cni_config(FULL)):
        assert json.loads(json.dumps(config)) == config


def test_pods_get_addresses_that_kube_proxy_takes_for_pods() -> None:
    subnet = node.cni_config(FULL)["plugins"][0]["ipam"]["ranges"][0][0]["subnet"]
    assert node.kube_proxy_config(FULL)["clusterCIDR"] == subnet


@pytest.mark.parametrize(("settings", "address"), [(FULL, NODE_ADDRESS), (ALONE, "127.0.0.1")])
def test_the_api_server_listens_on_one_address_of_this_machine(settings: Settings, address: str) -> None:
    argv = controlplane.apiserver(settings, BINARIES)
    assert f"--bind-address={address}" in argv
    assert f"--secure-port={settings.port('kube-apiserver')}" in argv
    assert settings.server == f"https://{address}:{settings.port('kube-apiserver')}"


def test_an_api_server_on_loopback_publishes_no_endpoint_of_itself() -> None:
    assert "--endpoint-reconciler-type=none" in controlplane.apiserver(ALONE, BINARIES)
    assert "--endpoint-reconciler-type=none" not in controlplane.apiserver(FULL, BINARIES)


def test_every_request_is_audited_once_and_the_log_is_bounded() -> None:
    assert controlplane.AUDIT_POLICY["rules"] == [{"level": "Metadata"}]
    assert controlplane.AUDIT_POLICY["omitStages"] == ["RequestReceived"]
    flags = controlplane.apiserver(FULL, BINARIES)
    assert any(flag.startswith("--audit-log-maxsize=") for flag in flags)
    assert any(flag.startswith("--audit-log-maxbackup=") for flag in flags)


def test_every_port_in_use_is_one_of_the_nine() -> None:
    text = " ".join(
        [
            *controlplane.etcd(FULL),
            *controlplane.apiserver(FULL, BINARIES),
            *controlplane.controller_manager(FULL, BINARIES),
            *controlplane.scheduler(FULL, BINARIES),
            json.dumps(node.kubelet_config(FULL)),
            json.dumps(node.kube_proxy_config(FULL)),
        ]
    )
    assert {name for name in PORT_NAMES if str(FULL.port(name)) in text} == set(PORT_NAMES)


def test_gpus_are_declared_as_capacity_and_as_allocatable() -> None:
    assert [(patch["path"], patch["value"]) for patch in node.node_patches(4)] == [
        ("/status/capacity/amd.com~1gpu", "4"),
        ("/status/allocatable/amd.com~1gpu", "4"),
    ]
