"""The guard's memory of what serves: fixed in size, immutable, continued by every re-check.

trial -> guard_state -> guard. Starts with what the trial has proven and keeps no window.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from specdeploy.judge.bands import NO_BANDS, Bands
from specdeploy.judge.codec import LARGEST_INVERSE, MalformedState, pack_tuple, unpack_tuple
from specdeploy.judge.comparison import Comparison, Evidence
from specdeploy.judge.detector import LARGEST_LOG, Detector, Noise, known_noise
from specdeploy.judge.drift import Cusum
from specdeploy.judge.guards import Guards
from specdeploy.judge.interval import Corrections, Estimate, Frozen, estimate
from specdeploy.judge.learned import Learned
from specdeploy.judge.noise import Sums

VERSION = 4
TWO_SIDED_95 = 1.96
SMALLEST_WEIGHT = 1e-3


class Terms(NamedTuple):
    """What is fixed at the promotion; the names are those of the trial's Frozen, Learned and Corrections.

    `untold` is the share of the pods' variance that the trial leaves open, `run_windows` how many windows
    should lie between two re-checks that are brought forward for nothing.
    """

    alpha: float
    phi: float
    weighed: int
    weight: float
    weight_se: float
    surplus: float
    pod_sd: float
    pod_freedom: int
    untold: float
    batch_low: float
    batch_high: float
    run_windows: float

    def kappa(self, inverse_pods: float) -> float:
        """What pods of the same kind may differ by, however many the windows, in log units; `inverse_pods` is
        1/m + 1/m' of both arms."""
        return TWO_SIDED_95 * self.pod_sd * math.sqrt(self.untold * inverse_pods)

    @property
    def frozen(self) -> Frozen:
        """What the rules of a trial ask for."""
        learned = Learned(
            weighed=self.weighed,
            weight=self.weight,
            weight_se=self.weight_se,
            batch_low=self.batch_low,
            batch_high=self.batch_high,
        )
        return Frozen(
            alpha=self.alpha,
            promotion_alpha=self.alpha,
            pod_sd=self.pod_sd,
            pod_freedom=self.pod_freedom,
            phi=self.phi,
            disaster_sd=0.0,
            weight=self.weight,
            learned=learned,
        )

    def estimate(self, comparison: Comparison) -> Estimate | None:
        """A comparison's interval by the rules of a trial; None before the tenth window."""
        return estimate(comparison, self.frozen, Corrections(self.surplus, self.pod_sd, self.pod_freedom))


class Stretch(NamedTuple):
    """The comparison since the promotion, or since its newest step or re-check began: what of a trial's
    Comparison its interval is made of."""

    whole: Sums = Sums()
    last_value: float = 0.0
    last_index: int = 0
    load: float = 0.0
    batch: float = 0.0
    inverse_pods: float = 0.0

    def add(self, index: int, evidence: Evidence, batch: float) -> Stretch:
        """One window of evidence; `batch` is the baseline's mean batch per engine in it."""
        after = self.comparison.add(index, evidence, batch)
        return Stretch(
            after.whole, after.last_value, after.last_index, after.load, after.batch, after.inverse_pods
        )

    @property
    def comparison(self) -> Comparison:
        return Comparison(
            whole=self.whole,
            last_value=self.last_value,
            last_index=self.last_index,
            load=self.load,
            batch=self.batch,
            inverse_pods=self.inverse_pods,
        )


class Drift(NamedTuple):
    """The signals watched while no baseline runs, and the index of the window last learnt from."""

    acceptance: Cusum = Cusum()
    speed: Cusum = Cusum()
    last_index: int = -1


class GuardState(NamedTuple):
    """What serves, against the baseline, since its promotion.

    `load` is the running mean log ratio of decode tokens per pod-second over the `raw` windows whose speed
    was not moved to equal load; `inverse_pods` 1/m + 1/m' of the newest comparison's pods; `hour` and
    `newest` the running mean log ratio over about 60 and 10 windows. `proven` has the windows behind the
    proof in each of BANDS, the trial's included, without the surplus; `rising` has those since the evidence
    against the drafter began to rise. `guards` are those beside speed. `seen` and `compared` count windows.
    """

    terms: Terms
    detector: Detector
    load: float
    raw: int
    inverse_pods: float
    hour: float
    newest: float
    proven: Bands = NO_BANDS
    rising: Bands = NO_BANDS
    stretch: Stretch = Stretch()
    drift: Drift = Drift()
    guards: Guards = Guards()
    last_index: int = -1
    seen: int = 0
    compared: int = 0

    @property
    def penalty(self) -> float:
        """What unequal load may have taken from the log ratio of a raw window: twice the load's own, as in a
        trial."""
        return 2 * max(0.0, self.load)


