"""What every configuration (the baseline, each drafter) runs at a moment: workload, decay and faults taken
in.
"""

import math

from specdeploy.api.names import BASELINE
from specdeploy.api.spec import Spec
from specdeploy.simulation.engines import Pace, RoundCosts, mixed_tau, plain, round_costs
from specdeploy.simulation.load import shares
from specdeploy.simulation.pods import Running
from specdeploy.simulation.scenario import Scenario, Target

_DAY = 86400.0


class Configurations:
    """The engines of one scenario, by the name of their drafter."""

    def __init__(self, scenario: Scenario, spec: Spec) -> None:
        self._scenario = scenario
        target = scenario.target
        self._tokens = {d.name: d.num_speculative_tokens for d in spec.drafters or []}
        self._costs = {
            name: round_costs(target, scenario.drafters[name].cost, n) for name, n in self._tokens.items()
        }
        self._kept = dict.fromkeys(self._tokens, 1.0)
        self._baseline = Running(_pace(target, plain(target), 1.0, None))

    @property
    def prefill(self) -> float:
        """Seconds of an engine's time for the prompt of a request."""
        rate = self._scenario.target.prefill_tokens_per_second
        return self._scenario.traffic.prompt_tokens.mean / rate if rate else 0.0

    def lower(self, drafter: str, factor: float) -> None:
        """From now on the chances of acceptance are multiplied by `factor`."""
        self._kept[drafter] *= factor

    def at(self, moment: float, elapsed: float) -> dict[str, Running]:
        """What each configuration runs, `elapsed` seconds after the start."""
        mix = shares(self._scenario.traffic.workloads, moment)
        found = {BASELINE: self._baseline}
        for name, tokens in self._tokens.items():
            engine = self._scenario.drafters[name]
            kept = min(1.0, self._kept[name] * (1 - engine.decay_per_day) ** (elapsed / _DAY))
            tau = mixed_tau(engine, mix, tokens, kept)
            pace = _pace(self._scenario.target, self._costs[name], tau, engine.slots)
            found[name] = Running(pace, tokens, engine.sticky)
        return found


def _pace(target: Target, cost: RoundCosts, tau: float, slots: int | None) -> Pace:
    captured = target.captured
    return Pace(
        cost,
        tau,
        target.slots if slots is None else slots,
        math.inf if captured is None else captured.tokens,
        1.0 if captured is None else captured.factor,
    )
