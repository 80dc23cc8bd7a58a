"""What the API server would refuse is refused without one: one table for both (see tests/cluster)."""

import json
import re
from typing import Any

import pytest

from specdeploy.api.admission import NAME_RULE, SPEC_SCHEMA, Refused, completed, object_refusals, spec_schema
from specdeploy.api.base import python_side
from specdeploy.api.crd import object_schema
from specdeploy.api.findings import read_spec
from specdeploy.api.likely import FORMS
from tests.api.admission_cases import ACCEPTED, DFLASH, GONE, NGRAM, REFUSED, Object, drafter, env, sd
from tests.api.examples import EXAMPLES
from tools.schema import text


def refused(body: Object) -> list[tuple[str, Refused, str]]:
    """(field, why, reason and fix) of each refusal."""
    return [
        (_dotted(each.path), each.why, f"{each.reason}; {each.fix}")
        for each in object_refusals(completed(body))
    ]


def _dotted(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_the_api_server_accepts_is_not_refused(case: str) -> None:
    assert refused(ACCEPTED[case]) == []
    assert read_spec(completed(ACCEPTED[case])["spec"]).spec is not None


@pytest.mark.parametrize("example", EXAMPLES)
def test_no_example_is_refused(example: str) -> None:
    assert refused(EXAMPLES[example]) == []


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_api_server_refuses_is_refused_at_the_same_field(case: str) -> None:
    body, field, words = REFUSED[case]
    [(named, why, said)] = refused(body)
    assert f"{named}: {said}".startswith(field)
    assert why is not Refused.RULE or words in f"{named}: {said}"


def test_every_rule_has_a_python_side_that_refuses_one_of_the_examples() -> None:
    said = {
        words for body, _, _ in REFUSED.values() for _, why, words in refused(body) if why is Refused.RULE
    }
    for rule in rules(spec_schema()):
        if "oldSelf" not in rule["rule"]:
            assert rule["message"] in said, rule["rule"]
        assert (python_side(rule) is None) == ("oldSelf" in rule["rule"])
    assert NAME_RULE["message"].removeprefix("metadata.name: ") in said


def rules(node: Any) -> list[dict[str, Any]]:
    """All rules in a schema."""
    if isinstance(node, list):
        return [rule for item in node for rule in rules(item)]
    if not isinstance(node, dict):
        return []
    own = node.get("x-kubernetes-validations", [])
    return [*own, *(rule for below in node.values() for rule in rules(below))]


def test_the_schema_of_a_spec_is_what_the_types_say() -> None:
    assert SPEC_SCHEMA.read_text() == text(), "run `PYTHONPATH=operator:. python tools/schema.py`"


def test_the_crd_holds_nothing_that_only_python_understands() -> None:
    assert all(set(rule) <= {"rule", "message", "fieldPath"} for rule in rules(object_schema()))


def test_every_pattern_is_told_in_words_with_an_example_that_matches() -> None:
    patterns = set(re.findall(r'"pattern": "((?:[^"\\]|\\.)*)"', SPEC_SCHEMA.read_text()))
    assert {json.loads(f'"{pattern}"') for pattern in patterns} == set(FORMS)
    for pattern, (_, fix) in FORMS.items():
        _, given, example = fix.partition("such as ")
        assert not given or re.fullmatch(pattern, example)


TRIAL = {"windowSeconds": 60, "deadlineSeconds": 1}

# what is wrong -> (the object, [(field, why, a part of what is said)])
SAID: dict[str, tuple[Object, list[tuple[str, Refused, str]]]] = {
    "a number in quotes": (
        sd(replicas="4"),
        [("spec.replicas", Refused.QUOTED, "write 4 without quotes")],
    ),
    "a switch in quotes": (sd(paused="true"), [("spec.paused", Refused.QUOTED, "write true without quotes")]),
    "a number without quotes": (env(value=1), [("spec.engine.env[0].value", Refused.UNQUOTED, 'write "1"')]),
    "a switch for a number": (sd(replicas=True), [("spec.replicas", Refused.VALUE, "it is true")]),
    "half a replica": (sd(replicas=1.5), [("spec.replicas", Refused.VALUE, "whole number")]),
    "words for a number": (sd(replicas="four"), [("spec.replicas", Refused.VALUE, "write a whole number")]),
    "a field that is near another": (
        sd(trial={"windowSecond": 60}),
        [("spec.trial.windowSecond", Refused.UNKNOWN, "did you mean windowSeconds?")],
    ),
    "a field in vLLM's spelling": (
        drafter(num_speculative_tokens=3),
        [("spec.drafters[0].num_speculative_tokens", Refused.UNKNOWN, "did you mean numSpeculativeTokens?")],
    ),
    "a field of nothing": (sd(colour="red"), [("spec.colour", Refused.UNKNOWN, "remove it")]),
    "a field beside the spec": ({**sd(), "replicas": 4}, [("replicas", Refused.UNKNOWN, "remove it")]),
    "a value out of bounds beside an unknown field": (
        sd(replica=1, replicas=-1),
        [("spec.replica", Refused.UNKNOWN, "replicas"), ("spec.replicas", Refused.VALUE, "raise it")],
    ),
    "a value that a rule looks at": (
        sd(trial=TRIAL),
        [("spec.trial.deadlineSeconds", Refused.VALUE, "allowed are 200 to 604800; raise it")],
    ),
    "ten thousand drafters": (
        sd(drafters=[{**NGRAM, "name": 7}] * 10_000),
        [("spec.drafters", Refused.VALUE, "has 10000 items, at most 32 are allowed")],
    ),
    "no spec": ({**sd(), "spec": None}, [("spec", Refused.MISSING, "add it")]),
    "a spec that is text": ({**sd(), "spec": "x"}, [("spec", Refused.VALUE, "it is the text 'x'")]),
    "no name": ({**sd(), "metadata": {}}, [("metadata.name", Refused.MISSING, "add it")]),
    "a name that is a number": (sd(name=7), [("metadata.name", Refused.UNQUOTED, 'write "7"')]),
    "a number of a million digits": (sd(replicas=10**4000), [("spec.replicas", Refused.VALUE, "lower it")]),
    "a name in other letters": (
        drafter(name="λ"),
        [("spec.drafters[0].name", Refused.VALUE, "lower-case letters, digits and dashes, with no dash at")],
    ),
    "a line break after a name": (
        drafter(name="a\n"),
        [("spec.drafters[0].name", Refused.VALUE, "it is 'a\\n'; write one such as eagle3-7")],
    ),
    "a method in capitals": (
        drafter(method="Eagle3"),
        [("spec.drafters[0].method", Refused.VALUE, "did you mean eagle3? Its values are mtp, eagle3")],
    ),
    "a method with a dash": (
        drafter(method="draft-model"),
        [("spec.drafters[0].method", Refused.VALUE, "did you mean draft_model?")],
    ),
    "a method of nothing": (
        drafter(method="quantum"),
        [("spec.drafters[0].method", Refused.VALUE, "use one of mtp, eagle3, eagle, ")],
    ),
    "a GPU in small letters": (
        sd(accelerator={"type": "mi300x"}),
        [("spec.accelerator.type", Refused.VALUE, "did you mean MI300X?")],
    ),
    "a word in small letters": (
        sd(baseline={"retention": "always"}),
        [("spec.baseline.retention", Refused.VALUE, "did you mean Always?")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SAID)
def test_what_is_refused_is_told_with_field_reason_and_fix(case: str) -> None:
    body, wanted = SAID[case]
    found = refused(body)
    assert [(field, why) for field, why, _ in found] == [(field, why) for field, why, _ in wanted]
    for (_, _, said), (_, _, words) in zip(found, wanted, strict=True):
        assert words in said


def test_a_field_without_a_value_is_an_absent_field() -> None:
    assert refused(sd(drafters=[{**DFLASH, "revision": None}], replicas=None, engine={"args": None})) == []
    assert [field for field, _, _ in refused(sd(model=None))] == ["spec.model"]
    assert refused(sd(drafters=GONE)) == []
