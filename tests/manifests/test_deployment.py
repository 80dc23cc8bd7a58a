"""Deployments in full, and the promises that hold for every one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.client import V1Deployment, V1PodDisruptionBudget, V1Service
from pydantic import ValidationError

from specdeploy.api.spec import Spec
from specdeploy.engine.pod_template import OUR_LABELS
from specdeploy.engine.revision import Template
from specdeploy.manifests.budget import build_budget
from specdeploy.manifests.labels import template_labels
from specdeploy.manifests.names import deployment_name
from specdeploy.manifests.service import build_service
from tests.engine.specs import everything, smallest
from tests.manifests import golden
from tests.manifests.rendering import OWNER, arms, deployment, engine, pod

SPECS = {"smallest": smallest(), "everything": everything()}


@pytest.mark.parametrize("name", SPECS)
def test_the_deployment_of_a_drafter_is_as_reviewed(name: str) -> None:
    golden.check(f"{name}.yaml", deployment(SPECS[name], arm=1, replicas=2))


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("arm", [0, 1])
def test_a_deployment_has_only_keys_that_kubernetes_knows(name: str, arm: int) -> None:
    V1Deployment.model_validate(deployment(SPECS[name], arm))


def test_a_misspelt_key_would_be_noticed() -> None:
    rendered = deployment(smallest())
    rendered["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
    with pytest.raises(ValidationError, match="readynessProbe"):
        V1Deployment.model_validate(rendered)


@pytest.mark.parametrize("name", SPECS)
def test_the_arms_differ_in_names_identities_and_speculation_alone(name: str) -> None:
    def alike(arm: int) -> dict[str, Any]:
        rendered = deployment(SPECS[name], arm)
        template = rendered["spec"]["template"]
        for labels in (template["metadata"]["labels"], rendered["metadata"]["labels"]):
            for key in ("specdeploy.dev/revision", "specdeploy.dev/drafter", "specdeploy.dev/template"):
                del labels[key]
        del rendered["metadata"]["name"]
        del rendered["metadata"]["annotations"]["specdeploy.dev/shape"]
        del rendered["spec"]["selector"]["matchLabels"]["specdeploy.dev/template"]
        args = template["spec"]["containers"][0]["args"]
        template["spec"]["containers"][0]["args"] = args if arm == 0 else args[:-2]
        return rendered

    assert alike(0) == alike(1)


def test_the_selector_holds_for_its_own_pods_and_for_no_other_arms() -> None:
    baseline, drafter = deployment(smallest(), 0), deployment(smallest(), 1)
    selector = baseline["spec"]["selector"]["matchLabels"].items()
    assert selector <= baseline["spec"]["template"]["metadata"]["labels"].items()
    assert not selector <= drafter["spec"]["template"]["metadata"]["labels"].items()


def test_the_owner_controls_its_child_and_lends_it_no_labels() -> None:
    metadata = deployment(smallest())["metadata"]
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "specdeploy.dev/v1alpha1",
            "kind": "SpecDeployment",
            "name": "gemma",
            "uid": OWNER.uid,
            "controller": True,
            "blockOwnerDeletion": False,
        }
    ]
    assert metadata["labels"] == template_labels("gemma", arms(smallest())[0])


@given(
    labels=st.dictionaries(
        st.sampled_from([*OUR_LABELS[:4], "specdeploy.dev/name", "specdeploy.dev/template", "team"]),
        st.text("abc", max_size=4),
    )
)
def test_labels_of_a_pod_template_never_replace_ours(labels: dict[str, str]) -> None:
    spec = smallest("engine.podTemplate.labels", labels)
    ours = template_labels("gemma", arms(spec)[0])
    found = deployment(spec)["spec"]["template"]["metadata"]["labels"]
    assert found == {**labels, **ours}


@pytest.mark.parametrize(("startup", "deadline"), [(3600, 4200), (30, 630)])
def test_a_rollout_may_take_longer_than_a_pod(startup: int, deadline: int) -> None:
    spec = deployment(smallest("engine.startupSeconds", startup))["spec"]
    assert spec["progressDeadlineSeconds"] == deadline


@pytest.mark.parametrize(
    ("drain", "grace", "lifecycle", "timeout"),
    [
        ({}, 335, {"preStop": {"sleep": {"seconds": 20}}}, "300"),
        (
            {"endpointRemovalSeconds": 5, "requestSeconds": 60},
            80,
            {"preStop": {"sleep": {"seconds": 5}}},
            "60",
        ),
        ({"endpointRemovalSeconds": 0, "requestSeconds": 1}, 16, None, "1"),
    ],
)
def test_the_parts_of_the_drain_add_up(
    drain: dict[str, int], grace: int, lifecycle: dict[str, Any] | None, timeout: str
) -> None:
    spec = smallest("engine.drain", drain)
    args = engine(spec)["args"]
    assert pod(spec)["terminationGracePeriodSeconds"] == grace
    assert engine(spec).get("lifecycle") == lifecycle
    assert args[args.index("--shutdown-timeout") + 1] == timeout


def test_gpus_are_limit_and_request_beside_what_the_user_asks_for() -> None:
    assert engine(smallest())["resources"] == {
        "requests": {"amd.com/gpu": "2"},
        "limits": {"amd.com/gpu": "2"},
    }
    assert engine(everything())["resources"] == {
        "requests": {"cpu": "16", "amd.com/cpx_nps4": "8"},
        "limits": {"memory": "256Gi", "amd.com/cpx_nps4": "8"},
    }


def test_the_security_context_is_restricted_and_its_keys_can_be_replaced() -> None:
    assert pod(smallest())["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}}
    given = {"seccompProfile": {"type": "Unconfined"}, "runAsUser": 1000}
    assert pod(smallest("engine.podTemplate.securityContext", given))["securityContext"] == given


def test_the_users_containers_come_after_the_engine() -> None:
    found = pod(everything())
    assert [c["name"] for c in found["containers"]] == ["vllm", "logs"]
    assert [c["name"] for c in found["initContainers"]] == ["fetch"]


def template(drafter: str, hashed: str = "abcdefghij") -> Template:
    return Template(drafter=drafter, config=None, revision="r", shape="s", hash=hashed)


@pytest.mark.parametrize(
    ("owner", "drafter", "name"),
    [
        ("gemma", "baseline", "gemma-baseline-abcdefghij"),
        ("g" * 40, "d" * 11, f"{'g' * 40}-{'d' * 11}-abcdefghij"),
        ("g" * 40, "d" * 20, f"{'g' * 40}-{'d' * 11}-abcdefghij"),
        ("g" * 40, "d" * 10 + "-" + "d" * 9, f"{'g' * 40}-{'d' * 10}-abcdefghij"),
    ],
)
def test_a_deployments_name_is_a_dns_label_that_ends_in_its_hash(owner: str, drafter: str, name: str) -> None:
    assert deployment_name(owner, template(drafter)) == name
    assert len(name) <= 63


def test_the_service_selects_every_arm() -> None:
    service = build_service(OWNER, everything())
    golden.check("service.yaml", service)
    V1Service.model_validate(service)
    for arm in (0, 1):
        labels = deployment(everything(), arm)["spec"]["template"]["metadata"]["labels"]
        assert service["spec"]["selector"].items() <= labels.items()


def test_a_service_without_annotations_claims_none() -> None:
    service = build_service(OWNER, smallest())
    assert "annotations" not in service["metadata"]
    assert service["spec"]["ports"] == [{"name": "http", "port": 8000, "targetPort": 8000, "protocol": "TCP"}]


def test_the_budget_is_a_number_of_pods_over_every_arm() -> None:
    budget = build_budget(OWNER, 3)
    golden.check("budget.yaml", budget)
    V1PodDisruptionBudget.model_validate(budget)


def test_building_changes_nothing_in_the_spec() -> None:
    spec: Spec = everything()
    before = spec.model_dump_json()
    deployment(spec, 1)
    assert spec.model_dump_json() == before
