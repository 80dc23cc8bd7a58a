"""Shipped scenarios, run for a test."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml

from specdeploy.simulation.reading import read_scenario, shipped
from specdeploy.simulation.record import Run
from specdeploy.simulation.run import Simulation


def run_shipped(name: str, **update: Any) -> Run:
    """A shipped scenario with some of its fields changed."""
    scenario, spec = read_scenario(shipped()[name].read_text(encoding="utf-8"), f"{name}.yaml")
    return Simulation(scenario.model_copy(update=update), spec).run()


@cache
def run_seed(name: str, seed: int) -> Run:
    """A shipped scenario under a seed; run once for all tests."""
    return run_shipped(name, seed=seed)


def run_of(raw: Mapping[str, Any]) -> Run:
    """A scenario written in a test."""
    scenario, spec = read_scenario(yaml.safe_dump(dict(raw)), "test.yaml")
    return Simulation(scenario, spec).run()


SMALL: dict[str, Any] = {
    "name": "small",
    "description": "for tests",
    "start": "09:00",
    "duration": "1h",
    "spec": {
        "model": "org/target",
        "replicas": 4,
        "drafters": [{"name": "fast", "method": "ngram", "numSpeculativeTokens": 3}],
    },
    "traffic": {"requestsPerSecond": 8, "outputTokens": {"mean": 500}, "noise": 0.0},
    "target": {"fixedMs": 10, "perRequestMs": 0.1, "loadSeconds": 60},
    "drafters": {"fast": {"cost": {"steps": 1.5}, "acceptance": {"tau": 2.25}}},
}
