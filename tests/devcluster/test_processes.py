import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from devcluster import processes
from devcluster.errors import DevclusterError
from devcluster.processes import Process, Processes, is_same

OURS = Process("etcd", 4711, 8123, "boot-1")
STAT = "4711 (a (b) c) {state} 1 4711 4711 0 -1 4194560 5 0 0 0 1 2 0 0 20 0 9 0 {started} 11 22 33\n"


@pytest.mark.parametrize(
    ("stat", "boot", "same"),
    [
        (STAT.format(state="S", started=8123), "boot-1", True),
        (STAT.format(state="Z", started=8123), "boot-1", False),
        (STAT.format(state="S", started=9999), "boot-1", False),
        (STAT.format(state="S", started=8123), "boot-2", False),
        (None, "boot-1", False),
    ],
    ids=["same", "zombie", "recycled pid", "rebooted", "no such pid"],
)
def test_a_process_is_ours_only_with_the_same_pid_start_and_boot(
    stat: str | None, boot: str, same: bool
) -> None:
    assert is_same(OURS, stat, boot) is same


def test_a_recycled_pid_is_never_ended() -> None:
    impostor = replace(processes.identify("etcd", os.getpid()), started=1)
    processes.end(impostor)  # a signal would end this very test run
    assert processes.read_stat(os.getpid()) is not None


def test_a_recorded_process_is_ended_and_then_counts_as_dead(tmp_path: Path) -> None:
    running = Processes(tmp_path)
    process = running.start("sleeper", [sys.executable, "-c", "import time; time.sleep(60)"], os.environ)
    assert running.dead() == []
    running.end_all()
    os.waitpid(process.pid, 0)
    assert running.dead() == ["sleeper"]


def test_a_process_that_died_is_told_with_the_end_of_its_log(tmp_path: Path) -> None:
    running = Processes(tmp_path)
    process = running.start("broken", [sys.executable, "-c", "raise SystemExit('no such flag')"], os.environ)
    os.waitpid(process.pid, 0)
    with pytest.raises(DevclusterError, match="no such flag"):
        running.must_live()
