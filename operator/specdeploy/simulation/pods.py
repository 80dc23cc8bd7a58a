"""One pod's engine in time: its queue, its counters since they were last read, and how they read as a
window.
"""

import math
from dataclasses import dataclass, field

from specdeploy.judge import PodWindow
from specdeploy.simulation.engines import Pace, Served, Work, serve
from specdeploy.simulation.load import Place
from specdeploy.simulation.scenario import Noise, Traffic

# What clients ask for at most, as a multiple of what they get on average.
_ASKED = 2.0


@dataclass(frozen=True)
class Conditions:
    """What all engines share in a window: `traffic`, `noise`, seconds of `prefill` a request, and the `gain`
    of the moment (1: as always)."""

    traffic: Traffic
    noise: Noise
    prefill: float
    gain: float = 1.0


@dataclass(frozen=True)
class Running:
    """What an engine runs now: its pace, drafted tokens (0: none), and how sticky its acceptance is."""

    pace: Pace
    drafted: int = 0
    sticky: float = 0.0


def work_of(
    running: Running, now: Conditions, place: Place, *, rate: float, seconds: float, age: float
) -> Work:
    """What comes to one engine: its share `rate` of the demand, blurred by its place's luck. `age`: seconds
    since ready."""
    expected = rate * seconds
    arrived = max(0.0, expected + math.sqrt(expected) * place.arrivals)
    few = max(1.0, arrived)
    output = now.traffic.output_tokens
    length = output.mean * max(0.1, 1 + output.spread * place.lengths / math.sqrt(few))
    slow = now.noise.young_slowness * max(0.0, 1 - age / now.noise.young_seconds) if age < 1e9 else 0.0
    luck = place.log_speed + running.sticky * place.sticky / math.sqrt(few)
    gain = now.gain * (1 - slow) * math.exp(luck)
    return Work(seconds, arrived / seconds, length, now.prefill, gain, now.traffic.patience)


@dataclass
class Meter:
    """Counters of one engine since they were last read; `running` and `queue` are gauges."""

    seconds: float = 0.0
    first_tokens: float = 0.0
    tokens: float = 0.0
    decode_seconds: float = 0.0
    first_seconds: float = 0.0
    drafts: float = 0.0
    draft_tokens: float = 0.0
    running: float = 0.0
    queue: float = 0.0
    given_up: float = 0.0

    def count(self, running: Running, work: Work, done: Served) -> None:
        """Add what an engine did."""
        self.seconds += work.seconds
        self.first_tokens += done.admitted
        self.tokens += done.tokens
        self.decode_seconds += done.decode_seconds
        self.first_seconds += done.waiting_seconds + done.admitted * work.prefill
        rounds = done.tokens / running.pace.tau
        self.drafts += rounds if running.drafted else 0.0
        self.draft_tokens += rounds * running.drafted
        self.running, self.queue = done.batch, done.queue
        self.given_up += done.given_up


@dataclass
class Engine:
    """A pod's engine. `finished` counts requests since ready. `tainted`: it restarted since the last
    reading.
    """

    place: Place
    queue: float = 0.0
    finished: float = 0.0
    tainted: bool = False
    meter: Meter = field(default_factory=Meter)

    def serve(self, running: Running, now: Conditions, *, rate: float, seconds: float, age: float) -> Served:
        """Serve its share of the demand for some time."""
        work = work_of(running, now, self.place, rate=rate, seconds=seconds, age=age)
        done = serve(running.pace, work, self.queue)
        self.queue = done.queue
        self.finished += done.admitted
        self.meter.count(running, work, done)
        return done

    def restart(self) -> float:
        """Its counters begin anew; returns the requests it held in its queue."""
        dropped, self.queue, self.finished = self.queue, 0.0, 0.0
        self.meter, self.tainted = Meter(), True
        return dropped

    def read(self) -> Meter:
        """Hand the counters out and begin anew."""
        read, self.meter = self.meter, Meter()
        self.tainted = False
        return read


def restarted(pod: str, seconds: float, age: float) -> PodWindow:
    """A pod whose engine restarted within the window: no counts can be told."""
    return PodWindow(pod, seconds, 0.0, 0.0, 0.0, ready_seconds=age, restarts=1.0)


def window_of(pod: str, meter: Meter, traffic: Traffic, *, finished: float, age: float) -> PodWindow:
    """The counters of one pod as vLLM gives them: whole requests and tokens."""
    first, tokens = float(round(meter.first_tokens)), float(round(meter.tokens))
    prompt = round(meter.first_tokens * traffic.prompt_tokens.mean)
    drafts, drafted = float(round(meter.drafts)), float(round(meter.draft_tokens))
    return PodWindow(
        pod=pod,
        seconds=meter.seconds,
        generation_tokens=tokens + first,
        first_tokens=first,
        itl_seconds=meter.decode_seconds,
        requests_waiting=float(round(meter.queue)),
        requests_running=float(round(meter.running)),
        finished_since_ready=finished,
        ready_seconds=age,
        restarts=0.0,
        drafts=drafts if drafted else None,
        draft_tokens=drafted if drafted else None,
        accepted_tokens=max(0.0, tokens - drafts) if drafted else None,
        prompt_tokens=float(prompt),
        ttft_seconds=meter.first_seconds,
        finished_requests=first + round(meter.given_up),
        finished_tokens=tokens + first,
        max_tokens=first * _ASKED * traffic.output_tokens.mean,
        aborted_requests=float(round(meter.given_up)),
        errored_requests=0.0,
        preemptions=0.0,
    )
