"""Starts the real vLLM as a process of this machine, in the smallest form that serves.

The lean form (one thread, the worker inside the engine's process, 64 MB of KV cache) lets two engines share
two cores: about 20 s to ready and 1.3 GB each. Used by `conftest.py` and the tests of how the engine exits.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tools.vllm.environment import VllmEnvironment

READY_SECONDS = 300.0
STOP_SECONDS = 30.0
SERVED_NAME = "tiny"

LEAN_ARGS = (
    *("--served-model-name", SERVED_NAME),
    *("--max-model-len", "512"),
    *("--dtype", "float32"),
    "--enforce-eager",
    *("--distributed-executor-backend", "uni"),
    *("--kv-cache-memory-bytes", str(64 * 2**20)),
)

LEAN_ENV = {
    "OMP_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
    "NUMBA_NUM_THREADS": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
}


def engine_environ(environment: VllmEnvironment) -> dict[str, str]:
    """The lean settings on top of this process's own; vLLM's caches stay beside the venv."""
    return {**os.environ, **LEAN_ENV, "VLLM_CACHE_ROOT": str(environment.venv.parent / "vllm-cache")}


def serve_command(environment: VllmEnvironment, extra: Sequence[str]) -> list[str]:
    """`vllm serve` of the tiny target with the lean arguments and `extra`."""
    vllm = str(environment.venv / "bin" / "vllm")
    return [vllm, "serve", str(environment.models / "target"), *LEAN_ARGS, *extra]


def speculative_args(**config: Any) -> tuple[str, str]:
    return "--speculative-config", json.dumps(config)


def drafters(environment: VllmEnvironment) -> dict[str, Sequence[str]]:
    """The arguments of the two drafters that are measured: one that is faster here, one that is slower."""
    head = str(environment.models / "eagle3-head")
    return {
        "ngram": speculative_args(
            method="ngram", num_speculative_tokens=3, prompt_lookup_min=2, prompt_lookup_max=4
        ),
        "eagle3": speculative_args(method="eagle3", model=head, num_speculative_tokens=3),
    }


@dataclass(frozen=True)
class Server:
    """One running engine: where it answers, what it writes, and its process (the leader of its own group)."""

    name: str
    url: str
    log: Path
    process: subprocess.Popen[bytes]

    def wait_ready(self) -> None:
        """Returns once `/health` answers 200; fails if the engine exits before, or after READY_SECONDS."""
        deadline = time.monotonic() + READY_SECONDS
        while not self._healthy():
            if (code := self.process.poll()) is not None:
                raise AssertionError(
                    f"{self.name} exited with {code} before it was ready\n{self._log_tail()}"
                )
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.name} not ready in {READY_SECONDS:.0f} s\n{self._log_tail()}")
            time.sleep(0.5)

    def metrics_page(self) -> str:
        response = httpx.get(f"{self.url}/metrics", timeout=60)
        response.raise_for_status()
        return response.text

    def stop(self) -> int:
        """Ends the engine, its group killed if it outlives SIGTERM by STOP_SECONDS; returns its exit code."""
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(STOP_SECONDS)
        os.killpg(self.process.pid, signal.SIGKILL)
        return self.process.wait()

    def _healthy(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health", timeout=5).status_code == 200
        except httpx.TransportError:
            return False

    def _log_tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])


@contextlib.contextmanager
def running(
    environment: VllmEnvironment, folder: Path, name: str, extra: Sequence[str] = ()
) -> Iterator[Server]:
    """Starts an engine on a free loopback port, without waiting for it; ends it on the way out."""
    port = free_port()
    command = serve_command(environment, [*extra, "--host", "127.0.0.1", "--port", str(port)])
    log = folder / f"{name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            env=engine_environ(environment),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = Server(name=name, url=f"http://127.0.0.1:{port}", log=log, process=process)
    try:
        yield server
    finally:
        if process.poll() is None:
            server.stop()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
