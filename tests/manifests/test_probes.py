"""Probes, and the startup script against a server on the loopback address."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from specdeploy.api.answer_line import LONGEST_LINE
from specdeploy.engine.questions import QUESTION_SET, QUESTIONS
from specdeploy.judge.answers import Answer, read
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


PIECES = (" four", ",", " fünf")
# One second choice is the same text as the first: how far they are apart is not told.
TOPS = ({" four": -0.1, " five": -3.24}, {",": -0.01, ";": -20.0}, {" fünf": -0.2})
LOGPROBS = {"tokens": PIECES, "token_logprobs": [-0.1, -0.01, -0.2], "top_logprobs": TOPS}
WHOLE = {"choices": [{"text": "".join(PIECES), "logprobs": LOGPROBS}]}


class FakeEngine(ThreadingHTTPServer):
    """An engine's health and completions routes; keeps what it was asked. `answers`: what is told of the
    fixed questions, which ask for log probabilities."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.health = 200
        self.completions = 200
        self.answers: Callable[[int], tuple[int, bytes]] = lambda number: (200, json.dumps(WHOLE).encode())
        self.asked: list[tuple[dict[str, Any], str | None]] = []


class _Handler(BaseHTTPRequestHandler):
    server: FakeEngine

    def do_GET(self) -> None:
        self._answer(self.server.health if self.path == "/health" else 404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((body, self.headers["Authorization"]))
        if self.path != "/v1/completions":
            self._answer(404)
        elif "logprobs" in body:
            self._answer(*self.server.answers(len(self.server.asked) - 2))
        else:
            self._answer(self.server.completions)

    def _answer(self, status: int, body: bytes = b"{}") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

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


def probe(port: int, mark: Path, log: str | Path = os.devnull, **environment: str) -> tuple[int, str]:
    """Runs the probe's command once: exit code and the last line that it says."""
    spec = smallest("servedModelName", 'it\'s a "name"')
    python, *words = build_probes(spec)["startupProbe"]["exec"]["command"]
    assert (python, words[-4:-1]) == ("python3", ["8000", "/tmp/specdeploy-warmed-up", "/proc/1/fd/1"])
    command = [sys.executable, *words[:-4], str(port), str(mark), str(log), words[-1]]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=240, env={**os.environ, **environment}, check=False
    )
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr.strip()


def test_the_first_healthy_probe_warms_the_engine_and_later_ones_do_not(
    server: FakeEngine, tmp_path: Path
) -> None:
    results = [probe(server.server_port, tmp_path / "mark") for _ in range(2)]
    assert results == [(0, ""), (0, "")]
    bodies = [body for body, _ in server.asked]
    assert len(bodies) == 1 + len(QUESTIONS)
    assert {body["model"] for body in bodies} == {'it\'s a "name"'}
    assert "logprobs" not in bodies[0]
    assert max(body["max_tokens"] for body in bodies) <= 32


def test_the_fixed_questions_are_asked_greedily_and_the_answers_stand_in_the_log(
    server: FakeEngine, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.write_text("an unfinished line of the engine's own: ")
    assert probe(server.server_port, tmp_path / "mark", log) == (0, "")
    asked = [body for body, _ in server.asked[1:]]
    assert [body["prompt"] for body in asked] == list(QUESTIONS.values())
    assert {(body["temperature"], body["logprobs"], body["ignore_eos"]) for body in asked} == {(0, 2, True)}
    written = log.read_text()
    assert len(written.splitlines()) == len(QUESTIONS)
    assert len(written) < 8192
    answer = Answer(PIECES, (3.1, 9.0, 0.0))
    assert read(written, QUESTION_SET) == dict.fromkeys(QUESTIONS, answer)


def test_the_log_may_be_the_pipe_of_another_process(server: FakeEngine, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    try:
        log = f"/proc/{os.getpid()}/fd/{writing}"
        assert probe(server.server_port, tmp_path / "mark", log) == (0, "")
        assert read(os.read(reading, 65536).decode(), QUESTION_SET).keys() == QUESTIONS.keys()
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize(
    "answer",
    [
        (400, b"no logprobs here"),
        (500, b"{}"),
        (200, b"not JSON"),
        (200, b"[]"),
        (200, b'{"choices": []}'),
        (200, b'{"choices": [{"logprobs": null}]}'),
        (200, b'{"choices": [{"logprobs": {"tokens": [1], "top_logprobs": [null]}}]}'),
        (200, b'{"choices": [{"logprobs": {"tokens": ["a"], "top_logprobs": [null]}}]}'),
    ],
)
def test_an_engine_that_cannot_be_asked_is_ready_all_the_same(
    server: FakeEngine, tmp_path: Path, answer: tuple[int, bytes]
) -> None:
    log = tmp_path / "log"
    server.answers = lambda number: (200, json.dumps(WHOLE).encode()) if number < 2 else answer
    assert probe(server.server_port, tmp_path / "mark", log) == (0, "")
    assert list(read(log.read_text(), QUESTION_SET)) == list(QUESTIONS)[:2]


def test_a_log_that_cannot_be_written_is_no_reason_not_to_be_ready(
    server: FakeEngine, tmp_path: Path
) -> None:
    assert probe(server.server_port, tmp_path / "mark", tmp_path / "missing" / "log") == (0, "")


def test_a_line_is_never_longer_than_a_pipe_keeps_together(server: FakeEngine, tmp_path: Path) -> None:
    log = tmp_path / "log"
    long = {"tokens": ["\U0001f600" * 100] * 32, "top_logprobs": [{"a": -1, "b": -2}] * 32}
    server.answers = lambda number: (200, json.dumps({"choices": [{"logprobs": long}]}).encode())
    assert probe(server.server_port, tmp_path / "mark", log) == (0, "")
    assert {len(line) for line in log.read_bytes().splitlines(keepends=True)} == {LONGEST_LINE}


def test_the_warm_up_has_the_api_key_and_no_proxy(server: FakeEngine, tmp_path: Path) -> None:
    nowhere = "http://127.0.0.1:1"
    found = probe(
        server.server_port, tmp_path / "mark", VLLM_API_KEY="s3cret", http_proxy=nowhere, HTTP_PROXY=nowhere
    )
    assert found == (0, "")
    assert {key for _, key in server.asked} == {"Bearer s3cret"}


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
