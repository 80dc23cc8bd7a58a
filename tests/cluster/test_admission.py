"""What the API server itself says to a SpecDeployment: defaults, bounds and rules, with no operator running.

Each rule has an object that passes and one that is refused, and the refusal names the field and the fix.
"""

import copy
from typing import Any

import pytest

from specdeploy.api.crd import object_schema
from tests.api.admission_cases import ACCEPTED, DFLASH, NGRAM, REFUSED, Object, sd
from tests.api.examples import EXAMPLES
from tests.cluster.kube import Kubectl, KubectlError


def created(kubectl: Kubectl, body: Object, *flags: str) -> Object:
    """The object as it would be stored."""
    return kubectl.json("create", "--dry-run=server", *flags, "--filename=-", given=body)


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_is_right_is_accepted(apiserver: Kubectl, case: str) -> None:
    spec = created(apiserver, ACCEPTED[case])["spec"]
    assert spec["model"] == ACCEPTED[case]["spec"]["model"]


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_refused_with_field_and_fix(apiserver: Kubectl, case: str) -> None:
    body, field, words = REFUSED[case]
    with pytest.raises(KubectlError) as refusal:
        created(apiserver, body)
    assert field in str(refusal.value)
    assert words in str(refusal.value)


def test_every_rule_of_the_crd_is_met_by_these_examples() -> None:
    """A rule without a refused example would be a rule that nobody has seen at work."""
    said = [words for _, field, text in REFUSED.values() for words in (field, text)]
    immutable = "create a new SpecDeployment"  # below
    for message in messages(object_schema()):
        assert immutable in message or any(words in message for words in said), message


def messages(node: Any) -> list[str]:
    """Messages of all rules in a schema."""
    if isinstance(node, list):
        return [message for item in node for message in messages(item)]
    if not isinstance(node, dict):
        return []
    own = [rule["message"] for rule in node.get("x-kubernetes-validations", [])]
    return own + [message for below in node.values() for message in messages(below)]


# what is changed -> (spec before, spec after, the field that is named or nothing)
CHANGES: dict[str, tuple[Object, Object, str]] = {
    "the model": ({}, {"model": "o/other"}, "spec.model"),
    "the served name": ({"servedModelName": "a"}, {"servedModelName": "b"}, "spec.servedModelName"),
    "a served name where there was none": ({}, {"servedModelName": "a"}, "spec.servedModelName"),
    "the served name to none": ({"servedModelName": "a"}, {"servedModelName": None}, "spec.servedModelName"),
    "the revision of the model": ({}, {"modelRevision": "abc"}, ""),
    "the image": ({}, {"engine": {"image": "other:v0.33.0"}}, ""),
    "drafters": ({}, {"drafters": [NGRAM]}, ""),
    "replicas": ({"servedModelName": "a"}, {"replicas": 0}, ""),
}  # fmt: skip


@pytest.mark.parametrize("case", CHANGES)
def test_only_what_clients_ask_for_by_name_can_not_be_changed(apiserver: Kubectl, case: str) -> None:
    before, change, field = CHANGES[case]
    name = f"change-{list(CHANGES).index(case)}"
    apiserver.apply(sd(name, **before))
    patch = ("patch", "sd", name, "--dry-run=server", "--type=merge", "--patch-file=/dev/stdin")
    if not field:
        apiserver.run(*patch, given={"spec": change})
        return
    with pytest.raises(KubectlError) as refusal:
        apiserver.run(*patch, given={"spec": change})
    assert field in str(refusal.value)
    assert "can't be changed" in str(refusal.value)
    assert "create a new SpecDeployment" in str(refusal.value)


def test_an_object_may_be_as_large_as_the_bounds_allow(apiserver: Kubectl) -> None:
    long = {"model": "m" * 512, "revision": "r" * 512, "attentionBackend": "B" * 512}
    drafters = [
        {**DFLASH, **long, "name": f"{i:02}" + "d" * 18, "options": {f"k{j}": "v" * 64 for j in range(16)}}
        for i in range(32)
    ]
    engine = {
        "args": ["a" * 1024] * 128,
        "env": [{"name": f"V{i}", "value": "v" * 1024} for i in range(128)],
        "podTemplate": {"labels": {f"l{i}": "v" * 63 for i in range(64)}},
    }
    stored = apiserver.apply(sd("n" * 40, drafters=drafters, engine=engine, replicas=1000))
    assert len(stored["spec"]["drafters"]) == 32


def test_drafters_are_merged_by_name(apiserver: Kubectl) -> None:
    base = sd("merged", drafters=[DFLASH])
    apiserver.apply(base, "--field-manager=team")
    theirs = copy.deepcopy(base)
    theirs["spec"] = {"model": base["spec"]["model"], "drafters": [NGRAM]}
    stored = apiserver.apply(theirs, "--field-manager=somebody-else")
    assert [d["name"] for d in stored["spec"]["drafters"]] == ["dflash", "ngram"]


def test_an_unknown_field_is_told_and_pruned(apiserver: Kubectl) -> None:
    body = sd(trial={"windowSecond": 5})
    with pytest.raises(KubectlError, match=r'unknown field "spec\.trial\.windowSecond"'):
        created(apiserver, body)
    warned = apiserver.finished(
        "create", "--dry-run=server", "--validate=warn", "--filename=-", "--output=json", given=body
    )
    assert 'unknown field "spec.trial.windowSecond"' in warned.stderr
    assert 'windowSecond"' not in warned.stdout


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_accepted(apiserver: Kubectl, example: str) -> None:
    created(apiserver, EXAMPLES[example], "--validate=strict")
