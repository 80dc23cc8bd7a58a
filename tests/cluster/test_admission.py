"""What the API server itself says to a SpecDeployment: defaults, bounds and rules, with no operator running.

Each rule has an object that passes and one that is refused, and the refusal names the field and the fix.
"""

import copy
from typing import Any

import pytest

from specdeploy.api.crd import object_schema
from tests.api.examples import EXAMPLES
from tests.cluster.kube import Kubectl, KubectlError

Object = dict[str, Any]

DFLASH: Object = {
    "name": "dflash",
    "method": "dflash",
    "model": "z-lab/gemma-4-26B-A4B-it-DFlash",
    "numSpeculativeTokens": 7,
}
NGRAM: Object = {"name": "ngram", "method": "ngram", "numSpeculativeTokens": 3}
# A field that is to be absent.
GONE = object()


def sd(name: str = "gemma", **spec: Any) -> Object:
    """A SpecDeployment, the smallest one but for the given fields of its spec."""
    fields = {"model": "google/gemma-4-26B-A4B-it", "drafters": [DFLASH], **spec}
    return {
        "apiVersion": "specdeploy.dev/v1alpha1",
        "kind": "SpecDeployment",
        "metadata": {"name": name},
        "spec": {key: value for key, value in fields.items() if value is not GONE},
    }


def drafter(**fields: Any) -> Object:
    """A SpecDeployment whose only drafter is ngram with these fields changed."""
    changed = {**NGRAM, **fields}
    return sd(drafters=[{key: value for key, value in changed.items() if value is not GONE}])


def env(**fields: Any) -> Object:
    return sd(engine={"env": [{"name": "A", **fields}]})


SECRET = {"secretKeyRef": {"name": "s", "key": "k"}}
PVC = {"persistentVolumeClaim": {"claimName": "models"}}

ACCEPTED: dict[str, Object] = {
    "the smallest one": sd(drafters=GONE),
    "no replicas at all": sd(replicas=0),
    "as many replicas as may be": sd(replicas=1000),
    "a name of 40 characters": sd("a" * 40),
    "a name with digits and dashes": sd("gemma-4-26b"),
    "all pods in one step": sd(promotion={"steps": [100], "soakWindows": 0}),
    "equal steps": sd(promotion={"steps": [50, 50, 100]}),
    "a guard that is off": sd(guards={"kvBlocks": {"enabled": False}}),
    "a path as the model": sd(model="/models/gemma 4"),
    "mtp in the target": drafter(method="mtp"),
    "mtp with an assistant": drafter(method="mtp", model="google/gemma-4-26B-A4B-it-assistant"),
    "dspark in the target": drafter(method="dspark"),
    "eagle3 with a checkpoint": drafter(method="eagle3", model="o/m"),
    "ngram with options of any shape": drafter(options={"prompt_lookup_max": 4, "a": {"b": [1, None]}}),
    "as many tokens as may be": drafter(numSpeculativeTokens=64),
    "a drafter's name of 20 characters": drafter(name="d" * 20),
    "a variable with a value": env(value="1"),
    "a variable with no value": env(),
    "a variable from a secret": env(valueFrom=SECRET),
    "weights on a claim": sd(engine={"weights": {**PVC, "offline": True}}),
    "weights with no source": sd(engine={"weights": {"offline": True}}),
    "a cache in a sized emptyDir": sd(engine={"compileCache": {"emptyDir": {"sizeLimit": "10Gi"}}}),
    "an ephemeral claim": sd(engine={"weights": {"ephemeral": {"size": "1.5Ti"}}}),
    "just 40 windows": sd(trial={"windowSeconds": 60, "deadlineSeconds": 2400, "totalDeadlineSeconds": 2400}),
    "a partition of a GPU": sd(accelerator={"resourceName": "amd.com/cpx_nps4", "count": 8}),
    "a template with core objects": sd(
        engine={"podTemplate": {"tolerations": [{"operator": "Exists"}], "affinity": {"nodeAffinity": {}}}}
    ),
}

NEEDS = "methods eagle3, eagle, dflash, draft_model need a draft checkpoint; set drafters[].model"
TAKES_NONE = "methods ngram, suffix take no checkpoint; remove drafters[].model"
NAME = "metadata.name: at most 40 characters, a DNS label that begins with a letter"
FIRST = "spec.drafters[0]"
LEAST, MOST = "should be greater than or equal to ", "should be less than or equal to "

