"""etcd, API server, controller manager and scheduler: their command lines; pure."""

from pathlib import Path
from typing import Any

from devcluster.settings import POD_RANGE, SERVICE_RANGE, Settings

# Who wrote what with which client: tests count the operator's writes by user and userAgent.
AUDIT_POLICY: dict[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


def etcd(settings: Settings) -> list[str]:
    """No fsync: a cluster that lives for minutes need not survive a power cut, and starts faster."""
    client = f"http://127.0.0.1:{settings.port('etcd')}"
    peer = f"http://127.0.0.1:{settings.port('etcd-peer')}"
    return [
        "etcd",
        "--name=devcluster",
        f"--data-dir={settings.state}/etcd",
        "--unsafe-no-fsync",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=devcluster={peer}",
    ]


def apiserver(settings: Settings, binaries: Path) -> list[str]:
    """Listens on the node's address only, so that nothing outside this machine reaches it."""
    pki = settings.state / "pki"
    argv = [
        f"{binaries}/kube-apiserver",
        f"--etcd-servers=http://127.0.0.1:{settings.port('etcd')}",
        f"--bind-address={settings.address}",
        f"--advertise-address={settings.address}",
        f"--secure-port={settings.port('kube-apiserver')}",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        f"--client-ca-file={pki}/ca.crt",
        f"--tls-cert-file={pki}/serving.crt",
        f"--tls-private-key-file={pki}/serving.key",
        # Aggregated APIs; the other servers complain while the API server publishes none of this.
        f"--requestheader-client-ca-file={pki}/ca.crt",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={pki}/front-proxy.crt",
        f"--proxy-client-key-file={pki}/front-proxy.key",
        f"--kubelet-certificate-authority={pki}/ca.crt",
        f"--kubelet-client-certificate={pki}/kubelet-client.crt",
        f"--kubelet-client-key={pki}/kubelet-client.key",
        # Without it `kubectl logs` looks the node's name up in DNS.
        "--kubelet-preferred-address-types=InternalIP",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={pki}/service-account.pub",
        f"--service-account-signing-key-file={pki}/service-account.key",
        f"--audit-policy-file={settings.state}/audit-policy.yaml",
        f"--audit-log-path={settings.logs}/audit.log",
        "--audit-log-maxsize=50",
        "--audit-log-maxbackup=3",
    ]
    if settings.control_plane_only:
        # No pod will ever ask for the `kubernetes` Service, and its endpoint may not be a loopback address.
        argv.append("--endpoint-reconciler-type=none")
    return argv


def controller_manager(settings: Settings, binaries: Path) -> list[str]:
    """All controllers of the default set."""
    pki = settings.state / "pki"
    return [
        f"{binaries}/kube-controller-manager",
        *_client(settings, "kube-controller-manager"),
        f"--root-ca-file={pki}/ca.crt",
        f"--service-account-private-key-file={pki}/service-account.key",
        "--use-service-account-credentials=true",
        f"--cluster-cidr={POD_RANGE}",
        f"--flex-volume-plugin-dir={settings.state}/volume-plugins",
    ]


def scheduler(settings: Settings, binaries: Path) -> list[str]:
    return [f"{binaries}/kube-scheduler", *_client(settings, "kube-scheduler")]


def _client(settings: Settings, name: str) -> list[str]:
    pki = settings.state / "pki"
    config = f"{pki}/{name}.kubeconfig"
    return [
        f"--kubeconfig={config}",
        f"--authentication-kubeconfig={config}",
        f"--authorization-kubeconfig={config}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={settings.port(name)}",
        f"--tls-cert-file={pki}/serving.crt",
        f"--tls-private-key-file={pki}/serving.key",
    ]
