"""The loop: time goes on, engines serve, the cluster follows, and the operator looks when it would look.

As the operator's work queue does, a pass is made when an object has changed or when the last one asked for
it; `advance` and `plan` are the operator's own.
"""

from collections.abc import Callable
from dataclasses import replace

from specdeploy.api.findings import Reading, read_spec
from specdeploy.api.names import BASELINE
from specdeploy.api.spec import Spec
from specdeploy.api.status import Status
from specdeploy.judge import Window
from specdeploy.rollout import Event, Observation, advance, plan
from specdeploy.simulation.cluster import Cluster, Times
from specdeploy.simulation.configurations import Configurations
from specdeploy.simulation.fleet import OPERATOR, Account, Yardsticks
from specdeploy.simulation.load import Demand
from specdeploy.simulation.measuring import Measurer
from specdeploy.simulation.pods import Conditions
from specdeploy.simulation.record import MIDNIGHT, Change, Lap, Run, estimate_of
from specdeploy.simulation.scenario import Fault, Scenario

_IMAGE = "vllm/vllm-openai-rocm:v0.33.0"
# From a change in the cluster to the pass that it causes: the watch and the queue, in seconds.
_REACTION = 1.0


class Simulation:
    """One scenario, run once."""

    def __init__(self, scenario: Scenario, spec: Spec) -> None:
        self.scenario = scenario
        self._edits = [(at, read_spec(raw)) for at, raw in scenario.specs()]
        self._reading: Reading = self._edits.pop(0)[1]
        self._generation = 1
        self._window_seconds = float(spec.trial.window_seconds)
        self._now = MIDNIGHT + scenario.start
        self._end = self._now + scenario.duration
        self._demand = Demand(scenario.traffic, scenario.noise, max(1, spec.replicas), scenario.seed)
        self._configurations = Configurations(scenario, spec)
        places = self._demand.places
        self._yardsticks = Yardsticks(spec.names(), places)
        self._cluster = Cluster("simulated", places, _times(scenario, spec))
        self._measurer = Measurer(scenario.traffic, spec)
        self._faults = sorted(scenario.faults, key=lambda fault: fault.at)
        self._run = Run(scenario, spec, self._now)
        self._status = Status()
        self._wake: float | None = self._now
        self._check: float | None = None
        self._slow: list[tuple[float, float]] = []
        self._spent: dict[str, Account] = {}
        self._refused = 0.0
        self._shown: tuple[object, ...] = ()
        self._known: set[tuple[str, str]] = set()

    def run(self, tell: Callable[[float], None] | None = None) -> Run:
        """From the first pass to the end. `tell` gets the share that is done, after every window."""
        self._window_end = (self._now // self._window_seconds + 1) * self._window_seconds
        while self._now < self._end:
            moment = self._next_moment()
            self._serve(moment - self._now)
            self._now = moment
            touched = self._strike() | self._edit()
            changed = self._cluster.settle(self._now) or touched
            if self._run.complete is None and len(self._cluster.serving()) >= self._run.spec.replicas:
                self._run.complete = self._now
                self._yardsticks.begin(self._cluster.queues())
            window_over = self._now >= self._window_end
            if window_over or changed or self._due():
                self._look(window_over)
            if window_over:
                self._turn()
                if tell is not None:
                    tell((self._now - self._run.start) / self.scenario.duration)
        self._run.status = self._status
        return self._run

    # -- time -----------------------------------------------------------------------------------------

    def _next_moment(self) -> float:
        moments = [self._window_end, self._cluster.next_change(), self._end]
        moments += [m for m in (self._wake, self._check) if m is not None]
        moments += [self._run.start + fault.at for fault in self._faults[:1]]
        moments += [self._run.start + at for at, _ in self._edits[:1]]
        moments += [until for until, _ in self._slow]
        return max(self._now, min(moments))

    def _due(self) -> bool:
        return any(m is not None and m <= self._now for m in (self._wake, self._check))

    @property
    def _elapsed(self) -> float:
        return self._now - self._run.start

    def _turn(self) -> None:
        """The next window begins."""
        self._window_end += self._window_seconds
        self._demand.turn()
        self._spent, self._refused = {}, 0.0

    # -- engines --------------------------------------------------------------------------------------

    def _serve(self, seconds: float) -> None:
        """Everybody serves what comes until the next moment."""
        if seconds <= 0:
            return
        rate = self._demand.rate(self._now, self._elapsed)
        running = self._configurations.at(self._now, self._elapsed)
        gain = min((f for until, f in self._slow if until > self._now), default=1.0)
        now = Conditions(self.scenario.traffic, self.scenario.noise, self._configurations.prefill, gain)
        age = max(0.0, self._now - (self._run.complete or self._now))
        listed = self._reading.spec.names() if self._reading.spec else ()
        accounts = self._yardsticks.serve(running, now, listed, rate=rate, seconds=seconds, age=age)
        accounts[OPERATOR] = Account()
        pods = self._cluster.serving()
        if not pods:
            self._refused += rate * seconds
        for pod in pods:
            if pod.engine is None:
                continue
            done = pod.engine.serve(
                running[pod.drafter],
                now,
                rate=rate / len(pods),
                seconds=seconds,
                age=self._now - pod.ready_at,
            )
            accounts[OPERATOR] = accounts[OPERATOR].add(
                Account(done.tokens, done.decode_seconds, done.waiting_seconds)
            )
        for name, account in accounts.items():
            self._spent[name] = self._spent.get(name, Account()).add(account)

    # -- what others do -------------------------------------------------------------------------------

    def _edit(self) -> bool:
        """Let the user change the spec, if it is time."""
        if not self._edits or self._run.start + self._edits[0][0] > self._now:
            return False
        self._reading = self._edits.pop(0)[1]
        self._generation += 1
        self._note("edit: the spec is changed")
        return True

    def _strike(self) -> bool:
        """Let the faults happen that are due. One that needs a pod which is not there waits for it."""
        self._slow = [each for each in self._slow if each[0] > self._now]
        struck = False
        for fault in list(self._faults):
            if self._run.start + fault.at > self._now:
                break
            if self._happens(fault):
                self._faults.remove(fault)
                struck = True
        return struck

    def _happens(self, fault: Fault) -> bool:
        until = self._now + fault.lasting
        if fault.kind in ("podLost", "crash"):
            return self._pod_fails(fault)
        if fault.kind == "queue":
            self._burst(fault.requests)
        elif fault.kind == "metricsGap":
            self._measurer.blind_until = until
        elif fault.kind == "acceptance":
            self._configurations.lower(fault.drafter or "", fault.factor)
        else:
            self._slow.append((until, fault.factor))
        self._note(f"fault: {fault.told}")
        return True

    def _pod_fails(self, fault: Fault) -> bool:
        if fault.kind == "crash":
            pod = self._cluster.crash(fault.drafter or "", self._now)
        else:
            pod = self._cluster.lose(self._template(fault.arm))
        if pod is None or pod.engine is None:
            return False
        self._spread(pod.engine.restart())
        self._note(f"fault: {fault.told} ({pod.name})")
        return True

    def _template(self, arm: str) -> str | None:
        status = self._status
        found = {"baseline": status.baseline, "serving": status.serving, "trial": status.trial}[arm]
        return found.template if found is not None else None

    def _burst(self, requests: float) -> None:
        self._yardsticks.burst(requests)
        self._spread(requests)

    def _spread(self, requests: float) -> None:
        """Clients send again what a pod has not answered: the others get it."""
        engines = [p.engine for p in self._cluster.serving() if p.engine is not None]
        for engine in engines:
            engine.queue += requests / len(engines)

    # -- the operator ---------------------------------------------------------------------------------

    def _look(self, window_over: bool) -> None:
        """One pass: observe, decide, store, apply."""
        seen, window = self._observation(), None
        if window_over:
            window = self._measurer.close(self._cluster.pods, seen, self._status)
            seen = replace(seen, window=window)
        step = advance(seen, self._status)
        self._status = step.status
        self._run.passes += 1
        todo = plan(seen, self._status)
        leaving = {p.name for p in self._cluster.pods if p.gone_at is not None}
        moved = self._cluster.apply(todo) | self._cluster.settle(self._now)
        for pod in self._cluster.pods:
            if pod.gone_at is not None and pod.name not in leaving and pod.engine is not None:
                self._spread(pod.engine.restart())
        self._wake = self._now + _REACTION if moved else None
        self._check = None if step.next_check is None else max(step.next_check, self._now + _REACTION)
        self._tell(step.events)
        if window_over:
            self._lap(window)

    def _observation(self) -> Observation:
        later = (self._now // self._window_seconds + 1) * self._window_seconds
        return Observation(
            now=self._now,
            name="simulated",
            namespace="simulation",
            uid="simulated",
            generation=self._generation,
            created=self._run.start,
            reading=self._reading,
            deployments=tuple(self._cluster.deployments.values()),
            pods=tuple(pod.seen() for pod in self._cluster.pods),
            window_end=later if self._cluster.serving() else None,
            default_image=_IMAGE,
            unreadable=self._measurer.unreadable(self._cluster.pods, self._now),
        )

    # -- what is written down ---------------------------------------------------------------------------

    def _tell(self, events: tuple[Event, ...]) -> None:
        for event in events:
            self._note(f"{event.reason}: {event.message}")
        if self._stands() != self._shown:
            self._note("")
        for verdict in reversed(self._status.verdicts or []):
            if (verdict.revision, verdict.time) not in self._known:
                self._known.add((verdict.revision, verdict.time))
                self._run.verdicts.append(verdict)

    def _stands(self) -> tuple[object, ...]:
        return self._serving, self._trial, tuple(sorted(self._counts().items()))

    def _note(self, text: str) -> None:
        self._shown = self._stands()
        self._run.changes.append(Change(self._now, self._serving, self._trial, self._counts(), text))

    @property
    def _serving(self) -> str:
        return self._status.serving.name if self._status.serving else "-"

    @property
    def _trial(self) -> str:
        trial = self._status.trial
        return f"{trial.drafter} {trial.state}" if trial else "-"

    def _counts(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for pod in self._cluster.serving():
            counts[pod.drafter] = counts.get(pod.drafter, 0) + 1
        return counts

    def _lap(self, window: Window | None) -> None:
        self._run.laps.append(
            Lap(
                end=self._now,
                rate=self._demand.rate(
                    self._now - self._window_seconds, self._elapsed - self._window_seconds
                ),
                serving=self._serving,
                trial=self._trial,
                pods=self._counts(),
                refused=self._refused,
                window=window,
                estimate=estimate_of(self._status.trial),
                accounts=self._spent,
            )
        )


def _times(scenario: Scenario, spec: Spec) -> dict[str, Times]:
    target = scenario.target
    times = {BASELINE: Times(target.load_seconds, target.drain_seconds)}
    for name in spec.names():
        load = scenario.drafters[name].load_seconds
        times[name] = Times(target.load_seconds if load is None else load, target.drain_seconds)
    return times