# what is wrong -> (the object, the field that is named, what is said of it)
REFUSED: dict[str, tuple[Object, str, str]] = {
    "no model": (sd(model=GONE), "spec.model", "Required value"),
    "an empty model": (sd(model=""), "spec.model", "at least 1 chars long"),
    "a flag as the model": (sd(model="--port"), "spec.model", "should match '^[^\\s-].*$'"),
    "a model too long": (sd(model="m" * 513), "spec.model", "Too long: may not be more than 512"),
    "a name too long": (sd("a" * 41), NAME, "choose another name"),
    "a name that begins with a digit": (sd("4gemma"), NAME, "choose another name"),
    "a name with a dot": (sd("gemma.4"), NAME, "choose another name"),
    "negative replicas": (sd(replicas=-1), "spec.replicas", f"{LEAST}0"),
    "too many replicas": (sd(replicas=1001), "spec.replicas", f"{MOST}1000"),
    "another maker's GPU": (sd(accelerator={"type": "H100"}), "spec.accelerator.type", 'values: "MI210"'),
    "no GPU": (sd(accelerator={"count": 0}), "spec.accelerator.count", f"{LEAST}1"),
    "a bare resource": (sd(accelerator={"resourceName": "gpu"}), "spec.accelerator.resourceName", "match"),
    "steps that do not ascend": (
        sd(promotion={"steps": [50, 25, 100]}),
        "spec.promotion.steps",
        "must ascend and end with 100; sort them and append 100",
    ),
    "steps that do not reach all pods": (
        sd(promotion={"steps": [1, 50]}),
        "spec.promotion.steps",
        "must ascend and end with 100",
    ),
    "a step of no pods": (sd(promotion={"steps": [0, 100]}), "spec.promotion.steps[0]", f"{LEAST}1"),
    "no steps": (sd(promotion={"steps": []}), "spec.promotion.steps", "at least 1 items"),
    "another retention": (sd(baseline={"retention": "Never"}), "spec.baseline.retention", '"Always"'),
    "a warning below what ends the trial": (
        sd(guards={"kvBlocks": {"minimumPercent": 90, "warnPercent": 80}}),
        "spec.guards.kvBlocks.warnPercent",
        "must not be below minimumPercent; raise warnPercent or lower minimumPercent",
    ),
    "two sources of weights": (
        sd(engine={"weights": {**PVC, "emptyDir": {}}}),
        "spec.engine.weights",
        "name one of persistentVolumeClaim, hostPath, ephemeral and emptyDir; remove the others",
    ),
    "two sources of the cache": (
        sd(engine={"compileCache": {"hostPath": {"path": "/c"}, "emptyDir": {}}}),
        "spec.engine.compileCache",
        "name one of persistentVolumeClaim, hostPath, ephemeral and emptyDir; remove the others",
    ),
    "a relative host path": (
        sd(engine={"weights": {"hostPath": {"path": "models"}}}),
        "spec.engine.weights.hostPath.path",
        "should match '^/'",
    ),
    "a size that is none": (
        sd(engine={"weights": {"ephemeral": {"size": "10ki"}}}),
        "spec.engine.weights.ephemeral.size",
        "should match",
    ),
    "a value and where it comes from": (
        env(value="1", valueFrom=SECRET),
        "spec.engine.env[0].valueFrom",
        "a variable has a value or a valueFrom; remove one of the two",
    ),
    "a variable twice": (
        sd(engine={"env": [{"name": "A"}, {"name": "A"}]}),
        "spec.engine.env[1]",
        "Duplicate value",
    ),
    "too short a window": (sd(trial={"windowSeconds": 4}), "spec.trial.windowSeconds", f"{LEAST}5"),
    "fewer than 40 windows": (
        sd(trial={"windowSeconds": 60, "deadlineSeconds": 2399}),
        "spec.trial.deadlineSeconds",
        "must hold at least 40 windows; raise deadlineSeconds or lower windowSeconds",
    ),
    "a total below the deadline": (
        sd(trial={"deadlineSeconds": 14400, "totalDeadlineSeconds": 14399}),
        "spec.trial.totalDeadlineSeconds",
        "must be at least deadlineSeconds; raise totalDeadlineSeconds or lower deadlineSeconds",
    ),
    "certainty": (sd(trial={"confidencePercent": 100}), "spec.trial.confidencePercent", f"{MOST}99"),
    "a port that is none": (sd(service={"port": 0}), "spec.service.port", f"{LEAST}1"),
    "no tokens": (drafter(numSpeculativeTokens=0), f"{FIRST}.numSpeculativeTokens", f"{LEAST}1"),
    "tokens not given": (drafter(numSpeculativeTokens=GONE), f"{FIRST}.numSpeculativeTokens", "Required"),
    "too many tokens": (drafter(numSpeculativeTokens=65), f"{FIRST}.numSpeculativeTokens", f"{MOST}64"),
    "a method that is none": (drafter(method="medusa"), f"{FIRST}.method", 'supported values: "mtp"'),
    "eagle3 without a checkpoint": (drafter(method="eagle3"), f"{FIRST}.model", NEEDS),
    "eagle without a checkpoint": (drafter(method="eagle"), f"{FIRST}.model", NEEDS),
    "dflash without a checkpoint": (drafter(method="dflash"), f"{FIRST}.model", NEEDS),
    "draft_model without a checkpoint": (drafter(method="draft_model"), f"{FIRST}.model", NEEDS),
    "ngram with a checkpoint": (drafter(model="o/m"), f"{FIRST}.model", TAKES_NONE),
    "suffix with a checkpoint": (drafter(method="suffix", model="o/m"), f"{FIRST}.model", TAKES_NONE),
    "a drafter named baseline": (
        drafter(name="baseline"),
        f"{FIRST}.name",
        "'baseline' is the arm without a drafter; choose another name",
    ),
    "a drafter's name too long": (drafter(name="d" * 21), f"{FIRST}.name", "may not be more than 20"),
    "a drafter's name in capitals": (drafter(name="Ngram"), f"{FIRST}.name", "should match"),
    "two drafters of one name": (sd(drafters=[NGRAM, NGRAM]), "spec.drafters[1]", "Duplicate value"),
    "too many drafters": (
        sd(drafters=[{**NGRAM, "name": f"d{i}"} for i in range(33)]),
        "spec.drafters",
        "Too many: 33: must have at most 32 items",
    ),
    "options that are no object": (drafter(options=[]), f"{FIRST}.options", "must be of type object"),
}  # fmt: skip


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
