"""The node: containerd, kubelet and kube-proxy, every path inside the state folder; pure."""

from pathlib import Path
from typing import Any

from devcluster.firewall import MARK
from devcluster.settings import NODE_ADDRESS, NODE_NAME, POD_RANGE, Settings

PAUSE_IMAGE = "localhost/specdeploy-pause:1"
CNI_PLUGINS = "/usr/lib/cni"
BRIDGE = "specdeploy0"


def containerd_socket(settings: Settings) -> Path:
    return settings.state / "containerd.sock"


def containerd_config(settings: Settings) -> str:
    """config.toml (version 2: containerd 1.6 and later read it)."""
    home = settings.state
    return f"""version = 2
root = "{home}/containerd/root"
state = "{home}/containerd/state"
[grpc]
  address = "{containerd_socket(settings)}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{home}/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  # A sandbox without CAP_SYS_RESOURCE cannot lower scores below its own, and runc fails where it tries.
  restrict_oom_score_adj = true
  # Else network namespaces are mounted under /run/netns, where nobody can tell whose they are.
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "{CNI_PLUGINS}"
  conf_dir = "{home}/cni"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
    SystemdCgroup = false
    Root = "{home}/containerd/runc"
"""


def cni_config(settings: Settings) -> dict[str, Any]:
    """Pods on one bridge, addresses from one range, masqueraded on the way out."""
    bridge = {
        "type": "bridge",
        "bridge": BRIDGE,
        "isGateway": True,
        "ipMasq": True,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "dataDir": f"{settings.state}/cni-addresses",
            "ranges": [[{"subnet": POD_RANGE}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "0.4.0", "name": MARK, "plugins": [bridge, portmap]}


def kubelet_config(settings: Settings) -> dict[str, Any]:
    """KubeletConfiguration. Evicts late and never deletes images: what was imported cannot be pulled."""
    pki = settings.state / "pki"
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": NODE_ADDRESS,
        "port": settings.port("kubelet"),
        "healthzBindAddress": "127.0.0.1",
        "healthzPort": settings.port("kubelet-health"),
        "tlsCertFile": f"{pki}/serving.crt",
        "tlsPrivateKeyFile": f"{pki}/serving.key",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{pki}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": f"unix://{containerd_socket(settings)}",
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": False,
        "failSwapOn": False,
        "evictionHard": {
            "memory.available": "50Mi",
            "nodefs.available": "1%",
            "imagefs.available": "1%",
            "nodefs.inodesFree": "1%",
        },
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "maxPods": 200,
        "podLogsDir": f"{settings.state}/pod-logs",
        "volumePluginDir": f"{settings.state}/volume-plugins",
    }


def kubelet(settings: Settings, binaries: Path) -> list[str]:
    return [
        f"{binaries}/kubelet",
        f"--config={settings.state}/kubelet.yaml",
        f"--kubeconfig={settings.state}/pki/kubelet.kubeconfig",
        f"--root-dir={settings.state}/kubelet",
        f"--hostname-override={NODE_NAME}",
        f"--node-ip={NODE_ADDRESS}",
    ]


def kube_proxy_config(settings: Settings) -> dict[str, Any]:
    """KubeProxyConfiguration. Connection-tracking limits stay what the machine has: 0 leaves them alone."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": f"{settings.state}/pki/kube-proxy.kubeconfig"},
        "hostnameOverride": NODE_NAME,
        "mode": "iptables",
        "clusterCIDR": POD_RANGE,
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "healthzBindAddress": f"127.0.0.1:{settings.port('kube-proxy')}",
        "metricsBindAddress": f"127.0.0.1:{settings.port('kube-proxy-metrics')}",
        "nodePortAddresses": [f"{NODE_ADDRESS}/32"],
    }


def kube_proxy(settings: Settings, binaries: Path) -> list[str]:
    return [f"{binaries}/kube-proxy", f"--config={settings.state}/kube-proxy.yaml"]


def node_patches(gpus: int) -> list[dict[str, str]]:
    """JSON patch of the node's status that makes it offer GPUs.

    The kubelet would copy capacity to allocatable within 10 s; writing both saves the wait.
    """
    return [
        {"op": "add", "path": f"/status/{kind}/amd.com~1gpu", "value": str(gpus)}
        for kind in ("capacity", "allocatable")
    ]
