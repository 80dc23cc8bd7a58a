"""What kubectl makes of a SpecDeployment: /scale, /status, columns and explain, with no operator running."""

import json
from typing import Any

import pytest

from specdeploy.api.spec import Spec
from specdeploy.api.status import Status
from tests.api.admission_cases import sd
from tests.cluster.kube import Kubectl, KubectlError

TIME = "2026-01-01T00:00:00Z"
SERVING = {
    "name": "dflash",
    "revision": "r1",
    "template": "t1",
    "since": TIME,
    "summary": "1.87x [1.79,1.95]",
}
STATUS: dict[str, Any] = {
    "conditions": [
        {"type": "Ready", "status": "True", "lastTransitionTime": TIME, "reason": "Serving", "message": ""}
    ],
    "replicas": 4,
    "selector": "specdeploy.dev/name=columns",
    "serving": SERVING,
    "baseline": {"revision": "r0", "template": "t0", "since": TIME},
    "capacity": {"desired": 4, "ready": 3, "borrowed": 0, "lost": 0, "summary": "3/4"},
}


def scale_of(kubectl: Kubectl, name: str) -> dict[str, Any]:
    path = f"/apis/specdeploy.dev/v1alpha1/namespaces/{kubectl.namespace}/specdeployments/{name}/scale"
    found: dict[str, Any] = json.loads(kubectl.run("get", f"--raw={path}"))
    return found


def with_status(kubectl: Kubectl, name: str, **changes: Any) -> dict[str, Any]:
    """The object after a write of /status."""
    return kubectl.json(
        *("patch", "sd", name, "--subresource=status", "--type=merge", "--patch-file=/dev/stdin"),
        given={"status": {**STATUS, **changes}},
    )


def test_the_smallest_object_can_be_scaled_to_none_and_back(apiserver: Kubectl) -> None:
    apiserver.apply({**sd("scaled"), "spec": {"model": "o/m"}})
    assert scale_of(apiserver, "scaled")["spec"]["replicas"] == 1, "the default is stored"
    for replicas in (0, 3):
        apiserver.run("scale", "sd/scaled", f"--replicas={replicas}")
        assert scale_of(apiserver, "scaled")["spec"].get("replicas", 0) == replicas, "0 is left out"
    with pytest.raises(KubectlError, match=r"spec\.replicas.*less than or equal to 1000"):
        apiserver.run("scale", "sd/scaled", "--replicas=1001")


def test_scale_shows_an_autoscaler_the_pods_and_their_selector(apiserver: Kubectl) -> None:
    apiserver.apply(sd("autoscaled"))
    with_status(apiserver, "autoscaled")
    assert scale_of(apiserver, "autoscaled")["status"] == {
        "replicas": 4,
        "selector": "specdeploy.dev/name=columns",
    }


def test_all_defaults_are_stored_and_read_back_as_the_same_spec(apiserver: Kubectl) -> None:
    stored = apiserver.apply({**sd("defaulted"), "spec": {"model": "o/m"}})
    assert Spec.model_validate(stored["spec"]) == Spec.model_validate({"model": "o/m"})
    assert stored["spec"]["trial"]["windowSeconds"] == 60


def test_status_and_spec_are_written_apart(apiserver: Kubectl) -> None:
    stored = apiserver.apply({**sd("apart"), "status": {"replicas": 7}})
    assert "status" not in stored, "a user can't write status by the way"
    generation = stored["metadata"]["generation"]
    written = apiserver.json(
        *("patch", "sd", "apart", "--subresource=status", "--type=merge", "--patch-file=/dev/stdin"),
        given={"spec": {"replicas": 9}, "status": STATUS},
    )
    assert written["spec"]["replicas"] == 1
    assert written["metadata"]["generation"] == generation
    assert Status.model_validate(written["status"]) == Status.model_validate(STATUS)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"serving": {**SERVING, "since": "yesterday"}}, "status.serving.since"),
        ({"serving": {**SERVING, "speedup": "1.2"}}, "status.serving.speedup"),
        ({"replicas": -1}, "status.replicas"),
        ({"verdicts": [{"drafter": "a", "revision": "r", "outcome": "Fine", "time": TIME}]}, "outcome"),
    ],
)
def test_a_status_that_could_not_be_read_back_is_not_stored(
    apiserver: Kubectl, change: dict[str, Any], field: str
) -> None:
    apiserver.apply(sd("strict"))
    with pytest.raises(KubectlError, match=field):
        with_status(apiserver, "strict", **change)


def test_the_columns_tell_the_story(apiserver: Kubectl) -> None:
    apiserver.apply(sd("columns"))
    with_status(apiserver, "columns")
    header, row = apiserver.run("get", "sd", "columns").splitlines()
    assert header.split() == ["NAME", "READY", "SERVING", "TRIAL", "SPEEDUP", "REASON", "AGE"]
    assert row.split()[:-1] == ["columns", "3/4", "dflash", "1.87x", "[1.79,1.95]", "Serving"]
    wide = apiserver.run("get", "sd", "columns", "--output=wide").splitlines()
    assert wide[0].split()[-3:] == ["MODEL", "REPLICAS", "BASELINE"]
    assert wide[1].split()[-3:] == ["google/gemma-4-26B-A4B-it", "1", "r0"]


def test_objects_are_found_by_category_and_both_names(apiserver: Kubectl) -> None:
    apiserver.apply(sd("found"))
    for kind in ("sd", "specdeployment", "inference"):
        assert "specdeployment.specdeploy.dev/found" in apiserver.run("get", kind, "--output=name")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("sd", "fastest of the listed drafters"),
        ("sd.spec.trial.windowSeconds", "Length of a window"),
        ("sd.spec.drafters.method", "draft_model"),
        ("sd.spec.engine.podTemplate.affinity", "core/v1 Affinity"),
        ("sd.status.trial.evidence", "State of the judge"),
        ("sd.status.conditions.reason", "documented word"),
    ],
)
def test_kubectl_explains_spec_and_status(apiserver: Kubectl, path: str, words: str) -> None:
    assert words in " ".join(apiserver.run("explain", path).split())
