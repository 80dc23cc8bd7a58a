"""A toy continuous-batching engine for the judge's tests: windows with the counters that vLLM would count.

All requests of a pod decode at one speed, which falls with the batch, so the engine moves from event to event
(an arrival, a finish) and never loops over tokens or steps: a window with 100 requests costs about 0.25 ms.
test_engines.py holds it against a simulation of each step.
"""

import math
import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from specdeploy.judge import PodWindow, Window

SECONDS = 60.0
DAY = 1440


@dataclass(frozen=True)
class Drafter:
    """`tau` tokens a request and step on average, from `depth` drafted ones. A draft costs `fixed` and
    `per_token` times the fixed part of a plain step; each drafted token is verified like a further
    request."""

    depth: int = 0
    tau: float = 1.0
    fixed: float = 0.0
    per_token: float = 0.0


def worth(ratio: float) -> Drafter:
    """A drafter that is worth `ratio` at every batch."""
    return Drafter(tau=ratio)


@dataclass(frozen=True)
class Engine:
    """A step takes `step_seconds` and `request_seconds` for each request in it; an admission stalls all for
    `prefill_seconds`. Output lengths are exponential with a mean of `output_tokens`, the first included."""

    step_seconds: float = 0.012
    request_seconds: float = 0.0006
    slots: int = 256
    prefill_seconds: float = 0.0
    output_tokens: float = 250.0
    prompt_tokens: float = 500.0
    drafter: Drafter = Drafter()

    def step(self, batch: float) -> float:
        """Seconds of one step, draft and verification included."""
        drafter = self.drafter
        draft = self.step_seconds * (drafter.fixed + drafter.per_token * drafter.depth)
        return self.step_seconds + draft + self.request_seconds * batch * (1 + drafter.depth)

    def speed(self, batch: float) -> float:
        """Decode tokens per request-decode-second at this batch."""
        return self.drafter.tau / self.step(batch)

    def elasticity(self, batch: float) -> float:
        """d ln speed / d ln batch, in (-1, 0]."""
        return -self.request_seconds * batch * (1 + self.drafter.depth) / self.step(batch)

    def rate_for(self, batch: float) -> float:
        """Requests per second that keep this mean batch, for a batch well below the slots."""
        return batch * self.speed(batch) / self.output_tokens


