"""PURE. Windows -> evidence -> verdict: is a drafter faster than no drafter, on this traffic?

start() a trial, assess() each window (is it evidence, should it be longer?), observe() it, keep the state
with pack() and unpack(), and expire() the trial when its time is up. No clock, no I/O; the state has a fixed
size.
"""

from specdeploy.judge.assess import ADVICE, Use, WindowUse, assess
from specdeploy.judge.codec import MalformedState, UnknownVersion, pack, unpack
from specdeploy.judge.settings import Settings
from specdeploy.judge.state import TrialState, forget_serving, start
from specdeploy.judge.trial import expire, observe, summary, window_ratio
from specdeploy.judge.verdict import Cause, Outcome, Ratio, Summary, Verdict
from specdeploy.judge.window import BASELINE, SERVING, TRIAL, Obstacle, PodWindow, Reason, Window

__all__ = [
    "ADVICE",
    "BASELINE",
    "SERVING",
    "TRIAL",
    "Cause",
    "MalformedState",
    "Obstacle",
    "Outcome",
    "PodWindow",
    "Ratio",
    "Reason",
    "Settings",
    "Summary",
    "TrialState",
    "UnknownVersion",
    "Use",
    "Verdict",
    "Window",
    "WindowUse",
    "assess",
    "expire",
    "forget_serving",
    "observe",
    "pack",
    "start",
    "summary",
    "unpack",
    "window_ratio",
]
