"""`python -m benchmarks.week`: a week of a simulated fleet under different policies. About four minutes.

All policies meet the same requests and the same luck. Two figures, relative to a fleet without speculation:

speed       decode tokens per request-second, waiting included (specdeploy.simulation.fleet says why): all
            tokens over all request-seconds, so that slow hours, which hold requests long, weigh more
throughput  the tokens that the fleet would have given with as many requests in flight as the fleet without
            speculation had in each window: speed at equal concurrency, as published ratios are measured

The rules of others get the same candidates at the same times, one pod for the one on trial, and pods that
load, drain and are slow at first as long as the operator's; their fleets, too, move pod by pod. They hold no
pod back and look no more once a rollout has ended: what they promote stays until they promote another one. A
drafter that is always on is so from the beginning, even where it is listed later; the oracle waits.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.decisions.rules import OTHERS, Decision, Rule
from specdeploy.api.names import BASELINE
from specdeploy.api.spec import Spec
from specdeploy.judge import BASELINE as BASELINE_ARM
from specdeploy.judge import TRIAL, PodWindow, Window
from specdeploy.simulation.configurations import Configurations
from specdeploy.simulation.fleet import OPERATOR, ORACLE, Account, total
from specdeploy.simulation.load import Demand
from specdeploy.simulation.pods import Conditions, Engine, window_of
from specdeploy.simulation.reading import read_scenario, shipped
from specdeploy.simulation.record import MIDNIGHT, Run
from specdeploy.simulation.report import clock, settled
from specdeploy.simulation.run import Simulation
from specdeploy.simulation.scenario import Scenario

_HOUR = 3600.0
_TRIAL_WINDOWS = 240
FLOOR, OF_ORACLE = 0.99, 0.97


@dataclass(frozen=True)
class Lived:
    """What a policy did in each window: when it ended (seconds since the epoch), and what requests got."""

    name: str
    laps: tuple[tuple[float, Account], ...]

    def speed(self) -> float:
        """Over everything."""
        return total(account for _, account in self.laps).speed

    def tokens(self) -> float:
        return total(account for _, account in self.laps).tokens

    def throughput(self, usual: "Lived") -> float:
        """Tokens with the requests in flight that `usual` had in the same windows."""
        pairs = zip(self.laps, usual.laps, strict=True)
        return math.fsum(ours.speed * theirs.seconds for (_, ours), (_, theirs) in pairs)

    def hourly(self) -> dict[float, float]:
        """Beginning of each hour -> speed in it."""
        sums: dict[float, Account] = {}
        for end, account in self.laps:
            hour = (math.ceil(end / _HOUR) - 1) * _HOUR
            sums[hour] = sums.get(hour, Account()).add(account)
        return {hour: account.speed for hour, account in sums.items()}


@dataclass
class _Pod:
    """A place's engine: what it runs, and when it was or will be ready (seconds since the start)."""

    engine: Engine
    name: str = BASELINE
    ready_at: float = 0.0


