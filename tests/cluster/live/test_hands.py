"""What people do by hand while a trial runs: scale, delete, edit, take a name."""

from collections.abc import Callable
from typing import Any

from tests.cluster.kube import eventually
from tests.cluster.live.conftest import SOMEBODYS_SERVICE, Stage
from tests.cluster.live.journal import Status, condition, outcomes, ready_reason, trial_state, verdict

ON_STAGE = ("Starting", "WarmingUp", "Measuring")


def on_stage(status: Status, attempt: int = 1) -> bool:
    return trial_state(status) in ON_STAGE and status["trial"]["attempt"] == attempt


def selector(name: str, drafter: str | None) -> str:
    return f"specdeploy.dev/name={name}" + (f",specdeploy.dev/drafter={drafter}" if drafter else "")


def deployments(stage: Stage, name: str, drafter: str | None = None) -> list[dict[str, Any]]:
    found = stage.kubectl.json("get", "deployments", f"--selector={selector(name, drafter)}")
    items: list[dict[str, Any]] = found["items"]
    return items


def pods(stage: Stage, name: str, drafter: str | None = None) -> list[str]:
    return stage.kubectl.run("get", "pods", f"--selector={selector(name, drafter)}", "--output=name").split()


def settled_at(replicas: int) -> Callable[[Status], bool]:
    """Whether so many pods are wanted and ready."""
    return lambda s: (s.get("capacity") or {}).get("summary") == f"{replicas}/{replicas}"


def test_scaling_below_a_trial_ends_it_without_quarantine_and_it_is_tried_again(stage: Stage) -> None:
    journal, kubectl = stage.journal, stage.kubectl
    journal.wait("scaled", on_stage, what="a trial")

    kubectl.run("scale", "sd/scaled", "--replicas=1")
    waits = journal.step("scaled", lambda s: trial_state(s) == "WaitingForCapacity", what="a waiting trial")
    ended = verdict(waits, "steady")
    assert (ended["outcome"], ended["reason"]) == ("Aborted", "TooFewReplicas")
    assert waits["trial"]["reason"] == "TooFewReplicas"
    assert "a trial needs 2 replicas" in waits["message"] + condition(waits, "Trialing")["message"]

    kubectl.run("scale", "sd/scaled", "--replicas=0")
    journal.step("scaled", lambda s: ready_reason(s) == "ScaledToZero", what="scaled to zero")
    eventually(lambda: not pods(stage, "scaled"), every=1)
    path = f"/apis/specdeploy.dev/v1alpha1/namespaces/{kubectl.namespace}/specdeployments/scaled/scale"
    eventually(lambda: '"replicas":0' in kubectl.run("get", f"--raw={path}").split('"status"')[1])

    before = len(journal.history("scaled"))
    kubectl.run("scale", "sd/scaled", "--replicas=1")
    eventually(lambda: any(map(settled_at(1), journal.history("scaled")[before:])), every=1)
    assert outcomes(journal.latest("scaled")) == {"steady": "Aborted"}, "nothing was lost meanwhile"

    kubectl.run("scale", "sd/scaled", "--replicas=2")
    again = journal.step(
        "scaled",
        lambda s: on_stage(s, attempt=2) and trial_state(s) != "Starting",
        what="a second attempt whose pod is ready",
    )
    assert again["trial"]["drafter"] == "steady"
    assert len(pods(stage, "scaled", "steady")) == 1


def test_a_pod_deleted_in_a_trial_is_replaced_and_the_trial_goes_on(stage: Stage) -> None:
    journal, kubectl = stage.journal, stage.kubectl
    warm = journal.wait(
        "edited", lambda s: trial_state(s) in ("WarmingUp", "Measuring"), what="a ready trial"
    )
    first = pods(stage, "edited", "steady")
    kubectl.run("delete", *first, "--wait=false")
    journal.step("edited", lambda s: (s.get("trial") or {}).get("reason") == "PodReplaced", what="told")
    eventually(lambda: not set(first) & set(pods(stage, "edited", "steady")), every=1)
    eventually(lambda: settled_at(2)(journal.latest("edited")), every=1)
    now = journal.latest("edited")["trial"]
    assert (now["attempt"], now["startTime"]) == (1, warm["trial"]["startTime"])


def test_a_scaled_deployment_is_put_right_and_its_editor_is_named(stage: Stage) -> None:
    journal, kubectl = stage.journal, stage.kubectl
    journal.wait("edited", lambda s: trial_state(s) in ("WarmingUp", "Measuring"), what="a ready trial")
    (baseline,) = deployments(stage, "edited", "baseline")
    name = baseline["metadata"]["name"]
    kubectl.run("scale", f"deployment/{name}", "--replicas=3")
    eventually(lambda: bool(stage.events("edited", "ReplicasEdited")), every=0.5)
    (told,) = stage.events("edited", "ReplicasEdited")
    assert told == f"kubectl set replicas of {name} to 3; put right to 1"
    eventually(lambda: [d["spec"]["replicas"] for d in deployments(stage, "edited", "baseline")] == [1])


def test_a_service_of_somebody_else_is_untouched_told_and_waited_for(stage: Stage) -> None:
    journal, kubectl = stage.journal, stage.kubectl
    taken = journal.wait("taken", lambda s: ready_reason(s) == "NameTaken", what="told")
    words = condition(taken, "Ready")["message"]
    assert "Service taken belongs to nobody we know (no controller) and is not taken over" in words
    assert "set spec.service.create: false" in words
    service = kubectl.json("get", "service", "taken")
    assert service["metadata"]["labels"] == SOMEBODYS_SERVICE["metadata"]["labels"]
    assert service["spec"]["selector"] == SOMEBODYS_SERVICE["spec"]["selector"]
    assert "ownerReferences" not in service["metadata"]

    kubectl.run("delete", "service", "taken")
    journal.step("taken", lambda s: ready_reason(s) == "Serving", what="goes on by itself")
    ours = kubectl.json("get", "service", "taken")
    assert ours["metadata"]["ownerReferences"][0]["kind"] == "SpecDeployment"


def test_deleting_the_object_removes_all_of_its_children(stage: Stage) -> None:
    stage.journal.step("taken", lambda s: ready_reason(s) == "Serving", what="serving")
    stage.kubectl.run("delete", "sd", "taken", "--timeout=120s")
    kinds = "deployments,services,poddisruptionbudgets,pods"
    left = ("get", kinds, "--selector=specdeploy.dev/name=taken", "--output=name")
    eventually(lambda: not stage.kubectl.run(*left).split(), every=1)


def test_deleting_the_object_alone_leaves_its_engines_serving(stage: Stage) -> None:
    journal, kubectl = stage.journal, stage.kubectl
    eventually(lambda: settled_at(2)(journal.latest("edited")) and len(pods(stage, "edited")) == 2, every=1)
    before = set(pods(stage, "edited"))
    kubectl.run("delete", "sd", "edited", "--cascade=orphan", "--timeout=120s")
    eventually(
        lambda: all("ownerReferences" not in d["metadata"] for d in deployments(stage, "edited")), every=1
    )
    assert set(pods(stage, "edited")) == before
    left = [d["metadata"]["name"] for d in deployments(stage, "edited")]
    kubectl.run("delete", "deployments", *left)
