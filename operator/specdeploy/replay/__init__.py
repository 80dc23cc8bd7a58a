"""Recorded windows, judged without a cluster: JSON Lines in, one verdict a trial out.

lines (bytes -> one recorded line) -> recording (one trial's lines -> the judge; ending: what it says where
the lines end too early) -> trials (all trials, told
apart, within bounds) -> stream (a whole file) -> report (a verdict as JSON). What is kept is the state of the
trials that have no verdict yet, and the names of those that have.
"""

from specdeploy.replay.lines import LONGEST_LINE, BrokenLine, Line, parse, read_lines, unknown_keys
from specdeploy.replay.report import as_json
from specdeploy.replay.stream import MOST_KEYS, Refused, UnknownKey, judge_stream
from specdeploy.replay.trials import MOST_OPEN, MOST_TRIALS, Ended, Trials

__all__ = [
    "LONGEST_LINE",
    "MOST_KEYS",
    "MOST_OPEN",
    "MOST_TRIALS",
    "BrokenLine",
    "Ended",
    "Line",
    "Refused",
    "Trials",
    "UnknownKey",
    "as_json",
    "judge_stream",
    "parse",
    "read_lines",
    "unknown_keys",
]
