"""Findings on a whole spec: each rule with what it refuses and what it accepts."""

from __future__ import annotations

from typing import Any

import pytest

from specdeploy.engine.checks import check_drafters, check_spec
from tests.engine.specs import drafter, everything, smallest, with_drafters

POD = "spec.engine.podTemplate"


def test_a_spec_that_sets_every_field_has_no_findings() -> None:
    for spec in (smallest(), everything()):
        assert check_spec(spec) == ()
        assert check_drafters(spec) == {}


REFUSED: list[tuple[str, Any, str]] = [
    ("model", "RedHatAI/Qwen3-8B-speculator.eagle3", "spec.model"),
    ("engine.image", "team/vllm-openai:v0.17.1", "spec.engine.image"),
    ("engine.vllmVersion", "0.9.2", "spec.engine.vllmVersion"),
    ("engine.args", ["--port", "1"], "spec.engine.args[0]"),
    ("engine.env", [{"name": "HF_HOME"}], "spec.engine.env[0]"),
    (
        "engine.compileCache",
        {"persistentVolumeClaim": {"claimName": "c", "readOnly": True}},
        "spec.engine.compileCache.persistentVolumeClaim.readOnly",
    ),
    (
        "engine.compileCache",
        {"hostPath": {"path": "/c", "readOnly": True}},
        "spec.engine.compileCache.hostPath.readOnly",
    ),
    ("engine.podTemplate.labels", {"specdeploy.dev/name": "x"}, f"{POD}.labels[specdeploy.dev/name]"),
    ("engine.podTemplate.labels", {"a.specdeploy.dev/b": "x"}, f"{POD}.labels[a.specdeploy.dev/b]"),
    (
        "engine.podTemplate.labels",
        {"app.kubernetes.io/instance": "x"},
        f"{POD}.labels[app.kubernetes.io/instance]",
    ),
    ("engine.podTemplate.labels", {"pod-template-hash": "x"}, f"{POD}.labels[pod-template-hash]"),
    (
        "engine.podTemplate.annotations",
        {"specdeploy.dev/shape": "x"},
        f"{POD}.annotations[specdeploy.dev/shape]",
    ),
    ("engine.podTemplate.volumes", [{"name": "a"}, {"name": "shm"}], f"{POD}.volumes[1].name"),
    ("engine.podTemplate.volumes", [{"emptyDir": {}}], f"{POD}.volumes[0].name"),
    ("engine.podTemplate.volumes", [{"name": ["shm"]}], f"{POD}.volumes[0].name"),
    ("engine.podTemplate.containers", [{"name": "vllm"}], f"{POD}.containers[0].name"),
    ("engine.podTemplate.initContainers", [{"name": "vllm"}], f"{POD}.initContainers[0].name"),
    *(
        (
            "engine.podTemplate.volumeMounts",
            [{"name": "a", "mountPath": path}],
            f"{POD}.volumeMounts[0].mountPath",
        )
        for path in (
            "/var/lib/engine",
            "/var/lib/engine/",
            "/var/lib/engine/weights",
            "/var/lib/engine/weights/more",
            "/var/lib",
            "/",
            "/dev/shm",
            "/dev",
            "/srv/../dev/shm",
            "",
            7,
        )
    ),
    ("engine.podTemplate.volumeMounts", [{"name": "a"}], f"{POD}.volumeMounts[0].mountPath"),
    (
        "engine.podTemplate.resources",
        {"limits": {"amd.com/gpu": 4}},
        f"{POD}.resources.limits[amd.com/gpu]",
    ),
    ("engine.podTemplate.resources", {"requests": "many"}, f"{POD}.resources.requests"),
    ("engine.podTemplate.affinity", {"nodeAffinity": "x"}, f"{POD}.affinity.nodeAffinity"),
    (
        "engine.podTemplate.affinity",
        {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ["x"]}},
        f"{POD}.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
    ),
    *(
        (
            "engine.podTemplate.affinity",
            {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
                }
            },
            f"{POD}.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
        )
        for terms in ("x", ["x"], [{"matchExpressions": {"key": "zone"}}])
    ),
]

ACCEPTED: list[tuple[str, Any]] = [
    ("model", "/models/speculator"),
    ("engine.image", "team/vllm:v0.18.0"),
    ("engine.image", "team/vllm:nightly"),
    ("engine.compileCache", {"hostPath": {"path": "/c"}}),
    ("engine.weights", {"hostPath": {"path": "/w", "readOnly": True}}),
    ("engine.podTemplate.labels", {"app.kubernetes.io/part-of": "x", "notspecdeploy.dev/a": "b"}),
    ("engine.podTemplate.annotations", {"app.kubernetes.io/part-of": "x"}),
    ("engine.podTemplate.volumes", [{"name": "models", "emptyDir": {}}]),
    ("engine.podTemplate.containers", [{"name": "logs"}]),
    (
        "engine.podTemplate.initContainers",
        [{"name": "fetch", "volumeMounts": [{"name": "weights", "mountPath": "/var/lib/engine/weights"}]}],
    ),
    ("engine.podTemplate.volumeMounts", [{"name": "a", "mountPath": "/var/lib/engines"}]),
    ("engine.podTemplate.resources", {"limits": {"memory": "1Gi", "amd.com/cpx_nps4": 1}, "claims": []}),
    ("engine.podTemplate.affinity", {"podAntiAffinity": {}, "nodeAffinity": None}),
]


@pytest.mark.parametrize(("path", "value", "field"), REFUSED)
def test_what_a_rule_refuses_is_told_with_its_field_and_a_fix(path: str, value: Any, field: str) -> None:
    (finding,) = check_spec(smallest(path, value))
    assert finding.field == field
    assert finding.reason
    assert finding.fix


@pytest.mark.parametrize(("path", "value"), ACCEPTED)
def test_what_is_near_a_rule_but_harmless_is_accepted(path: str, value: Any) -> None:
    assert check_spec(smallest(path, value)) == ()


def test_the_image_in_force_is_checked_when_the_spec_names_none() -> None:
    assert check_spec(smallest(), "team/vllm-openai:v0.12.0")
    assert check_drafters(with_drafters(drafter("dspark")), "team/vllm:v0.20.0")


def test_of_two_drafters_with_one_revision_the_second_is_invalid() -> None:
    twins = [drafter("ngram", name=name) for name in ("first", "second", "third")]
    found = check_drafters(with_drafters(*twins, drafter("ngram", name="other", numSpeculativeTokens=3)))
    assert {name: [str(f) for f in findings] for name, findings in found.items()} == {
        "second": ["spec.drafters[1]: same as first; remove one of the two"],
        "third": ["spec.drafters[2]: same as first; remove one of the two"],
    }


def test_a_drafters_findings_are_its_own_and_leave_the_spec_valid() -> None:
    bad, good = drafter("eagle3", name="bad", options={"foo": 1}), drafter("eagle3", name="good")
    spec = with_drafters(good, bad)
    assert check_spec(spec) == ()
    assert [(name, found[0].field) for name, found in check_drafters(spec).items()] == [
        ("bad", "spec.drafters[1].options.foo")
    ]


def test_a_spec_without_drafters_has_nothing_to_find_in_them() -> None:
    assert check_drafters(smallest("drafters", None)) == {}
