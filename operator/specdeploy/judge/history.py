"""What the baseline's own windows teach before a trial.

window -> arm -> history -> learned. remember() takes in every window that a baseline arm served, under a
trial or not; learn() is asked once, when a trial starts. The state has a fixed size and belongs to one
revision of the baseline.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from specdeploy.judge.arm import LARGEST_COUNTER, Arm, measure_arm, warm
from specdeploy.judge.assess import (
    FLOOR_DECODE_TOKENS,
    FLOOR_FIRST_TOKENS,
    LARGEST_SECONDS,
    UNEVEN_LOG_BATCH,
)
from specdeploy.judge.codec import MalformedState, pack_tuple, unpack_tuple
from specdeploy.judge.demand import DECAY, Demand, fit, likely, slope_of
from specdeploy.judge.learned import BANDS, Learned, band_of
from specdeploy.judge.offsets import Offsets, known_pods
from specdeploy.judge.settings import Settings
from specdeploy.judge.state import LARGEST_WEIGHT
from specdeploy.judge.window import BASELINE, LARGEST_INDEX, PodWindow, Window, newest

LEAST_COUNT = 1e-6
VERSION = 2
LARGEST_SUM = 1e12
WINDOWS_FOR_A_WEIGHT = 60
WINDOWS_FOR_NOISE = 10
WINDOWS_TO_BELIEVE = 5
RANGE_WINDOWS = 1440
DAY_SECONDS = 86400.0
LARGEST_LOG_ENGINE = math.log(1e5)
"""No engine decodes 100,000 requests at once, or so many tokens a second for one of them."""


class Range(NamedTuple):
    """The smallest and the largest mean batch of `windows` windows."""

    windows: int = 0
    low: float = 0.0
    high: float = 0.0

    def add(self, batch: float) -> Range:
        if not self.windows:
            return Range(1, batch, batch)
        return Range(self.windows + 1, min(self.low, batch), max(self.high, batch))


class History(NamedTuple):
    """The baseline so far; the default is "nothing known".

    `windows` counts all windows taken in, each meant to be `window_seconds` long; the newest was
    `last_index`. The newest `unlikely` ones in a row (5 for more) were unlike those before. With a half-life
    of 1440 windows: `demand`, `offsets`, `held` (request-decode-seconds), `started` and `finished` requests
    over `pod_windows`. The range of the batch is that of `recent` and `earlier`: the last 1440 to 2880
    windows.
    `bands` holds request-decode-seconds by BANDS, fading with time by 1/e a day.
    """

    window_seconds: float = 0.0
    last_index: int = -1
    windows: int = 0
    unlikely: int = 0
    demand: Demand = Demand()
    offsets: Offsets = Offsets()
    held: float = 0.0
    started: float = 0.0
    finished: float = 0.0
    pod_windows: float = 0.0
    recent: Range = Range()
    earlier: Range = Range()
    bands: tuple[float, ...] = (0.0,) * len(BANDS)


def remember(history: History, window: Window, settings: Settings) -> History:
    """Takes in the baseline arm of one window, its warm pods only. Never raises.

    A window that is not newer than the last one, has an obstacle, too little traffic or senseless numbers
    changes nothing (one far older means that the clock went back: windows count from there on); one that is
    unlike the earlier ones is left out unless such windows last. With another length of window in `settings`
    the history begins anew: its noise is that of a window, and its numbers count windows.
    """
    if history.window_seconds != settings.window_seconds:
        history = History(window_seconds=settings.window_seconds)
    history = history._replace(last_index=newest(history.last_index, window.index))
    usable = (
        history.last_index < window.index < LARGEST_INDEX
        and 0 < window.seconds <= LARGEST_SECONDS
        and window.obstacle is None
    )
    if not usable:
        return history
    pods = [pod for pod in window.arms.get(BASELINE, ()) if pod.ready_seconds is None or warm(pod, settings)]
    arm = measure_arm(pods)
    return _add(history, window, arm, pods) if _counts(arm) else history


def learn(history: History, settings: Settings) -> Learned:
    """What a trial that starts now may know.

    `weight` is -k / (1 - k) of the slope k of ln R over ln(tokens per pod-second): under a demand that
    clients set, speed falls by k where the engine's own curve over the batch has the elasticity -weight.
    Unknown before 60 windows, or while the sd of ln demand is below 5 %. `sd` and `phi` are 0 before 10
    windows. The pod sd starts from the one in `settings`.
    """
    residence = _mean(history.held, history.started)
    line = fit(history.demand, residence / settings.window_seconds)
    weighed = line.known and history.windows >= WINDOWS_FOR_A_WEIGHT
    noisy = history.windows >= WINDOWS_FOR_NOISE
    pod_sd, pod_freedom = known_pods(history.offsets, settings.pod_sd)
    ranges = [each for each in (history.recent, history.earlier) if each.windows]
    total = math.fsum(history.bands)
    return Learned(
        windows=history.windows,
        weighed=int(weighed),
        weight=_weight(line.slope) if weighed else 0.0,
        weight_se=line.slope_se / (1 - line.slope) ** 2 if weighed else 0.0,
        sd=line.sd if noisy else 0.0,
        phi=line.phi if noisy else 0.0,
        residence=residence,
        finished=_mean(history.finished, history.pod_windows),
        pod_sd=pod_sd,
        pod_freedom=pod_freedom,
        batch_low=min((each.low for each in ranges), default=0.0),
        batch_high=max((each.high for each in ranges), default=0.0),
        shares=_shares(history.bands, total),
    )


def _mean(total: float, count: float) -> float:
    """0 where hardly anything was counted: a millionth of an event is what a month has left of one, or a
    damaged history."""
    return total / count if count >= LEAST_COUNT else 0.0


def pack_history(history: History) -> str:
    """The history as ASCII text, always of the same length, under 1 KB."""
    return pack_tuple(VERSION, history)


@lru_cache(maxsize=32)  # a pass asks for the same text several times
def unpack_history(text: str) -> History:
    """The history that `pack_history` gave. Raises UnknownVersion or MalformedState, nothing else."""
    history = unpack_tuple(VERSION, History(), text)
    _check(history)
    return history


def _counts(arm: Arm) -> bool:
    """The floor of a window of evidence, load that is even enough for one speed, and numbers of an engine."""
    return (
        arm.pods > 0
        and arm.log_batch <= LARGEST_LOG_ENGINE
        and -LARGEST_LOG_ENGINE <= arm.log_speed <= LARGEST_LOG_ENGINE
        and arm.decode_tokens >= FLOOR_DECODE_TOKENS
        and arm.first_tokens >= FLOOR_FIRST_TOKENS
        and arm.batch_sd <= UNEVEN_LOG_BATCH
    )


def _add(history: History, window: Window, arm: Arm, pods: Sequence[PodWindow]) -> History:
    """One unlikely window is a senseless counter, which a day's memory would keep for a day: it is left out.
    After five in a row it is the world that has changed, or it was the first windows that made no sense."""
    unlikely = 0 if _likely(history, arm) else history.unlikely + 1
    if 0 < unlikely <= WINDOWS_TO_BELIEVE:
        return history._replace(unlikely=unlikely)
    if unlikely and history.windows < WINDOWS_FOR_NOISE:
        history, unlikely = History(window_seconds=history.window_seconds), 0
    busy = pods if arm.pods == len(pods) else [pod for pod in pods if measure_arm((pod,)).pods]
    held = started = finished = 0.0
    for pod in busy:
        held += pod.itl_seconds
        started += pod.first_tokens
        told = pod.finished_requests
        # As many as started where the pod does not tell.
        finished += told if told is not None and 0 <= told <= LARGEST_COUNTER else pod.first_tokens
    held = min(held, LARGEST_SUM)
    batch = math.exp(arm.log_batch)
    recent, earlier = history.recent, history.earlier
    if recent.windows >= RANGE_WINDOWS:
        recent, earlier = Range(), recent
    gap = window.index - history.last_index
    adjacent = gap == 1 and history.windows > 0
    return History(
        window_seconds=history.window_seconds,
        last_index=window.index,
        windows=history.windows + 1,
        unlikely=min(unlikely, WINDOWS_TO_BELIEVE),
        demand=history.demand.add(arm.log_rate, arm.log_speed, adjacent=adjacent),
        offsets=_add_offsets(history, window.index, arm, busy),
        held=DECAY * history.held + held,
        started=DECAY * history.started + min(started, LARGEST_SUM),
        finished=DECAY * history.finished + min(finished, LARGEST_SUM),
        pod_windows=DECAY * history.pod_windows + len(busy),
        recent=recent.add(batch),
        earlier=earlier,
        bands=_add_band(history.bands, math.exp(-gap * window.seconds / DAY_SECONDS), batch, held),
    )


def _likely(history: History, arm: Arm) -> bool:
    noisy = history.windows >= WINDOWS_FOR_NOISE - 1
    first = history.demand.weight <= 0
    return first or likely(history.demand, arm.log_rate, arm.log_speed, noisy=noisy)


def _add_offsets(history: History, index: int, arm: Arm, busy: Sequence[PodWindow]) -> Offsets:
    """Deviations from the arm's mean at equal load: a pod that gets more requests is not a slower pod."""
    if len(busy) < 2:
        return history.offsets
    known = history.windows >= WINDOWS_FOR_A_WEIGHT
    weight = _weight(slope_of(history.demand) or 0.0) if known else 0.0
    rest = 1 - weight
    middle = rest * arm.log_speed + weight * arm.log_rate
    log = math.log
    deviations = [
        (
            pod.pod,
            log(pod.generation_tokens - pod.first_tokens)
            - rest * log(pod.itl_seconds)
            - weight * log(pod.seconds)
            - middle,
        )
        for pod in busy
    ]
    return history.offsets.add(index, deviations)


def _weight(slope: float) -> float:
    return min(LARGEST_WEIGHT, -slope / (1 - slope))


def _add_band(bands: tuple[float, ...], decay: float, batch: float, held: float) -> tuple[float, ...]:
    faded = [decay * each for each in bands]
    faded[band_of(batch)] += held
    return tuple(faded)


def _shares(bands: tuple[float, ...], total: float) -> tuple[float, float, float, float]:
    if total <= 0:
        return Learned().shares
    first, second, third, last = (each / total for each in bands)
    return first, second, third, last


def _check(history: History) -> None:
    """Refuses numbers from which no sane figure could be learned."""
    offsets, demand = history.offsets, history.demand
    never_negative = [
        *(
            history.window_seconds,
            history.windows,
            history.unlikely,
            history.held,
            history.started,
            history.finished,
            history.pod_windows,
        ),
        *(*history.bands, *history.recent, *history.earlier),
        *(demand.weight, demand.squared, demand.pairs),
        *offsets[:4],
        offsets.pairs,
        *(number for pod in offsets.pods for number in (pod.key, pod.windows)),
    ]
    if min(never_negative) < 0 or not -1 <= history.last_index < LARGEST_INDEX:
        raise MalformedState("the numbers of the history contradict each other")
