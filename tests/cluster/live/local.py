"""An operator as a process of this machine that is started anew when it dies, as a kubelet would do.

It runs a copy of the source: an edit during a long run would else be taken up by the next start.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from tests.cluster.kube import ROOT

_PAUSE_SECONDS = 0.5


class LocalOperator:
    """Runs until closed, with its files in `folder`. `log`: the file of all that it wrote; `starts`: its
    lives."""

    def __init__(self, kubeconfig: Path, namespace: str, folder: Path, listen: str = "127.0.0.1:0") -> None:
        self.log, self.starts = folder / "operator.log", 0
        source = folder / "source"
        shutil.copytree(ROOT / "operator" / "specdeploy", source / "specdeploy")
        self._environment = {
            **os.environ,
            "KUBECONFIG": str(kubeconfig),
            "PYTHONPATH": str(source),
            "SPECDEPLOY_NAMESPACES": namespace,
            "SPECDEPLOY_LISTEN": listen,
            "SPECDEPLOY_LOG_FORMAT": "plain",
        }
        self._over, self._killing = threading.Event(), threading.Lock()
        self._killed: subprocess.Popen[bytes] | None = None
        self._process = self._start()
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self._keeper.start()

    def kill(self) -> None:
        """SIGKILL: it can't finish anything. Two kills take two lives, the second one waits for its start."""
        with self._killing:
            while self._process is self._killed and not self._over.is_set():
                time.sleep(_PAUSE_SECONDS / 10)
            self._killed = self._process
            self._killed.send_signal(signal.SIGKILL)
            self._killed.wait()

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        self._over.set()
        self.kill()
        self._keeper.join()
        self.kill()  # it may have been starting one

    def _start(self) -> "subprocess.Popen[bytes]":
        self.starts += 1
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "specdeploy", "run"],
                env=self._environment, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def _keep(self) -> None:
        while not self._over.is_set():
            self._process.wait()
            if not self._over.wait(_PAUSE_SECONDS):
                self._process = self._start()
