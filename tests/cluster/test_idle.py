"""An operator with nothing to do, in the short form of `make bench`."""

import pytest

from benchmarks.idle import CORE_PERCENT, MEMORY_MEBIBYTES, Size, measure

# The default of trial.windowSeconds, with which the bar for the CPU is meant.
WINDOW_SECONDS = 60


@pytest.mark.slow
def test_twenty_settled_objects_cost_no_write_and_next_to_nothing() -> None:
    size = Size(window_seconds=10, seconds=30)
    cost = measure(size)
    assert cost.writes == 0, cost.verbs
    assert cost.verbs.total() > 0, "its reads are seen in the audit log, so its writes would be"
    # Windows that are six times as short make six times as many passes.
    assert cost.core_percent * size.window_seconds / WINDOW_SECONDS < CORE_PERCENT
    assert cost.after.highest < MEMORY_MEBIBYTES
