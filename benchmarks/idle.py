"""`make bench`: what an operator costs that has nothing to do.

An API server of its own -> the operator as a process -> a settled fleet -> five quiet minutes -> a table; the
exit code is 1 if a bar is broken.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import fleet
from benchmarks.cost import AuditLog, Usage, usage, writes
from tests.cluster.kube import Kubectl, dev_cluster, fresh_namespace, install_crd
from tests.cluster.live.local import LocalOperator

PORT_BASE = 17200
CORE_PERCENT = 2.0
MEMORY_MEBIBYTES = 150.0
REPLICAS = 2


@dataclass(frozen=True)
class Size:
    """The fleet, and how long it is watched. `pending`: how many of it have pods that no node takes."""

    objects: int = 20
    pending: int = 5
    window_seconds: int = 60
    seconds: float = 300.0


@dataclass(frozen=True)
class Cost:
    """What the quiet time cost."""

    size: Size
    verbs: Counter[str]
    before: Usage
    after: Usage

    @property
    def writes(self) -> int:
        return writes(self.verbs)

    @property
    def core_percent(self) -> float:
        """CPU time in per cent of one core."""
        return 100 * (self.after.cpu_seconds - self.before.cpu_seconds) / self.size.seconds

    @property
    def broken(self) -> list[str]:
        """The bars that do not hold."""
        bars = {
            "writes": self.writes == 0,
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
        return Cost(size, audit.news(), before, after)


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
        operator = LocalOperator(cluster.kubeconfig, kubectl.namespace, Path(folder))
        try:
            _fill(kubectl, size)
            yield audit, operator
        finally:
            operator.close()


def _fill(kubectl: Kubectl, size: Size) -> None:
    fleet.apply(kubectl, size.objects, replicas=REPLICAS, window_seconds=size.window_seconds)
    fleet.make_ready(kubectl, size.objects - size.pending, replicas=REPLICAS)


def _settle(audit: AuditLog, size: Size) -> None:
    """Until the operator has written nothing for longer than a window takes. Fails after ten windows."""
    if writes(audit.news()) < size.objects:
        raise RuntimeError("the audit log does not show what the operator wrote to set the fleet up")
    end = time.monotonic() + 10 * size.window_seconds
    while time.monotonic() < end:
        time.sleep(1.2 * size.window_seconds)
        if writes(audit.news()) == 0:
            return
    raise RuntimeError("the operator never came to rest")


def table(cost: Cost) -> str:
    """The figures beside their bars."""
    size, quiet = cost.size, cost.after
    reads = cost.verbs.total() - cost.writes
    rows = (
        ("writes", f"{cost.writes}", "0"),
        ("CPU, % of a core", f"{cost.core_percent:.2f}", f"< {CORE_PERCENT:.0f}"),
        ("memory, MiB", f"{quiet.resident:.0f} (highest {quiet.highest:.0f})", f"< {MEMORY_MEBIBYTES:.0f}"),
        ("reads a minute", f"{60 * reads / size.seconds:.0f}", ""),
    )
    head = (
        f"{size.objects} settled SpecDeployments, {REPLICAS} pods each ({size.pending} without a node)"
        f", windows of {size.window_seconds} s, watched for {size.seconds:.0f} s"
    )
    lines = [f"{name:<18} {figure:<22} {bar}" for name, figure, bar in (("", "measured", "bar"), *rows)]
    return "\n".join([head, "", *lines])


def main() -> int:
    """Print the table; 1 if a bar is broken."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.idle", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0, help="how long to look")
    chosen = parser.parse_args()
    cost = measure(Size(seconds=chosen.seconds))
    sys.stdout.write(table(cost) + os.linesep)
    if cost.broken:
        sys.stdout.write(f"too much: {', '.join(cost.broken)}{os.linesep}")
    return 1 if cost.broken else 0


if __name__ == "__main__":
    sys.exit(main())
