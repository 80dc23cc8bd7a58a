"""Every example is read without a finding and can be run as it is."""

import pytest

from specdeploy.api.findings import read_spec
from specdeploy.engine.checks import check_drafters, check_spec, on_drafters, on_spec
from specdeploy.engine.setting import setting_of
from tests.api.examples import EXAMPLES, FILES


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_has_no_findings(example: str) -> None:
    reading = read_spec(EXAMPLES[example]["spec"])
    assert reading.spec is not None
    assert (reading.findings, reading.drafters, reading.unknown) == ((), (), ())
    assert check_spec(reading.spec) == ()
    assert check_drafters(reading.spec) == {}


# Left open in every example: revisions, which move with the hub, and other drafters worth a trial.
LEFT_OPEN = {"SD807", "SD808"}


@pytest.mark.parametrize("example", [name for name in EXAMPLES if not name.startswith("minimal.yaml")])
def test_an_example_follows_our_own_advice(example: str) -> None:
    spec = read_spec(EXAMPLES[example]["spec"]).spec
    assert spec is not None
    setting = setting_of(spec)
    found = [*on_spec(setting), *(each for some in on_drafters(setting).values() for each in some)]
    assert {each.code: str(each) for each in found if each.code not in LEFT_OPEN} == {}


def test_names_are_not_used_twice_so_that_all_can_be_applied_together() -> None:
    names = [body["metadata"]["name"] for body in EXAMPLES.values()]
    assert len(names) == len(set(names))
    assert len(FILES) >= 3


def test_each_method_with_a_checkpoint_of_its_own_kind_has_an_example() -> None:
    bodies = [body for name, body in EXAMPLES.items() if name.startswith("five-methods.yaml")]
    methods = {(d["method"], "model" in d) for body in bodies for d in body["spec"]["drafters"]}
    wanted = {("mtp", False), ("mtp", True), ("eagle3", True), ("dflash", True), ("dspark", True)}
    assert methods == wanted
    assert len(bodies) == len(wanted)


def test_the_smallest_example_is_short() -> None:
    [body] = [body for name, body in EXAMPLES.items() if name.startswith("minimal.yaml")]
    assert set(body["spec"]) == {"model", "replicas", "accelerator", "drafters"}
