"""What a wrong scenario file is told: file, line, field, why, and what to do."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from specdeploy.simulation.reading import ScenarioError, read_scenario, shipped
from tests.simulation.scenarios import SMALL

TEXT = yaml.safe_dump(SMALL, sort_keys=False)


def _with(path: str, value: Any) -> str:
    raw = yaml.safe_load(TEXT)
    part = raw
    *parents, last = path.split(".")
    for name in parents:
        part = part.setdefault(name, {})
    part[last] = value
    return yaml.safe_dump(raw, sort_keys=False)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "x.yaml:1: file: is empty or no mapping; write a scenario"),
        ("a: [1", "x.yaml:1: file: is no YAML"),
        (_with("traffic.requestsPerSecond", -1), "traffic.requestsPerSecond[0][1]: input should be greater"),
        (_with("traffic.requestsPerSecond", {"9am": 1}), "'9am' is no time of day such as 08:30; correct it"),
        (_with("duration", "2 weeks"), "duration: '2 weeks' is no duration such as 90m, 6h or 1d12h"),
        (_with("duration", "5m"), "duration: input should be greater than or equal to 600"),
        (_with("seeed", 3), "seeed: extra inputs are not permitted; remove it, or correct its name"),
        (_with("target.fixedMs", float("nan")), "target.fixedMs: input should be"),
        (_with("drafters.fast.cost", {"a": 1.0}), "drafters.fast.cost: a panel needs a, b and concurrency"),
        (_with("drafters.fast.cost", {"steps": 1, "fixedMs": 1}), "drafters.fast.cost: give one of"),
        (_with("drafters.fast.acceptance", {"q1": 0.9, "tau": 2}), "give either q1 and tail, or tau"),
        (_with("drafters.fast.acceptance", {"chat": {"tau": 2}}), "traffic.workloads has no such kind"),
        (_with("drafters.slow", SMALL["drafters"]["fast"]), "drafters.slow: spec.drafters does not list it"),
        (_with("drafters", {}), "drafters: says nothing of fast, which spec.drafters lists"),
        (_with("faults", [{"at": "5m", "kind": "queue"}]), "a fault of kind queue needs requests"),
        (_with("faults", [{"at": "5m", "kind": "flood"}]), "faults[0].kind: input should be 'podLost'"),
        (_with("faults", [{"at": "1m", "kind": "crash", "drafter": "x"}]), "faults[0].drafter: x is not"),
        (_with("spec.replicas", "many"), "spec.replicas: "),
        (_with("spec.trial", {"windowSecs": 60}), "spec.trial.windowSecs: this field is not known"),
        (_with("drafters.fast.cost", {"a": 1, "b": 0.01, "concurrency": 90}), "drafters.fast.cost: b is"),
        (_with("edits", [{"at": "5m", "spec": {"replicas": 9}}]), "edits: change replicas; leave it"),
        (_with("edits", [{"at": "5m", "spec": {"modle": "x"}}]), "edits[0].spec.modle: this field"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_told_where_why_and_what_to_do(text: str, told: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        read_scenario(text, "x.yaml")
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [("target.fixedMs", 0, "  fixedMs: 0"), ("drafters.fast.cost", {"a": 1.0}, "    cost:")],
)
def test_the_line_of_a_wrong_field_is_told(path: str, value: Any, line: str) -> None:
    text = _with(path, value)
    with pytest.raises(ScenarioError) as caught:
        read_scenario(text, "x.yaml")
    assert text.splitlines()[caught.value.findings[0].line - 1] == line


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_scenario_is_read_and_says_where_its_figures_come_from(name: str) -> None:
    scenario, spec = read_scenario(shipped()[name].read_text(encoding="utf-8"), name)
    assert scenario.name == name
    assert scenario.source
    assert spec.drafters


def test_the_scenario_in_the_documentation_is_read() -> None:
    page = (Path(__file__).parents[2] / "docs" / "simulation.md").read_text(encoding="utf-8")
    block = page.partition("```yaml\n")[2].partition("```")[0]
    spec = {"model": "x", "drafters": [{"name": "fast", "method": "ngram", "numSpeculativeTokens": 3}]}
    scenario, _ = read_scenario(block.replace("{...}", yaml.safe_dump(spec, default_flow_style=True)), "doc")
    assert scenario.drafters["fast"].slots == 64
    assert len(scenario.edits) == len(scenario.faults) == 1
