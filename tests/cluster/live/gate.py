"""A gate before the API server that can kill its one client right after a write was stored.

The operator speaks plain HTTP with the gate, the gate speaks TLS with the API server. So a kill falls exactly
between two writes, and the operator under test is the real program with nothing in it changed.
"""

import base64
import http.client
import json
import ssl
import tempfile
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

_WRITES = ("POST", "PUT", "PATCH", "DELETE")
_OF_ONE_HOP = {"host", "connection", "transfer-encoding", "keep-alive"}

# method, path, body -> whether the client dies now, without an answer
Strike = Callable[[str, str, Mapping[str, Any]], bool]


class Gate(ThreadingHTTPServer):
    """Listens on loopback until closed. `strike` is asked after each write that was taken; `kill` kills."""

    daemon_threads = True

    def __init__(self, kubeconfig: Path, strike: Strike, kill: Callable[[], None]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.strike, self.kill = strike, kill
        self.host, self.tls = _access(kubeconfig)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def kubeconfig(self, folder: Path) -> Path:
        """A kubeconfig that leads through the gate."""
        cluster = {"name": "gate", "cluster": {"server": f"http://127.0.0.1:{self.server_port}"}}
        context = {"name": "gate", "context": {"cluster": "gate", "user": "gate"}}
        file = folder / "kubeconfig"
        file.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [cluster],
                    "contexts": [context],
                    "users": [{"name": "gate", "user": {}}],
                    "current-context": "gate",
                }
            )
        )
        return file

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed leaves broken connections; that is what the gate is for."""

    def close(self) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Gate

    def log_message(self, *_: object) -> None:
        pass

    def _forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {k: v for k, v in self.headers.items() if k.lower() not in _OF_ONE_HOP}
        upstream = http.client.HTTPSConnection(self.server.host, context=self.server.tls, timeout=120)
        try:
            upstream.request(self.command, self.path, body or None, headers)
            self._answer(upstream.getresponse(), body)
        finally:
            upstream.close()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _forward  # noqa: N815

    def _answer(self, response: http.client.HTTPResponse, body: bytes) -> None:
        if self.command in _WRITES and response.status < 300:
            path = urlsplit(self.path).path
            if self.server.strike(self.command, path, json.loads(body or b"{}")):
                self.server.kill()
                return
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in _OF_ONE_HOP:
                self.send_header(name, value)
        self.end_headers()
        while chunk := response.read1(65536):
            self.wfile.write(chunk)
            self.wfile.flush()


def _access(kubeconfig: Path) -> tuple[str, ssl.SSLContext]:
    """Host with port, and TLS with the client's certificate."""
    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    tls = ssl.create_default_context(cadata=_text(cluster, "certificate-authority").decode())
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = Path(folder) / "client-certificate", Path(folder) / "client-key"
        for file in (certificate, key):
            file.touch(mode=0o600)
            file.write_bytes(_text(user, file.name))
        tls.load_cert_chain(certificate, key)
    return urlsplit(cluster["server"]).netloc, tls


def _text(section: Mapping[str, str], key: str) -> bytes:
    """A certificate or key that is in the file, or in another one that is named."""
    data = section.get(f"{key}-data")
    return base64.b64decode(data) if data else Path(section[key]).read_bytes()
