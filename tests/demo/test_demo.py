"""What the demo applies must be what the operator takes; what it shows must be what kubectl shows."""

import json
from pathlib import Path
from string import Template
from typing import ClassVar

import pytest
import yaml

from demo.__main__ import LOADS, LOSERS, SCENARIO, WINNERS, windows_until_verdict
from demo.install import NAMESPACE, VLLM_ARGS, operator
from demo.place import Place
from demo.watch import line_of, protection
from specdeploy.api.findings import read_spec
from specdeploy.engine.checks import check_drafters, check_spec
from specdeploy.simulation.reading import shipped

DEMO = Path(__file__).parents[2] / "demo"
VALUES = {
    "ENGINE_IMAGE": "localhost/x:dev",
    "ENGINE_ARGS": json.dumps(VLLM_ARGS),
    "VENV": "/v",
    "MODELS": "/m",
}


@pytest.mark.parametrize("engine", ["sim", "vllm"])
def test_the_applied_object_is_valid_and_lists_a_loser_and_a_winner(engine: str) -> None:
    body = yaml.safe_load(Template((DEMO / f"{engine}.yaml").read_text()).substitute(VALUES))
    reading = read_spec(body["spec"])
    assert reading.spec is not None
    assert (reading.findings, reading.drafters, reading.unknown) == ((), (), ())
    assert check_spec(reading.spec) == ()
    assert check_drafters(reading.spec) == {}
    assert reading.spec.names() == [LOSERS[engine], WINNERS[engine]]
    assert reading.spec.served_name == LOADS[engine]["model"]


class Noted(Place):
    """A cluster with nothing in it, on which nothing is run; `installed` is what helm was asked for."""

    installed: ClassVar[list[str]] = []

    def kubectl(self, *words: str, stdin: str | None = None, check: bool = True, quiet: bool = True) -> str:
        return '{"items": []}' if "deployments" in words else ""

    def helm(self, *words: str, check: bool = True, quiet: bool = False) -> str:
        self.installed[:] = words
        return ""


@pytest.mark.parametrize("context", [None, "mine"])
def test_its_operator_watches_its_own_namespace_and_fights_with_nobody(context: str | None) -> None:
    """One that was left on the development cluster wrote the statuses of the tests that ran after it."""
    operator(Noted({}, context, "localhost/specdeploy:dev", "", ""))
    assert f"watchNamespaces={{{NAMESPACE}}}" in Noted.installed


def test_a_line_has_the_columns_in_order() -> None:
    status = {
        "capacity": {"summary": "3/4"},
        "serving": {"name": "baseline", "summary": "1.00x"},
        "trial": {"summary": "dflash Measuring 3/30"},
        "conditions": [{"type": "Ready", "reason": "Serving"}],
    }
    assert line_of(status).split() == ["3/4", "baseline", "dflash", "Measuring", "3/30", "1.00x", "Serving"]
    assert line_of({}) == ""


def test_windows_are_counted_from_the_beginning_of_measurement_to_the_verdict() -> None:
    spec = {"trial": {"windowSeconds": 5}}
    verdict = {"firstWindowTime": "2026-01-01T00:00:00Z", "time": "2026-01-01T00:00:12Z"}
    assert windows_until_verdict(verdict, spec) == pytest.approx(2.4)
    assert windows_until_verdict({"time": "2026-01-01T00:00:12Z"}, spec) == 0.0


def test_what_serves_is_protected_as_its_condition_says() -> None:
    condition = {"type": "Protected", "status": "True", "reason": "Holdback"}
    assert protection({"conditions": [{"type": "Ready"}, condition]}) == condition
    assert protection({}) == {}


def test_the_scenario_that_people_are_pointed_to_is_shipped() -> None:
    assert SCENARIO in shipped()
