"""The week's policies: what a rule decides is what its fleet runs, and all fleets meet the same week."""

import pytest
import yaml

from benchmarks.decisions.rules import OTHERS, Decision, Rule
from benchmarks.week import Ruled, policies, table
from specdeploy.judge import Window
from specdeploy.simulation.fleet import total
from specdeploy.simulation.reading import read_scenario
from specdeploy.simulation.run import Simulation
from tests.simulation.scenarios import SMALL

SCENARIO, SPEC = read_scenario(yaml.safe_dump({**SMALL, "noise": {"youngSlowness": 0.0}}), "small.yaml")


class Says(Rule):
    """A rule that has its mind made up after three windows."""

    def __init__(self, decision: Decision) -> None:
        self._decision, self._seen = decision, 0

    def look(self, window: Window) -> Decision | None:
        self._seen += 1
        return self._decision if self._seen == 3 else None

    def end(self) -> Decision:
        return self._decision


@pytest.mark.parametrize(
    ("decision", "speed"), [(Decision.PROMOTED, "fast"), (Decision.ROLLED_BACK, "baseline")]
)
def test_a_fleet_ends_with_what_its_rule_said(decision: Decision, speed: str) -> None:
    run = Simulation(SCENARIO, SPEC).run()
    ruled = [account for _, account in Ruled(SCENARIO, SPEC, lambda: Says(decision)).run()]
    last = total(lap.accounts[speed] for lap in run.laps[-20:])
    assert total(ruled[-20:]).speed == pytest.approx(last.speed, rel=0.01)


def test_every_policy_has_its_line_and_completes_the_same_tokens() -> None:
    lived = policies(Simulation(SCENARIO, SPEC).run())
    assert {each.name for each in lived} == {"baseline", "fast", "SpecDeploy", "oracle", *OTHERS}
    assert len(table(lived).splitlines()) == 1 + len(lived)
    usual = next(each.tokens() for each in lived if each.name == "baseline")
    assert all(each.tokens() == pytest.approx(usual, rel=0.01) for each in lived)
