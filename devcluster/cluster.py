"""Brings a cluster up, down and back to empty, in the right order; the verbs of the command line."""

import os
import shutil
import socket
import time
from collections.abc import Sequence
from pathlib import Path

from devcluster import (
    build,
    certificates,
    cleanup,
    controlplane,
    health,
    images,
    network,
    node,
    prerequisites,
)
from devcluster.errors import DevclusterError
from devcluster.files import locked, write_json, write_text
from devcluster.kubectl import Kubectl, wait_for
from devcluster.processes import Processes
from devcluster.settings import PORT_NAMES, Settings, save
from devcluster.shell import say


def up(settings: Settings, previous: Settings | None) -> None:
    """Bring the cluster up. A cluster that runs is left alone but for the node's GPUs and labels.

    `previous` is what the state folder holds; one that is not whole (a crash, a reboot, an `up` cut short) is
    removed first. Raises DevclusterError when it cannot run here, or runs with other ports or parts.
    """
    with locked(settings.lock, str(settings.state)):
        if previous is not None:
            if _is_whole(previous):
                _refresh(settings, previous)
                return
            say("the cluster is not whole (crash, reboot or an interrupted `up`): starting afresh")
            _remove(previous)
        _create(settings)


def down(settings: Settings) -> None:
    """Remove the cluster; raises DevclusterError that names whatever could not be removed."""
    with locked(settings.lock, str(settings.state)):
        _remove(settings)
    say("down: no processes, mounts, interfaces, rules, addresses or cgroups are left")


def _is_whole(settings: Settings) -> bool:
    return (settings.state / "ready").exists() and not Processes(settings.state).dead()


def _refresh(settings: Settings, previous: Settings) -> None:
    if (settings.port_base, settings.control_plane_only) != (previous.port_base, previous.control_plane_only):
        raise DevclusterError(
            f"a cluster with other ports or parts is up in {settings.state}: "
            "take it down first, or choose another folder with SPECDEPLOY_STATE"
        )
    if not settings.control_plane_only:
        Kubectl(settings).declare_node(settings)
    save(settings)
    say(f"already up: {settings.kubeconfig}")


def _remove(settings: Settings) -> None:
    left = cleanup.remove(settings)
    if left:
        raise DevclusterError("these could not be removed (try `down` again):\n  " + "\n  ".join(left))


def _create(settings: Settings) -> None:
    needed_go = build.go_version(build.read_module())
    prerequisites.check(settings, needed_go=needed_go, built=build.is_built(settings.cache))
    binaries = build.build(settings.cache)
    began = time.monotonic()
    _refuse_taken_ports(settings)
    settings.state.mkdir(parents=True, exist_ok=True)
    save(settings)
    if not settings.control_plane_only:
        cleanup.note_folders(settings.state)
        network.prepare(settings.state)
    _write_configuration(settings)
    _start_control_plane(settings, binaries)
    if not settings.control_plane_only:
        _start_node(settings, binaries)
    _wait_until_usable(settings)
    write_text(settings.state / "ready", "")
    say(f"up in {time.monotonic() - began:.1f} s: {settings.kubeconfig}")


def _refuse_taken_ports(settings: Settings) -> None:
    for name in PORT_NAMES:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", settings.port(name)))
            except OSError:
                raise DevclusterError(
                    f"port {settings.port(name)} ({name}) is taken: choose nine free ones in a row "
                    "with --port-base"
                ) from None


def _write_configuration(settings: Settings) -> None:
    state = settings.state
    settings.logs.mkdir(exist_ok=True)
    certificates.create(settings)
    write_json(state / "audit-policy.yaml", controlplane.AUDIT_POLICY)
    if settings.control_plane_only:
        return
    write_text(state / "containerd.toml", node.containerd_config(settings))
    write_json(state / "cni" / "10-devcluster.conflist", node.cni_config(settings))
    write_json(state / "kubelet.yaml", node.kubelet_config(settings))
    write_json(state / "kube-proxy.yaml", node.kube_proxy_config(settings))


def _start_control_plane(settings: Settings, binaries: Path) -> None:
    _start(settings, "etcd", controlplane.etcd(settings))
    _wait_for_part(settings, "etcd")
    _start(settings, "kube-apiserver", controlplane.apiserver(settings, binaries))
    if not settings.control_plane_only:
        # Takes its seconds while the API server takes its own.
        _start(settings, "containerd", ["containerd", f"--config={settings.state}/containerd.toml"])
        _wait_for_part(settings, "containerd")
        images.import_pause(settings)
    _wait_for_part(settings, "kube-apiserver")
    _start(settings, "kube-controller-manager", controlplane.controller_manager(settings, binaries))


def _start_node(settings: Settings, binaries: Path) -> None:
    _start(settings, "kube-scheduler", controlplane.scheduler(settings, binaries))
    _start(settings, "kubelet", node.kubelet(settings, binaries))
    _start(settings, "kube-proxy", node.kube_proxy(settings, binaries))


def _start(settings: Settings, name: str, argv: Sequence[str]) -> None:
    program = shutil.which(argv[0])
    if program is None:
        raise DevclusterError(f"{argv[0]} is not installed")
    Processes(settings.state).start(name, [program, *argv[1:]], os.environ)


def _wait_for_part(settings: Settings, name: str) -> None:
    wait_for(
        f"{name} (its log: {Processes(settings.state).log(name)})",
        health.probes(settings)[name],
        meanwhile=Processes(settings.state).must_live,
    )


def _wait_until_usable(settings: Settings) -> None:
    kubectl, alive = Kubectl(settings), Processes(settings.state).must_live
    wait_for(
        "the default service account",
        lambda: kubectl.get("serviceaccount", "default") is not None,
        meanwhile=alive,
    )
    for name in health.probes(settings):
        _wait_for_part(settings, name)
    if not settings.control_plane_only:
        wait_for("the node to register", lambda: kubectl.node_condition() != "", meanwhile=alive)
        kubectl.declare_node(settings)
        wait_for("the node to be ready", lambda: kubectl.node_condition() == "True", meanwhile=alive)
