"""The cluster's own authority and certificates, made with the openssl command.

One serving certificate does for every server on the machine; each client has a certificate of its own,
because Kubernetes reads user (CN) and groups (O) from it.
"""

import base64
from pathlib import Path

from devcluster.files import write_json, write_text
from devcluster.settings import CONTEXT, KUBERNETES_SERVICE, NODE_ADDRESS, NODE_NAME, Settings
from devcluster.shell import capture

DAYS = "3650"
# File name: (user, group). RBAC and the Node authorizer know these names.
CLIENTS = {
    "admin": ("specdeploy-admin", "system:masters"),
    "kubelet-client": ("kube-apiserver-kubelet-client", "system:masters"),
    "front-proxy": ("front-proxy-client", ""),
    "kube-controller-manager": ("system:kube-controller-manager", ""),
    "kube-scheduler": ("system:kube-scheduler", ""),
    "kube-proxy": ("system:kube-proxy", ""),
    "kubelet": (f"system:node:{NODE_NAME}", "system:nodes"),
}
SERVING_NAMES = (
    "DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,"
    "DNS:kubernetes.default.svc.cluster.local,"
    f"DNS:{NODE_NAME},IP:127.0.0.1,IP:{NODE_ADDRESS},IP:{KUBERNETES_SERVICE}"
)


def create(settings: Settings) -> None:
    """Write all keys, certificates and kubeconfigs into the state folder's `pki`."""
    pki = settings.state / "pki"
    pki.mkdir(parents=True, exist_ok=True)
    pki.chmod(0o700)
    _key(pki / "ca.key")
    capture(
        [
            "openssl",
            "req",
            "-x509",
            "-new",
            "-key",
            str(pki / "ca.key"),
            "-days",
            DAYS,
            "-subj",
            "/CN=specdeploy-devcluster",
            "-out",
            str(pki / "ca.crt"),
            "-addext",
            "basicConstraints=critical,CA:TRUE",
            "-addext",
            "keyUsage=critical,keyCertSign,cRLSign",
        ]
    )
    _key(pki / "service-account.key")
    capture(
        [
            "openssl",
            "pkey",
            "-in",
            str(pki / "service-account.key"),
            "-pubout",
            "-out",
            str(pki / "service-account.pub"),
        ]
    )
    _certificate(
        pki, "serving", f"/CN={NODE_NAME}", f"extendedKeyUsage=serverAuth\nsubjectAltName={SERVING_NAMES}\n"
    )
    for name, (user, group) in CLIENTS.items():
        subject = (f"/O={group}" if group else "") + f"/CN={user}"
        _certificate(pki, name, subject, "extendedKeyUsage=clientAuth\n")
        write_json(pki / f"{name}.kubeconfig", kubeconfig(pki, name, settings.server))
    write_json(settings.kubeconfig, kubeconfig(pki, "admin", settings.server))


def kubeconfig(pki: Path, client: str, server: str) -> dict[str, object]:
    """A kubeconfig for one client with everything in it, so that the file can be copied elsewhere."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": CONTEXT,
        "clusters": [
            {
                "name": CONTEXT,
                "cluster": {"server": server, "certificate-authority-data": _base64(pki / "ca.crt")},
            }
        ],
        "users": [
            {
                "name": client,
                "user": {
                    "client-certificate-data": _base64(pki / f"{client}.crt"),
                    "client-key-data": _base64(pki / f"{client}.key"),
                },
            }
        ],
        "contexts": [
            {"name": CONTEXT, "context": {"cluster": CONTEXT, "user": client, "namespace": "default"}}
        ],
    }


def _key(path: Path) -> None:
    capture(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(path)])
    path.chmod(0o600)


def _certificate(pki: Path, name: str, subject: str, extensions: str) -> None:
    _key(pki / f"{name}.key")
    extension_file = write_text(pki / f"{name}.ext", f"keyUsage=critical,digitalSignature\n{extensions}")
    request = capture(["openssl", "req", "-new", "-key", str(pki / f"{name}.key"), "-subj", subject])
    capture(
        [
            "openssl",
            "x509",
            "-req",
            "-CA",
            str(pki / "ca.crt"),
            "-CAkey",
            str(pki / "ca.key"),
            "-CAcreateserial",
            "-days",
            DAYS,
            "-extfile",
            str(extension_file),
            "-out",
            str(pki / f"{name}.crt"),
        ],
        stdin=request,
    )
    extension_file.unlink()


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
