"""Probes, and the startup script against a server on the loopback address."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from specdeploy.manifests.probes import build_probes
from tests.engine.specs import smallest


@pytest.mark.parametrize(
    ("budget", "period", "failures"),
    [(30, 2, 15), (120, 2, 60), (121, 5, 25), (600, 5, 120), (601, 10, 61), (14400, 10, 1440)],
)
def test_the_startup_probe_holds_for_the_budget_and_looks_often_if_it_is_short(
    budget: int, period: int, failures: int
) -> None:
    probe = build_probes(smallest("engine.startupSeconds", budget))["startupProbe"]
    assert (probe["periodSeconds"], probe["failureThreshold"]) == (period, failures)
    assert period * failures >= budget


def test_liveness_is_more_patient_than_readiness_and_both_wait_long_for_an_answer() -> None:
    probes = build_probes(smallest())
    ready, live = probes["readinessProbe"], probes["livenessProbe"]
    assert ready["httpGet"] == live["httpGet"] == {"path": "/health", "port": 8000}
    assert min(ready["timeoutSeconds"], live["timeoutSeconds"]) >= 5
    assert (
        live["periodSeconds"] * live["failureThreshold"] > ready["periodSeconds"] * ready["failureThreshold"]
    )


class FakeEngine(ThreadingHTTPServer):
    """An engine's health and completions routes; keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.health = 200
        self.completions = 200
        self.asked: list[tuple[dict[str, Any], str | None]] = []


class _Handler(BaseHTTPRequestHandler):
    server: FakeEngine

    def do_GET(self) -> None:
        self._answer(self.server.health if self.path == "/health" else 404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((body, self.headers["Authorization"]))
        self._answer(self.server.completions if self.path == "/v1/completions" else 404)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def server() -> Iterator[FakeEngine]:
    with FakeEngine() as engine:
        thread = threading.Thread(target=engine.serve_forever, args=(0.05,))
        thread.start()
        yield engine
        engine.shutdown()
        thread.join()


def probe(port: int, mark: Path, **environment: str) -> tuple[int, str]:
    """Runs the probe's command once: exit code and the last line that it says."""
    spec = smallest("servedModelName", 'it\'s a "name"')
    python, *words = build_probes(spec)["startupProbe"]["exec"]["command"]
    assert (python, words[-2:]) == ("python3", ["8000", "/tmp/specdeploy-warmed-up"])
    command = [sys.executable, *words[:-2], str(port), str(mark)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=30, env={**os.environ, **environment}, check=False
    )
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr.strip()


def test_the_first_healthy_probe_warms_the_engine_and_later_ones_do_not(
    server: FakeEngine, tmp_path: Path
) -> None:
    results = [probe(server.server_port, tmp_path / "mark") for _ in range(2)]
    assert results == [(0, ""), (0, "")]
    ((body, key),) = server.asked
    assert (body["model"], key) == ('it\'s a "name"', None)
    assert body["max_tokens"] <= 32


def test_the_warm_up_has_the_api_key_and_no_proxy(server: FakeEngine, tmp_path: Path) -> None:
    nowhere = "http://127.0.0.1:1"
    found = probe(
        server.server_port, tmp_path / "mark", VLLM_API_KEY="s3cret", http_proxy=nowhere, HTTP_PROXY=nowhere
    )
    assert found == (0, "")
    assert [key for _, key in server.asked] == ["Bearer s3cret"]


def test_an_engine_that_is_not_there_or_not_healthy_is_not_warmed(server: FakeEngine, tmp_path: Path) -> None:
    server.health = 503
    assert probe(server.server_port, tmp_path / "mark") == (
        1,
        "not ready yet: HTTP Error 503: Service Unavailable",
    )
    code, said = probe(1, tmp_path / "mark")
    assert (code, said.partition(":")[0]) == (1, "not ready yet")
    assert server.asked == []
    assert not (tmp_path / "mark").exists()


def test_a_warm_up_that_fails_is_told_once_and_blocks_nothing(server: FakeEngine, tmp_path: Path) -> None:
    server.completions = 400
    first = probe(server.server_port, tmp_path / "mark")
    assert first == (1, "the warm-up request failed: HTTP Error 400: Bad Request")
    assert probe(server.server_port, tmp_path / "mark") == (0, "")
    assert len(server.asked) == 1


def test_an_engine_that_can_keep_no_mark_is_ready_without_a_warm_up(
    server: FakeEngine, tmp_path: Path
) -> None:
    assert probe(server.server_port, tmp_path / "missing" / "mark") == (0, "")
    assert server.asked == []
