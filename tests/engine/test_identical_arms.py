"""Every arm gets the same switches: what differs between the arms of an example is the drafter alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from specdeploy.api.findings import read_spec
from specdeploy.api.spec import Spec
from specdeploy.engine.speculative import speculative_config
from tests.engine.specs import EVERYTHING, SMALLEST
from tests.manifests.rendering import arms, deployment

EXAMPLES = Path(__file__).parents[2] / "examples"
FLAG = "--speculative-config"
# What an arm is called; engines do not see it.
NAMES = tuple(f"specdeploy.dev/{name}" for name in ("drafter", "revision", "shape", "template"))


def documents() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "smallest", SMALLEST
    yield "everything", EVERYTHING
    for path in sorted(EXAMPLES.rglob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            yield f"{path.stem}-{document['metadata']['name']}", document["spec"]


def cases() -> list[Any]:
    """Each drafter of each example."""
    found = []
    for name, body in documents():
        spec = read_spec(body).spec
        assert spec is not None, name
        for index, drafter in enumerate(spec.drafters or [], start=1):
            found.append(pytest.param(spec, index, id=f"{name}-{drafter.name}"))
    return found


def differences(one: Any, other: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Paths at which two objects differ; lists are compared as a whole."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in {*one, *other}:
            yield from differences(one.get(key), other.get(key), (*path, key))
    elif one != other:
        yield path


def pod(spec: Spec, arm: int) -> dict[str, Any]:
    """The pod's template, its engine beside the other containers."""
    template: dict[str, Any] = deployment(spec, arm)["spec"]["template"]
    engine, *others = template["spec"]["containers"]
    inside = {key: value for key, value in template["spec"].items() if key != "containers"}
    return {"metadata": template["metadata"], "spec": inside, "engine": engine, "others": others}


@pytest.mark.parametrize(("spec", "arm"), cases())
def test_an_arm_differs_from_the_baseline_in_its_speculative_config_alone(spec: Spec, arm: int) -> None:
    baseline, trial = pod(spec, 0), pod(spec, arm)
    found = set(differences(baseline, trial))
    assert {path for path in found if path[-1] not in NAMES} == {("engine", "args")}
    *common, flag, config = trial["engine"]["args"]
    assert common == baseline["engine"]["args"]
    drafter = arms(spec)[arm].config
    assert drafter is not None
    assert (flag, json.loads(config)) == (FLAG, speculative_config(drafter))


@pytest.mark.parametrize(("spec", "arm"), cases())
def test_deployments_of_two_arms_differ_in_their_names_and_their_pods_alone(spec: Spec, arm: int) -> None:
    found = set(differences(deployment(spec, 0), deployment(spec, arm)))
    outside = {path for path in found if path[:2] != ("spec", "template")}
    assert {path for path in outside if path[-1] not in NAMES} == {("metadata", "name")}
