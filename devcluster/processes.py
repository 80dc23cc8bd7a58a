"""Long-running processes: started in their own session, recorded, and ended by that record alone.

A record is (pid, start time, boot): a pid that was recycled, or written down before a reboot, is never
taken for ours.
"""

import os
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from devcluster.errors import DevclusterError
from devcluster.files import read_json, write_json
from devcluster.shell import tail

STOP_SECONDS = 15


@dataclass(frozen=True)
class Process:
    """A process that was started; `started` is in clock ticks since the boot `boot`."""

    name: str
    pid: int
    started: int
    boot: str


def boot_id() -> str:
    """Differs after every reboot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def parse_stat(stat: str) -> tuple[str, int]:
    """(state letter, start time in ticks) of a /proc/PID/stat line; its command may hold blanks, brackets."""
    fields = stat[stat.rindex(")") + 1 :].split()
    return fields[0], int(fields[19])


def is_same(process: Process, stat: str | None, boot: str) -> bool:
    """Whether a /proc/PID/stat line (None: no such pid) is this very process, running; a zombie is not."""
    if stat is None or boot != process.boot:
        return False
    state, started = parse_stat(stat)
    return started == process.started and state not in "ZX"


def read_stat(pid: int) -> str | None:
    """The /proc/PID/stat line, None when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None


def is_alive(process: Process) -> bool:
    """Whether this very process still runs."""
    return is_same(process, read_stat(process.pid), boot_id())


def identify(name: str, pid: int) -> Process:
    """The record of a running process. Raises DevclusterError when it has ended already."""
    stat = read_stat(pid)
    if stat is None:
        raise DevclusterError(f"{name} ended at once")
    return Process(name, pid, parse_stat(stat)[1], boot_id())


def end(process: Process, *, seconds: float = STOP_SECONDS) -> None:
    """End this very process: TERM, then KILL after `seconds`; nothing when it does not run any more."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        # The handle pins the process: if the record fits now, no recycled pid can get the signal.
        if is_alive(process):
            signal.pidfd_send_signal(handle, signal.SIGTERM)
            if not _has_ended(handle, seconds):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                _has_ended(handle, seconds)
    except ProcessLookupError:
        pass
    finally:
        os.close(handle)


def _has_ended(handle: int, seconds: float) -> bool:
    poller = select.poll()
    poller.register(handle, select.POLLIN)
    return bool(poller.poll(seconds * 1000))


class Processes:
    """The processes of one cluster, recorded in its state folder."""

    def __init__(self, state: Path) -> None:
        self._file = state / "processes.json"
        self._logs = state / "logs"

    def all(self) -> list[Process]:
        """In the order in which they were started."""
        return [Process(**stored) for stored in read_json(self._file, [])]

    def start(self, name: str, argv: Sequence[str | Path], env: Mapping[str, str]) -> Process:
        """Start in its own session, output to `logs/NAME.log`, and record it."""
        self._logs.mkdir(parents=True, exist_ok=True)
        with self.log(name).open("a") as log:
            child = subprocess.Popen(
                [str(word) for word in argv],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd="/",
                env=dict(env),
            )
        process = identify(name, child.pid)
        # A later end of it is read from /proc; without this the object would warn that the child still runs.
        child.returncode = 0
        write_json(self._file, [asdict(known) for known in [*self.all(), process]])
        return process

    def log(self, name: str) -> Path:
        """Where this process writes."""
        return self._logs / f"{name}.log"

    def dead(self) -> list[str]:
        """Names of those that were started and do not run."""
        return [process.name for process in self.all() if not is_alive(process)]

    def must_live(self) -> None:
        """Raises DevclusterError with the end of its log when one of them has died."""
        for name in self.dead():
            raise DevclusterError(f"{name} has ended; the end of {self.log(name)}:\n{tail(self._read(name))}")

    def end_all(self, names: Sequence[str] | None = None) -> None:
        """End those with these names (None: all), the last started first."""
        for process in reversed(self.all()):
            if names is None or process.name in names:
                end(process)

    def _read(self, name: str) -> str:
        try:
            return self.log(name).read_text(errors="replace")
        except FileNotFoundError:
            return "(no log)"
