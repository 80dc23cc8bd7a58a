"""Where an arm's behaviour comes from, and what is refused."""

import pytest

from vllm_sim.drafters import BASELINE, METHODS, arm_knobs, split_checkpoint
from vllm_sim.knobs import KnobError, Knobs
from vllm_sim.speculative import Method

TABLE = '{"baseline": {"base_ms": 9}, "ngram": {"q1": 0.2}, "org/slow": {"d0": 2, "fail": "hang"}}'


@pytest.mark.parametrize(
    ("method", "model", "environ", "name", "value"),
    [
        ("eagle3", None, {}, "q1", 0.8),
        ("eagle3", None, {"VLLM_SIM_Q1": "0.4"}, "q1", 0.4),
        (BASELINE, None, {"VLLM_SIM_STARTUP_SECONDS": "7"}, "startup_seconds", 7),
        (BASELINE, None, {"VLLM_SIM_DRAFTERS": TABLE}, "base_ms", 9),
        ("ngram", None, {"VLLM_SIM_DRAFTERS": TABLE, "VLLM_SIM_Q1": "0.4"}, "q1", 0.2),
        ("eagle3", "org/slow", {"VLLM_SIM_DRAFTERS": TABLE}, "d0", 2),
        ("eagle3", "org/slow", {"VLLM_SIM_DRAFTERS": TABLE}, "fail", "hang"),
        ("eagle3", "org/slow?d0=3", {"VLLM_SIM_DRAFTERS": TABLE}, "d0", 3),
        ("eagle3", "org/slow?q1=0.3&fail=crash-loading", {}, "fail", "crash-loading"),
        ("eagle3", None, {"VLLM_SIM_Q1": ""}, "q1", 0.8),
    ],
)
def test_the_nearest_source_of_a_knob_wins(method, model, environ, name, value):
    assert getattr(arm_knobs(method, model, environ), name) == value


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"speed": 1}, "unknown knob 'speed'"),
        ({"q1": "fast"}, "q1='fast' is not a number"),
        ({"q1": 1.1}, "out of range"),
        ({"q1": "nan"}, "out of range"),
        ({"base_ms": 0}, "out of range"),
        ({"tick_ms": 0}, "out of range"),
        ({"prefix_hits": 1.5}, "out of range"),
        ({"decay_per_hour": -1}, "out of range"),
        ({"young_slowdown": 0}, "out of range"),
        ({"fail": "explode"}, "one of bad-config"),
        ({"metrics": "pretty"}, "one of ok, garbage"),
    ],
)
def test_a_wrong_knob_is_refused_by_name(values, says):
    with pytest.raises(KnobError, match=says):
        Knobs().replaced(values)


def test_a_variable_that_is_no_knob_is_refused_not_ignored():
    with pytest.raises(KnobError, match="unknown knob 'basems'"):
        arm_knobs("mtp", None, {"VLLM_SIM_BASEMS": "1"})


@pytest.mark.parametrize("text", ["{", "[]", '{"mtp": 1}'])
def test_a_broken_table_of_drafters_is_refused(text):
    with pytest.raises(KnobError, match="VLLM_SIM_DRAFTERS"):
        arm_knobs("mtp", None, {"VLLM_SIM_DRAFTERS": text})


@pytest.mark.parametrize(
    ("model", "checkpoint", "suffix"),
    [
        (None, None, {}),
        ("org/head", "org/head", {}),
        ("org/head?q=0.5&d0=1", "org/head", {"q": "0.5", "d0": "1"}),
    ],
)
def test_a_checkpoint_name_may_carry_knobs(model, checkpoint, suffix):
    assert split_checkpoint(model) == (checkpoint, suffix)


def test_a_suffix_that_is_no_list_of_knobs_is_refused():
    with pytest.raises(KnobError, match="org/head"):
        arm_knobs("mtp", "org/head?fast", {})


def test_every_method_has_its_defaults():
    assert set(METHODS) == {BASELINE, *Method.__args__}
