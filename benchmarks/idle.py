"""`make bench`: what an operator costs that has nothing to do but to watch.

An API server of its own -> the operator as a process -> a settled fleet -> five quiet minutes -> a table; the
exit code is 1 if a bar is broken. Every window moves the guard and what is learned of the baseline; they are
kept in memory and written every 15 minutes, which is the only write that is allowed.
"""

import argparse
import os
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import fleet
from benchmarks.cost import AuditLog, Call, Usage, usage, writes
from specdeploy.rollout.quiet import SECONDS as QUIET_SECONDS
from tests.cluster.kube import dev_cluster, fresh_namespace, install_crd
from tests.cluster.live.local import LocalOperator

PORT_BASE = 17200
CORE_PERCENT = 2.0
MEMORY_MEBIBYTES = 150.0
REPLICAS = 2
_LISTEN = f"127.0.0.1:{PORT_BASE + 90}"
_STATUS = "specdeployments/status of "


@dataclass(frozen=True)
class Size:
    """The fleet, and how long it is watched. `serving`: how many a drafter serves, with a guard; `pending`:
    how many, the last ones, have pods that no node takes."""

    objects: int = 20
    serving: int = 10
    pending: int = 5
    window_seconds: int = 60
    seconds: float = 300.0

    @property
    def most_saved(self) -> int:
        """How often the status of one object may be written while it is watched."""
        return 1 + int(self.seconds // QUIET_SECONDS)


@dataclass(frozen=True)
class Cost:
    """What the quiet time cost."""

    size: Size
    calls: Counter[Call]
    watched: int
    before: Usage
    after: Usage

    @property
    def saved(self) -> Counter[str]:
        """Writes of a status, which may save what is kept in memory, by object."""
        return Counter({about: n for about, n in writes(self.calls).items() if about.startswith(_STATUS)})

    @property
    def others(self) -> Counter[str]:
        """All other writes."""
        return writes(self.calls) - self.saved

    @property
    def most_saved(self) -> int:
        """Writes of that status which was written most."""
        return max(self.saved.values(), default=0)

    @property
    def an_hour(self) -> float:
        """Writes of a status per object and hour."""
        return 3600 * self.saved.total() / (self.size.objects * self.size.seconds)

    @property
    def core_percent(self) -> float:
        """CPU time in per cent of one core."""
        return 100 * (self.after.cpu_seconds - self.before.cpu_seconds) / self.size.seconds

    @property
    def broken(self) -> list[str]:
        """The bars that do not hold."""
        bars = {
            "writes of a status": self.most_saved <= self.size.most_saved,
            "other writes": not self.others,
            "guards that watch": self.watched == self.size.serving,
            "CPU": self.core_percent < CORE_PERCENT,
            "memory": self.after.highest < MEMORY_MEBIBYTES,
        }
        return [name for name, holds in bars.items() if not holds]


def measure(size: Size) -> Cost:
    """Bring everything up, let it settle, look."""
    with _operator(size) as (audit, operator):
        _settle(audit, size)
        before, started = usage(operator.pid), operator.starts
        time.sleep(size.seconds)
        after = usage(operator.pid)
        if operator.starts != started:
            raise RuntimeError(f"the operator died meanwhile: {operator.log.read_text()[-2000:]}")
        return Cost(size, audit.news(), _watched(), before, after)


def _watched() -> int:
    """How many guards have compared what serves with the baseline, as the operator's metrics tell."""
    with urllib.request.urlopen(f"http://{_LISTEN}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return sum(line.startswith("specdeploy_serving_speed_ratio{") for line in lines)


@contextmanager
def _operator(size: Size) -> Iterator[tuple[AuditLog, LocalOperator]]:
    state = Path(tempfile.gettempdir()) / "specdeploy-bench"
    with (
        tempfile.TemporaryDirectory() as folder,
        dev_cluster(state, "--control-plane-only", f"--port-base={PORT_BASE}") as cluster,
        fleet.engine(),
    ):
        install_crd(cluster)
        kubectl = fresh_namespace(cluster)
        audit = AuditLog(state / "logs" / "audit.log")
        fleet.apply(kubectl, size.objects, replicas=REPLICAS, window_seconds=size.window_seconds)
        fleet.promote(kubectl, range(1, size.serving + 1))
        operator = LocalOperator(cluster.kubeconfig, kubectl.namespace, Path(folder), _LISTEN)
        try:
            fleet.make_ready(kubectl, size.objects - size.pending, replicas=REPLICAS)
            yield audit, operator
        finally:
            operator.close()


def _settle(audit: AuditLog, size: Size) -> None:
    """Until every guard has compared once (an engine is no evidence before its first 50 requests), and the
    operator has written nothing for longer than a window takes. Fails after thirty windows."""
    if writes(audit.news()).total() < size.objects:
        raise RuntimeError("the audit log does not show what the operator wrote to set the fleet up")
    end = time.monotonic() + 30 * size.window_seconds
    while time.monotonic() < end:
        time.sleep(1.2 * size.window_seconds)
        if not writes(audit.news()) and _watched() == size.serving:
            return
    raise RuntimeError("the operator never came to rest")


def table(cost: Cost) -> str:
    """The figures beside their bars."""
    size, quiet = cost.size, cost.after
    reads = sum(n for call, n in cost.calls.items() if not call.writes)
    rows = (
        ("writes of one status", f"{cost.most_saved}", f"<= {size.most_saved}"),
        ("the same, an hour", f"{cost.an_hour:.1f}", ""),
        ("other writes", f"{cost.others.total()}", "0"),
        ("guards that watch", f"{cost.watched}", f"{size.serving}"),
        ("CPU, % of a core", f"{cost.core_percent:.2f}", f"< {CORE_PERCENT:.0f}"),
        ("memory, MiB", f"{quiet.resident:.0f} (highest {quiet.highest:.0f})", f"< {MEMORY_MEBIBYTES:.0f}"),
        ("reads a minute", f"{60 * reads / size.seconds:.0f}", ""),
    )
    head = (
        f"{size.objects} settled SpecDeployments, {REPLICAS} pods each ({size.serving} served by a drafter "
        f"beside a baseline pod, {size.pending} without a node), windows of {size.window_seconds} s, "
        f"watched for {size.seconds:.0f} s"
    )
    lines = [f"{name:<21} {figure:<22} {bar}" for name, figure, bar in (("", "measured", "bar"), *rows)]
    return "\n".join([head, "", *lines])


def main() -> int:
    """Print the table; 1 if a bar is broken."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.idle", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0, help="how long to look")
    chosen = parser.parse_args()
    cost = measure(Size(seconds=chosen.seconds))
    sys.stdout.write(table(cost) + os.linesep)
    if cost.broken:
        sys.stdout.write(f"not as it should be: {', '.join(cost.broken)}; written: {cost.others}{os.linesep}")
    return 1 if cost.broken else 0


if __name__ == "__main__":
    sys.exit(main())
