"""An operator with nothing to do, in the short form of `make bench`."""

from pathlib import Path

import pytest

from benchmarks.idle import MEMORY_MEBIBYTES, Size, measure
from tests.cli.test_startup import BARE, seconds

# What `make bench` allows, 2 % of a core at the default of trial.windowSeconds, which makes a sixth of the
# passes of this test: starts of a bare program, for the machine may be a slow one.
MOST_STARTS = 20


@pytest.mark.slow
def test_twenty_settled_objects_cost_next_to_no_write_and_next_to_nothing(tmp_path: Path) -> None:
    size = Size(window_seconds=10, seconds=30)
    cost = measure(size)
    assert not cost.others, "nothing but what is kept in memory is ever written"
    assert cost.most_saved <= size.most_saved, cost.saved
    assert cost.calls.total() > 0, "its reads are seen in the audit log, so its writes would be"
    assert cost.watched == size.serving, "the guards have moved meanwhile"
    start = min(seconds("-c", BARE, pycache=tmp_path) for _ in range(4))
    assert cost.after.cpu_seconds - cost.before.cpu_seconds < MOST_STARTS * start
    assert cost.after.highest < MEMORY_MEBIBYTES
