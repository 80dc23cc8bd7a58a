"""PURE. Windows -> evidence -> verdict: is a drafter faster than no drafter, on this traffic?

What the baseline taught (`Learned`) and sensitivity() come before a trial; then start() it, assess()
each window (is it evidence, should it be longer?), observe() it, keep the state with pack() and unpack(), and
expire() the trial when its time is up. No clock, no I/O; the state has a fixed size.
"""

from specdeploy.judge.assess import ADVICE, Use, WindowUse, assess
from specdeploy.judge.codec import MalformedState, UnknownVersion, pack, pack_tuple, unpack, unpack_tuple
from specdeploy.judge.decide import missing
from specdeploy.judge.learned import BANDS, Learned, band_of
from specdeploy.judge.sensitivity import Sensitivity, sensitivity, sensitivity_now
from specdeploy.judge.settings import Settings
from specdeploy.judge.state import TrialState, forget_serving, start
from specdeploy.judge.trial import expire, observe, summary, warnings, window_ratio
from specdeploy.judge.verdict import Cause, Outcome, Ratio, Summary, Verdict
from specdeploy.judge.window import BASELINE, SERVING, TRIAL, Obstacle, PodWindow, Reason, Window, newest

__all__ = [
    "ADVICE",
    "BANDS",
    "BASELINE",
    "SERVING",
    "TRIAL",
    "Cause",
    "Learned",
    "MalformedState",
    "Obstacle",
    "Outcome",
    "PodWindow",
    "Ratio",
    "Reason",
    "Sensitivity",
    "Settings",
    "Summary",
    "TrialState",
    "UnknownVersion",
    "Use",
    "Verdict",
    "Window",
    "WindowUse",
    "assess",
    "band_of",
    "expire",
    "forget_serving",
    "missing",
    "newest",
    "observe",
    "pack",
    "pack_tuple",
    "sensitivity",
    "sensitivity_now",
    "start",
    "summary",
    "unpack",
    "unpack_tuple",
    "warnings",
    "window_ratio",
]
