"""What a process costs (from /proc) and what it asked of an API server (from its audit log)."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
# The operator's own client and its informer.
AGENTS = ("specdeploy/", "kopf/")

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Call:
    """One request: its verb, and the object or kind that it was about, such as
    `specdeployments/status of idle-01`."""

    verb: str
    about: str

    @property
    def writes(self) -> bool:
        return self.verb in WRITES


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

    def news(self) -> Counter[Call]:
        """Requests that were answered since the last call; watches count when they end."""
        return Counter(self._calls())

    def _calls(self) -> Iterator[Call]:
        if self._file.stat().st_size < self._offset:
            raise RuntimeError("the audit log was rotated; what it said is lost")
        with self._file.open() as log:
            log.seek(self._offset)
            while (line := log.readline()).endswith("\n"):
                self._offset = log.tell()
                event = json.loads(line)
                if event["stage"] == "ResponseComplete" and event.get("userAgent", "").startswith(AGENTS):
                    yield Call(str(event["verb"]), _about(event.get("objectRef") or {}))


def _about(reference: Mapping[str, str]) -> str:
    words = [reference.get("resource", "no object")]
    if reference.get("subresource"):
        words.append(f"/{reference['subresource']}")
    if reference.get("name"):
        words.append(f" of {reference['name']}")
    return "".join(words)


def writes(calls: Counter[Call]) -> Counter[str]:
    """What was written, and how often."""
    found: Counter[str] = Counter()
    for call, count in calls.items():
        if call.writes:
            found[call.about] += count
    return found