class Ruled:
    """A fleet in which a rule decides: each candidate in turn on the first pod, until the rule has spoken."""

    def __init__(self, scenario: Scenario, spec: Spec, rule: Callable[[], Rule]) -> None:
        self._scenario, self._spec, self._rule = scenario, spec, rule
        self._demand = Demand(scenario.traffic, scenario.noise, spec.replicas, scenario.seed)
        self._configurations = Configurations(scenario, spec)
        self._pods = [_Pod(Engine(place)) for place in self._demand.places]
        self._listed = [(at, _names(raw)) for at, raw in scenario.specs()]
        self._waiting: list[str] = []
        self._seen: set[str] = set()
        self._stable, self._trial, self._judge = BASELINE, "", rule()
        self._windows = 0

    def run(self) -> Iterator[tuple[float, Account]]:
        """Window by window, to the end of the scenario."""
        length = float(self._spec.trial.window_seconds)
        start = MIDNIGHT + self._scenario.start
        for index in range(int(self._scenario.duration // length)):
            elapsed = index * length
            self._follow(elapsed)
            self._move(elapsed)
            account = self._serve(start + elapsed, elapsed, length)
            self._decide(index, elapsed + length, length)
            yield start + elapsed + length, account
            self._demand.turn()

    def _follow(self, elapsed: float) -> None:
        """Queue what is listed by now, and try the next one if none is on trial."""
        while self._listed and self._listed[0][0] <= elapsed:
            fresh = [name for name in self._listed.pop(0)[1] if name not in self._seen]
            self._seen.update(fresh)
            self._waiting += fresh
        if not self._trial and self._waiting and self._settled(elapsed):
            self._trial, self._judge, self._windows = self._waiting.pop(0), self._rule(), 0

    def _settled(self, elapsed: float) -> bool:
        return all(pod.name == self._stable and pod.ready_at <= elapsed for pod in self._pods)

    def _move(self, elapsed: float) -> None:
        """One pod at a time, from a fleet that is whole, to what it should run."""
        wanted = [self._trial or self._stable, *[self._stable] * (len(self._pods) - 1)]
        wrong = [pod for pod, name in zip(self._pods, wanted, strict=True) if pod.name != name]
        if wrong and all(pod.ready_at <= elapsed for pod in self._pods):
            target, pod = self._scenario.target, wrong[0]
            pod.name = wanted[self._pods.index(pod)]
            pod.ready_at = elapsed + target.drain_seconds + target.load_seconds
            pod.engine.restart()

    def _serve(self, moment: float, elapsed: float, length: float) -> Account:
        running = self._configurations.at(moment, elapsed)
        now = Conditions(self._scenario.traffic, self._scenario.noise, self._configurations.prefill)
        ready = [pod for pod in self._pods if pod.ready_at <= elapsed]
        rate, account = self._demand.rate(moment, elapsed) / max(1, len(ready)), Account()
        for pod in ready:
            age = elapsed - pod.ready_at
            done = pod.engine.serve(running[pod.name], now, rate=rate, seconds=length, age=age)
            account = account.add(Account(done.tokens, done.decode_seconds, done.waiting_seconds))
        return account

    def _decide(self, index: int, elapsed: float, length: float) -> None:
        arms: dict[str, tuple[PodWindow, ...]] = {}
        for i, pod in enumerate(self._pods):
            meter = pod.engine.read()
            arm = TRIAL if pod.name == self._trial else BASELINE_ARM
            if meter.seconds:
                age = elapsed - pod.ready_at
                seen = window_of(
                    f"p{i}", meter, self._scenario.traffic, finished=pod.engine.finished, age=age
                )
                arms[arm] = (*arms.get(arm, ()), seen)
        if self._trial and TRIAL in arms:
            self._ask(Window(index, length, arms))

    def _ask(self, window: Window) -> None:
        self._windows += 1
        found = self._judge.look(window)
        if found is None and self._windows >= _TRIAL_WINDOWS:
            found = self._judge.end()
        if found is not None:
            self._stable = self._trial if found is Decision.PROMOTED else self._stable
            self._trial = ""


def _names(raw: Mapping[str, Any]) -> list[str]:
    return [drafter["name"] for drafter in raw["drafters"]]


def policies(run: Run, names: Iterable[str] = OTHERS) -> list[Lived]:
    """What every policy did in the windows that count: fleets of one configuration, the operator, the rules
    of others, the oracle."""
    counted = settled(run)
    first = counted[0].end if counted else math.inf
    lived = [
        Lived(name, tuple((lap.end, lap.accounts[name]) for lap in counted)) for name in run.laps[-1].accounts
    ]
    for name in names:
        laps = Ruled(run.scenario, run.spec, OTHERS[name]).run()
        lived.append(Lived(name, tuple(lap for lap in laps if lap[0] >= first)))
    return lived


def table(lived: Sequence[Lived]) -> str:
    """Throughput and speed with their shares of the oracle's, tokens completed, and hours below the floor."""
    by_name = {each.name: each for each in lived}
    usual, best = by_name[BASELINE], by_name[ORACLE]
    hourly = usual.hourly()
    given = {each.name: each.throughput(usual) for each in lived}
    lines = [
        f"{'policy':44} {'throughput':>10} {'oracle':>7} {'speed':>8} {'oracle':>7} {'tokens':>7}  "
        f"hours < {FLOOR:g}  worst hour"
    ]
    for each in sorted(lived, key=Lived.speed):
        ratios = {hour: speed / hourly[hour] for hour, speed in each.hourly().items() if hourly.get(hour)}
        worst = min(ratios, key=ratios.__getitem__)
        below = sum(ratio < FLOOR for ratio in ratios.values())
        tokens = given[each.name]
        shares = f"{tokens / given[BASELINE]:9.3f}x {tokens / given[ORACLE]:7.1%}"
        shares += f" {each.speed() / usual.speed():7.3f}x {each.speed() / best.speed():7.1%}"
        rest = f"{each.tokens() / usual.tokens():7.2%}  {below:12}  {ratios[worst]:.3f}x"
        lines.append(f"{_called(each.name):44} {shares} {rest} {clock(worst, days=True)}")
    return "\n".join(lines)


def _called(name: str) -> str:
    known = {BASELINE: "no speculation", ORACLE: "oracle: the best configuration of each window"}
    return known.get(name, name if name in OTHERS or name == OPERATOR else f"{name} always on")


def below(run: Run) -> list[str]:
    """Each hour in which the operator's fleet was below the floor, and what happened in it."""
    found = {each.name: each.hourly() for each in policies(run, ())}
    lines = []
    for hour, speed in found[OPERATOR].items():
        ratio = speed / found[BASELINE][hour] if found[BASELINE][hour] else 1.0
        if ratio < FLOOR:
            within = (change for change in run.changes if 0 <= change.at - hour < _HOUR)
            words = dict.fromkeys(change.text[:100] or change.moving for change in within)
            lines.append(f"  {clock(hour, days=True)} {ratio:.3f}x: {'; '.join(words) or 'nothing happened'}")
    return lines


def simulate(name: str, *, seed: int, days: float | None = None, replicas: int | None = None) -> Run:
    """A shipped scenario under the operator; its traffic grows with `replicas`."""
    scenario, spec = read_scenario(shipped()[name].read_text(encoding="utf-8"), name)
    update: dict[str, object] = {"seed": seed}
    if days is not None:
        update["duration"] = days * 86400.0
    if replicas is not None:
        points = scenario.traffic.requests_per_second
        scaled = tuple((at, rate * replicas / spec.replicas) for at, rate in points)
        update["traffic"] = scenario.traffic.model_copy(update={"requests_per_second": scaled})
        update["spec"] = {**scenario.spec, "replicas": replicas}
        spec = spec.model_copy(update={"replicas": replicas})
    return Simulation(scenario.model_copy(update=update), spec).run()


def standing(lived: Sequence[Lived]) -> list[str]:
    """Where the operator is behind a rule of others, and what that rule pays for it."""
    by_name = {each.name: each for each in lived}
    usual, ours = by_name[BASELINE], by_name[OPERATOR]
    ahead = [name for name in OTHERS if name in by_name]
    better = [name for name in ahead if by_name[name].throughput(usual) > ours.throughput(usual)]
    if not better:
        return [f"{OPERATOR} is ahead of every rule in throughput."]
    return [
        f"{OPERATOR} is behind in throughput: {'; '.join(better)}.",
        "They decide within minutes, go on all pods without a soak, hold no baseline pod back and never",
        "look again. Where every listed drafter is a gain in the end, that is cheaper; --scenario rough-week",
        "has drafters that are not, and `python -m benchmarks.decisions` tells how often each rule is wrong.",
    ]


def main() -> None:
    """Prints the table of each seed, and why hours fall below the floor."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--scenario", default="week")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--days", type=float)
    parser.add_argument("--replicas", type=int)
    asked = parser.parse_args()
    began = time.monotonic()
    run = simulate(asked.scenario, seed=asked.seed, days=asked.days, replicas=asked.replicas)
    print(f"  simulated in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    lived = policies(run)
    print(table(lived))
    hours = below(run)
    print(f"\nHours of {OPERATOR} below {FLOOR:g} of no speculation: {len(hours)}")
    print("\n".join(hours))
    print("\n".join(["", *standing(lived)]))
    print("\nVerdicts: " + ", ".join(f"{v.drafter} {v.outcome.value}" for v in run.verdicts))


if __name__ == "__main__":
    main()
