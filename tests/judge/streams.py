"""Streams of windows with a known truth, for everything that judges them: one trial after another.

Two kinds. `Stream`: log speeds as AR(1) noise around a true ratio, cheap, with the troubles of real windows
(a shared demand shock, stragglers, heavy tails, missing windows, a young pod, another share of the load).
`Played`: two arms of the toy engine (tests.judge.engines), where speed falls with the batch, requests queue
and clients wait for answers.
"""

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from specdeploy.judge import BASELINE, TRIAL, PodWindow, Window
from tests.judge.engines import Engine, Pod, play, steady, worth

SECONDS = 60.0
SPEED = 50.0
DECODE_TOKENS = 24000.0
FIRST_TOKENS = 60.0


def ar1(
    rng: random.Random, sd: float, phi: float, draw: Callable[[], float] | None = None
) -> Iterator[float]:
    """A stationary AR(1) stream; `draw` gives its innovations with an sd of 1, normal ones unless given."""
    draw = draw or (lambda: rng.gauss(0, 1))
    value = sd * draw()
    fresh = sd * math.sqrt(1 - phi * phi)
    while True:
        yield value
        value = phi * value + fresh * draw()


def student_t3(rng: random.Random) -> Callable[[], float]:
    """Draws from Student's t with 3 degrees of freedom, scaled to an sd of 1."""

    def draw() -> float:
        chi_square = sum(rng.gauss(0, 1) ** 2 for _ in range(3))
        return rng.gauss(0, 1) / math.sqrt(max(chi_square, 1e-9))

    return draw


@dataclass(frozen=True)
class Stream:
    """One pod an arm; the trial is `ratio` times as fast. Shares are of windows.

    `sd` and `phi`: noise of each arm's log speed; `pod_sd`: a constant offset of each pod; `shock`: sd of
    what demand does to both arms at once; `heavy`: innovations with the tails of t3. `straggling`: windows in
    which the trial's pod runs at 0.6x; `missing`: windows without one of the arms. `young`: the share of its
    speed that the trial lacks at first, fading over 30 windows. `few`: requests in a window, Poisson; else 60
    of 400 tokens. `under`: the trial's tokens and requests as multiples of the baseline's.
    """

    ratio: float = 1.0
    windows: int = 240
    sd: float = 0.05
    phi: float = 0.3
    pod_sd: float = 0.0
    shock: float = 0.10
    heavy: bool = False
    straggling: float = 0.0
    missing: float = 0.0
    young: float = 0.0
    few: float | None = None
    under: float = 1.0

    def trial(self, rng: random.Random) -> Iterator[Window]:
        """The windows of one trial."""
        draw = student_t3(rng) if self.heavy else None
        noise = [ar1(rng, self.sd, self.phi, draw) for _ in (BASELINE, TRIAL)]
        shock = ar1(rng, self.shock, 0.9)
        offsets = [rng.gauss(0, self.pod_sd) for _ in (BASELINE, TRIAL)]
        for index in range(self.windows):
            common = next(shock)
            slow = common + offsets[0] + next(noise[0])
            fast = common + offsets[1] + next(noise[1]) + math.log(self.ratio) + self._trouble(rng, index)
            arms = {BASELINE: (self._pod(rng, slow, 1.0),), TRIAL: (self._pod(rng, fast, self.under),)}
            if self.missing and rng.random() < self.missing:
                del arms[rng.choice((BASELINE, TRIAL))]
            yield Window(index, SECONDS, arms)

    def _trouble(self, rng: random.Random, index: int) -> float:
        """What is wrong with the trial's log speed in this window, beside noise."""
        if self.straggling and rng.random() < self.straggling:
            return math.log(0.6)
        return math.log(1 - self.young) * max(0.0, 1 - index / 30) if self.young else 0.0

    def _pod(self, rng: random.Random, log_speed: float, under: float) -> PodWindow:
        first = FIRST_TOKENS if self.few is None else float(poisson(rng, self.few))
        tokens = under * first * DECODE_TOKENS / FIRST_TOKENS
        first = round(under * first)
        return PodWindow("p", SECONDS, tokens + first, first, tokens / (SPEED * math.exp(log_speed)))


def poisson(rng: random.Random, mean: float) -> int:
    """A Poisson number, by the gaps between arrivals."""
    count, time = 0, rng.expovariate(1.0)
    while time < mean:
        count += 1
        time += rng.expovariate(1.0)
    return count


@dataclass(frozen=True)
class Played:
    """Two arms of the toy engine, a pod each, at a mean batch of `batch` on the baseline.

    `ratio`: what the drafter is worth at every batch. `share`: the trial's arrivals as a multiple of the
    baseline's. `slots`: the trial's; `clients`: pinned to each pod, instead of open arrivals. `content`: sd
    of the noise of each arm's log speed, from one window to the next.
    """

    ratio: float = 1.0
    windows: int = 120
    batch: float = 10.0
    share: float = 1.0
    slots: int = 256
    clients: int = 0
    content: float = 0.03
    engine: Engine = field(default_factory=Engine)

    def trial(self, rng: random.Random) -> Iterator[Window]:
        """The windows of one trial."""
        drafting = Engine(slots=self.slots, drafter=worth(self.ratio))
        arms = {BASELINE: [self._pod(rng, self.engine)], TRIAL: [self._pod(rng, drafting)]}
        rate = self.engine.rate_for(self.batch)
        yield from play(arms, steady(rate), self.windows, shares={TRIAL: self.share})

    def _pod(self, rng: random.Random, engine: Engine) -> Pod:
        own = random.Random(rng.random())
        return Pod(engine, own, noise=ar1(own, self.content, 0.3), clients=self.clients)
