"""What a process costs (from /proc) and what it asked of an API server (from its audit log)."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
# The operator's own client and its informer.
AGENTS = ("specdeploy/", "kopf/")

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Usage:
    """CPU seconds since a process began, and its resident memory in MiB, now and at its highest."""

    cpu_seconds: float
    resident: float
    highest: float


def usage(pid: int) -> Usage:
    """Usage of a running process. Raises OSError if it is gone."""
    proc = Path("/proc") / str(pid)
    # Fields are counted from behind the command's name, which may hold spaces: user and system time.
    fields = (proc / "stat").read_text().rpartition(")")[2].split()
    status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
    return Usage(
        cpu_seconds=(int(fields[11]) + int(fields[12])) / _TICKS,
        resident=_mebibytes(status["VmRSS"]),
        highest=_mebibytes(status["VmHWM"]),
    )


def _mebibytes(text: str) -> float:
    return int(text.removesuffix(" kB")) / 1024


class AuditLog:
    """Requests of the operator, as the API server wrote them down. Reads what is new since the last time;
    short enough runs only, for the log is rotated at 50 MB."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._offset = file.stat().st_size

    def news(self) -> Counter[str]:
        """Verb -> requests that were answered since the last call; watches count when they end."""
        return Counter(self._verbs())

    def _verbs(self) -> Iterator[str]:
        if self._file.stat().st_size < self._offset:
            raise RuntimeError("the audit log was rotated; what it said is lost")
        with self._file.open() as log:
            log.seek(self._offset)
            while (line := log.readline()).endswith("\n"):
                self._offset = log.tell()
                event = json.loads(line)
                if event["stage"] == "ResponseComplete" and event.get("userAgent", "").startswith(AGENTS):
                    yield str(event["verb"])


def writes(verbs: Counter[str]) -> int:
    """How many of the requests were writes."""
    return sum(count for verb, count in verbs.items() if verb in WRITES)
