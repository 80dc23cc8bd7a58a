"""Asks a running engine the fixed questions, by the operator's own startup probe."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from specdeploy.engine.questions import QUESTION_SET
from specdeploy.judge.answers import Answers, read
from specdeploy.manifests.probes import build_probes
from tests.engine.specs import smallest
from tests.vllm.server import SERVED_NAME, Server

PROBE_SECONDS = 300


def ask(server: Server) -> Answers:
    """What the probe writes about an engine that is ready and idle."""
    _, *words = build_probes(smallest("servedModelName", SERVED_NAME))["startupProbe"]["exec"]["command"]
    with tempfile.TemporaryDirectory() as folder:
        mark, log = Path(folder, "mark"), Path(folder, "log")
        log.touch()
        port = str(urlsplit(server.url).port)
        command = [sys.executable, *words[:-4], port, str(mark), str(log), words[-1]]
        subprocess.run(command, check=True, timeout=PROBE_SECONDS)
        return read(log.read_text(), QUESTION_SET)