@dataclass
class Pod:
    """One engine with its queue. Arrivals are Poisson, or come from `clients` pinned to this pod who think
    for `think_seconds` on average between two requests. `noise` gives, window by window, what content adds
    to the log of the speed; `offset` is the pod's own constant part of it."""

    engine: Engine
    rng: random.Random
    name: str = "p"
    noise: Iterator[float] | None = None
    offset: float = 0.0
    clients: int = 0
    think_seconds: float = 5.0
    # From here on: its state, and counters since its start.
    now: float = 0.0
    until: float = 0.0
    progress: float = 0.0
    running: list[tuple[float, float]] = field(default_factory=list)
    queue: deque[float] = field(default_factory=deque)
    arrivals: list[float] = field(default_factory=list)
    held: float = 0.0
    decoded: float = 0.0
    started: int = 0
    ttft: float = 0.0
    finished: int = 0
    finished_tokens: float = 0.0

    def __post_init__(self) -> None:
        for _ in range(self.clients):
            self._think()

    def run(self, rate: float, content: float = 0.0, seconds: float = SECONDS) -> PodWindow:
        """One window with `rate` requests per second (without pinned clients); `content` is what all arms
        share of the log of the speed."""
        before = self._counters()
        own = next(self.noise) if self.noise is not None else 0.0
        self.until += seconds
        if not self.clients:
            # Poisson arrivals have no memory: drawn anew where the rate may change.
            self.arrivals = [self.now + self.rng.expovariate(rate)] if rate > 0 else []
        self._work(math.exp(content + own + self.offset), rate)
        return self._window(before, seconds)

    def _work(self, factor: float, rate: float) -> None:
        """From event to event until the end of the window. Written flat: the time of the tests goes here."""
        engine, running, arrivals, until = self.engine, self.running, self.arrivals, self.until
        plain = engine.step(0.0) / engine.drafter.tau / factor
        slope = engine.step(1.0) / engine.drafter.tau / factor - plain
        while True:
            batch = len(running)
            token = plain + slope * batch  # seconds a token
            now = self.now
            finish = now + (running[0][0] - self.progress) * token if batch else math.inf
            arrival = arrivals[0] if arrivals else math.inf
            following = min(finish, arrival, until)
            if following > now:
                self.now = following
                self.progress += (following - now) / token
                self.held += batch * (following - now)
                self.decoded += batch * (following - now) / token
            if following == until:
                return
            if following == finish:
                self._finish()
            else:
                self._arrive(rate)

    def _arrive(self, rate: float) -> None:
        self.queue.append(heappop(self.arrivals))
        if not self.clients:
            self.arrivals.append(self.now + self.rng.expovariate(rate))
        if len(self.running) < self.engine.slots:
            self._admit()

    def _admit(self) -> None:
        stall = self.engine.prefill_seconds
        self.now += stall
        self.held += stall * len(self.running)
        self.ttft += self.now - self.queue.popleft()
        self.started += 1
        length = self.rng.expovariate(1.0) * self.engine.output_tokens
        heappush(self.running, (self.progress + length, length))

    def _finish(self) -> None:
        end, length = heappop(self.running)
        # Rounding must not leave the request a hair short of its end.
        self.progress = max(self.progress, end)
        self.finished += 1
        self.finished_tokens += 1 + length
        if self.clients:
            self._think()
        if self.queue:
            self._admit()

    def _think(self) -> None:
        heappush(self.arrivals, self.now + self.rng.expovariate(1.0) * self.think_seconds)

    def _counters(self) -> tuple[float, ...]:
        """In the order of _window. Tokens and steps are counted whole."""
        return (
            math.floor(self.decoded) + self.started,
            self.started,
            self.held,
            math.floor(self.decoded / self.engine.drafter.tau),
            self.ttft,
            self.finished,
            math.floor(self.finished_tokens),
        )

    def _window(self, before: tuple[float, ...], seconds: float) -> PodWindow:
        difference = [new - old for new, old in zip(self._counters(), before, strict=True)]
        tokens, started, held, steps, ttft, finished, finished_tokens = difference
        drafter = self.engine.drafter
        drafts = steps if drafter.depth else 0
        return PodWindow(
            self.name,
            seconds,
            tokens,
            started,
            held,
            requests_waiting=len(self.queue),
            requests_running=len(self.running),
            drafts=drafts,
            draft_tokens=drafts * drafter.depth,
            accepted_tokens=math.floor(drafts * (drafter.tau - 1)),
            prompt_tokens=started * self.engine.prompt_tokens,
            ttft_seconds=ttft,
            finished_requests=finished,
            finished_tokens=finished_tokens,
        )


def steady(rate: float) -> Callable[[int], float]:
    """The same number of requests per second and pod in each window."""
    return lambda _: rate


def day(low: float, high: float, first: int = 0) -> Callable[[int], float]:
    """Requests per second and pod over a day of 60 s windows: `low` at window -`first`, `high` half a day
    later, a sine of the log in between."""
    middle, reach = math.log(low * high) / 2, math.log(high / low) / 2
    return lambda index: math.exp(middle - reach * math.cos(2 * math.pi * (index + first) / DAY))


def play(
    arms: Mapping[str, Sequence[Pod]],
    demand: Callable[[int], float],
    count: int,
    *,
    first: int = 0,
    shares: Mapping[str, float] | None = None,
    content: Iterator[float] | None = None,
    settle: int = 5,
) -> Iterator[Window]:
    """`count` windows of 60 s, indices from `first` on, after `settle` unseen ones in which the pods fill.

    `demand` gives the requests per second and pod by index, `shares` an arm's multiple of it (1 unless
    given), `content` what all arms share of the log of the speed, window by window. Pods keep their state:
    play() may go on with the same pods, settle=0.
    """
    for index in range(first - settle, first + count):
        common = next(content) if content is not None else 0.0
        window = {
            name: tuple(pod.run(demand(index) * (shares or {}).get(name, 1.0), common) for pod in pods)
            for name, pods in arms.items()
        }
        if index >= first:
            yield Window(index, SECONDS, window)
