"""An operator with nothing to do, in the short form of `make bench`."""

import pytest

from benchmarks.idle import CORE_PERCENT, MEMORY_MEBIBYTES, Size, measure

# The default of trial.windowSeconds, with which the bar for the CPU is meant.
WINDOW_SECONDS = 60


@pytest.mark.slow
def test_twenty_settled_objects_cost_next_to_no_write_and_next_to_nothing() -> None:
    size = Size(window_seconds=10, seconds=30)
    cost = measure(size)
    assert not cost.others, "nothing but what is kept in memory is ever written"
    assert cost.most_saved <= size.most_saved, cost.saved
    assert cost.calls.total() > 0, "its reads are seen in the audit log, so its writes would be"
    assert cost.watched == size.serving, "the guards have moved meanwhile"
    # Windows that are six times as short make six times as many passes.
    assert cost.core_percent * size.window_seconds / WINDOW_SECONDS < CORE_PERCENT
    assert cost.after.highest < MEMORY_MEBIBYTES
