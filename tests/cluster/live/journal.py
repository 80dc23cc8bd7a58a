"""A journal of everything that happens to the SpecDeployments of one namespace, as a watch tells it."""

import json
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.cluster.kube import Kubectl

Status = dict[str, Any]
Seen = Callable[[str, Status], None]


@dataclass(frozen=True)
class Entry:
    """One version of one object: when it was seen (seconds since the epoch), its name and status."""

    time: float
    name: str
    status: Status


@dataclass
class Journal:
    """Reads two watches until closed: the objects themselves, and what `kubectl get sd -w` prints."""

    kubectl: Kubectl
    entries: list[Entry] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    listeners: list[Seen] = field(default_factory=list)

    def __post_init__(self) -> None:
        path = f"/apis/specdeploy.dev/v1alpha1/namespaces/{self.kubectl.namespace}/specdeployments?watch=1"
        self._watches = [
            self._watch(self._entry, "get", f"--raw={path}"),
            self._watch(self._row, "get", "sd", "--watch", "--no-headers"),
        ]

    def close(self) -> None:
        for process in self._watches:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()

    def history(self, name: str) -> list[Status]:
        """Every status that an object has had, oldest first."""
        return [entry.status for entry in list(self.entries) if entry.name == name]

    def latest(self, name: str) -> Status:
        """The newest status; empty if there is none."""
        return next(iter(reversed(self.history(name))), {})

    def story(self, name: str) -> list[str]:
        """The rows that a person saw of one object, with one space between columns, its age left out."""
        mine = [row.split() for row in list(self.rows) if row.split()[:1] == [name]]
        return [" ".join(words[1:-1]) for words in mine]

    def wait(self, name: str, check: Callable[[Status], bool], *, seconds: float, what: str) -> Status:
        """The first status, past ones included, that passes the check; fails with the last words."""
        end = time.monotonic() + seconds
        seen = 0
        while True:
            known = self.history(name)
            for status in known[seen:]:
                if check(status):
                    return status
            seen = len(known)
            if time.monotonic() > end:
                last = self.latest(name).get("message", "no status")
                raise AssertionError(f"{name}: not within {seconds:.0f} s: {what}; last words: {last}")
            time.sleep(0.2)

    def _watch(self, take: Callable[[str], None], *words: str) -> "subprocess.Popen[str]":
        where = [f"--kubeconfig={self.kubectl.kubeconfig}", f"--namespace={self.kubectl.namespace}"]
        process = subprocess.Popen([self.kubectl.command, *where, *words], stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, args=(process, take), daemon=True).start()
        return process

    def _read(self, process: "subprocess.Popen[str]", take: Callable[[str], None]) -> None:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                take(line)
        except ValueError:  # closed
            return

    def _row(self, line: str) -> None:
        self.rows.append(line)

    def _entry(self, line: str) -> None:
        body = json.loads(line)["object"]
        status = body.get("status") or {}
        name = body["metadata"].get("name", "")
        self.entries.append(Entry(time.time(), name, status))
        for listener in self.listeners:
            listener(name, status)


def moment(text: str) -> float:
    """Seconds since the epoch of an instant in a status."""
    return datetime.fromisoformat(text).timestamp()


# -- questions to a status -----------------------------------------------------------------------------


def condition(status: Status, kind: str) -> dict[str, str]:
    """A condition; empty if it is not set."""
    return next((c for c in status.get("conditions") or [] if c["type"] == kind), {})


def ready_reason(status: Status) -> str:
    return condition(status, "Ready").get("reason", "")


def trial_state(status: Status) -> str:
    """The trial's state; empty if there is no trial."""
    return str((status.get("trial") or {}).get("state", ""))


def outcomes(status: Status) -> dict[str, str]:
    """Drafter -> what its last trial ended with."""
    return {v["drafter"]: v["outcome"] for v in reversed(status.get("verdicts") or [])}


def verdict(status: Status, drafter: str) -> dict[str, Any]:
    """The newest verdict on a drafter; empty if there is none."""
    return next((v for v in status.get("verdicts") or [] if v["drafter"] == drafter), {})
