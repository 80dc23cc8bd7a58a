"""A journal of everything that happens to the SpecDeployments of one namespace, as a watch tells it."""

import json
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.cluster.kube import PATIENCE_SECONDS, Kubectl

# For all that is set in motion with the journal, from its beginning on: a rollout with all its trials takes
# 120 to 400 s here. One limit for all of them, so that a stage that is broken costs it once.
STORY_SECONDS = 1800.0

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
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        path = f"/apis/specdeploy.dev/v1alpha1/namespaces/{self.kubectl.namespace}/specdeployments"
        self._watches = [
            # An API server ends a watch after half an hour unless it is asked for more.
            self._watch(self._entry, "get", f"--raw={path}?watch=1&timeoutSeconds=7200"),
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

    def step(self, name: str, check: Callable[[Status], bool], *, what: str) -> Status:
        """As `wait`, for what follows within moments of what was done just now."""
        return self.wait(name, check, seconds=PATIENCE_SECONDS, what=what)

    def wait(
        self, name: str, check: Callable[[Status], bool], *, what: str, seconds: float | None = None
    ) -> Status:
        """The first status, past ones included, that passes the check; fails with the last words, after
        `seconds` or at the end of STORY_SECONDS."""
        end = self.began + STORY_SECONDS if seconds is None else time.monotonic() + seconds
        seen = 0
        while True:
            known = self.history(name)
            for status in known[seen:]:
                if check(status):
                    return status
            seen = len(known)
            if time.monotonic() > end:
                last = self.latest(name).get("message", "no status")
                raise AssertionError(f"{name}: waited in vain: {what}; last words: {last}")
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