def untold(comparison: Comparison, pod_sd: float, phi: float) -> float:
    """The share of the pod offset's variance that is still open after a trial, in [0, 1].

    A trial sees the drafter's effect and its pods' offset only together: mean = effect + offset + error. The
    error has E = sd^2 / n_effective; the offset is N(0, P) with P = pod_sd^2 (1/m + 1/m'); of the effect only
    the size is known, N(0, T) with T = mean^2. Given the mean, the offset has the variance
    P (T + E) / (P + T + E): a trial far above 1 tells nothing of its pods, one just above 1 and with many
    quiet windows leaves less room. The offset's own mean given the trial (a winner is on the lucky side)
    would only bring alarms forward, and is not used.
    """
    whole = comparison.whole
    if not whole.n:
        return 1.0
    pods = pod_sd * pod_sd * comparison.inverse_pods / whole.n
    seen = whole.mean**2 + whole.sd**2 / whole.effective(phi)
    return seen / (pods + seen)


def begin(comparison: Comparison, terms: Terms, guards: Guards) -> GuardState:
    """The guard of what a comparison has proven, whose windows stay behind the proof and the noise known."""
    whole = comparison.whole
    windows = max(1, whole.n)
    return GuardState(
        terms=terms,
        detector=Detector(known_noise(whole, terms.phi)),
        load=comparison.load / windows,
        raw=whole.n if comparison.load else 0,
        inverse_pods=comparison.inverse_pods / windows if whole.n else 2.0,
        hour=whole.mean,
        newest=whole.mean,
        proven=comparison.bands,
        guards=guards,
    )


def pack_guard(state: GuardState) -> str:
    """The state as ASCII text, always of the same length, under 2 KB."""
    return pack_tuple(VERSION, state)


@lru_cache(maxsize=32)  # a pass asks for the same text several times
def unpack_guard(text: str) -> GuardState:
    """The state that pack_guard gave. Raises UnknownVersion or MalformedState, nothing else."""
    state = unpack_tuple(VERSION, _TEMPLATE, text)
    parts = _sane_terms(state.terms), _sane_detector(state.detector), _sane_counts(state), state.guards.sound
    if not all(parts):
        raise MalformedState("the numbers of the guard contradict each other")
    return state


def _sane_terms(terms: Terms) -> bool:
    return (
        0 < terms.alpha < 1
        and 0 <= terms.phi < 1
        and terms.weighed in (0, 1)
        and 0 <= terms.weight < 1
        and 0 <= terms.weight_se <= 1
        and -1 <= terms.surplus <= 0
        and 0 <= terms.pod_sd <= 1
        and terms.pod_freedom >= 3
        and 0 <= terms.untold <= 1
        and terms.run_windows > 0
    )


def _sane_detector(detector: Detector) -> bool:
    noise: Noise = detector.noise
    return (
        all(0 <= log <= LARGEST_LOG + 1 for log in detector.logs)
        and min(noise.weight, noise.pairs) >= SMALLEST_WEIGHT
        and noise.squares >= 0
        and 0 <= noise.prior < 1
        and noise.row in (0, 1, 2)
    )


def _sane_counts(state: GuardState) -> bool:
    counts = [state.seen, state.compared, state.raw, *(band.n for band in (*state.proven, *state.rising))]
    whole, drift = state.stretch.whole, state.drift
    counts += [whole.n, whole.pairs, whole.n - whole.pairs]
    return (
        min(counts) >= 0
        and drift.acceptance.sound
        and drift.speed.sound
        and state.stretch.inverse_pods >= 0
        and 0 <= state.inverse_pods <= LARGEST_INVERSE
    )


_TEMPLATE = begin(Comparison(), Terms(0.0, 0.0, 0, 0.0, 0.0, 0.0, 0.0, 0, 0.0, 0.0, 0.0, 0.0), Guards())
