"""What raw pods and Deployments, as a real cluster shows them, become."""

from typing import Any

import pytest

from specdeploy.observe import belongs, controller, deployment, owner_words, pod, pods, strayed_labels
from specdeploy.rollout import Exit

LABELS = {
    "app.kubernetes.io/managed-by": "specdeploy",
    "specdeploy.dev/name": "gemma",
    "specdeploy.dev/revision": "r1",
    "specdeploy.dev/drafter": "dflash",
    "specdeploy.dev/template": "t1",
}
OURS = {"apiVersion": "specdeploy.dev/v1alpha1", "kind": "SpecDeployment", "name": "gemma", "uid": "u1"}


def raw_pod(
    state: dict[str, Any] | None = None,
    last: dict[str, Any] | None = None,
    *,
    conditions: tuple[dict[str, Any], ...] = (),
    phase: str = "Running",
    restarts: int = 0,
    started: bool = False,
    init: tuple[dict[str, Any], ...] = (),
    others: tuple[dict[str, Any], ...] = (),
    **metadata: Any,
) -> dict[str, Any]:
    engine = {
        "name": "vllm",
        "image": "vllm/vllm-openai-rocm:v0.33.0",
        "imageID": "docker.io/vllm/vllm-openai-rocm@sha256:1",
        "ready": False,
        "started": started,
        "restartCount": restarts,
        "state": state or {},
        "lastState": last or {},
    }
    return {
        "metadata": {
            "name": "gemma-dflash-1", "uid": "p1", "labels": LABELS,
            "creationTimestamp": "2026-01-01T00:00:00Z", **metadata,
        },
        "spec": {"nodeName": "n1"},
        "status": {
            "phase": phase,
            "conditions": list(conditions),
            "initContainerStatuses": list(init),
            "containerStatuses": [*others, engine],
        },
    }  # fmt: skip


def ended(code: int, reason: str, message: str = "") -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, "message": message}}


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"waiting": {"reason": reason, "message": message}}


RUNNING = {"running": {"startedAt": "2026-01-01T00:01:00Z"}}


@pytest.mark.parametrize(
    ("state", "last", "exit_"),
    [
        (RUNNING, None, None),
        (RUNNING, ended(137, "OOMKilled"), Exit(137, "OOMKilled", "")),
        (waiting("CrashLoopBackOff"), ended(1, "Error", "no HIP GPUs"), Exit(1, "Error", "no HIP GPUs")),
        (ended(2, "Error", "unrecognized arguments"), None, Exit(2, "Error", "unrecognized arguments")),
        (ended(0, "Completed"), ended(1, "Error", "earlier"), Exit(0, "Completed", "")),
        (RUNNING, ended(137, "ContainerStatusUnknown", "could not be located"), None),
        (ended(137, "ContainerStatusUnknown"), ended(1, "Error", "x"), Exit(1, "Error", "x")),
        (RUNNING, ended(255, "Unknown"), None),
        (RUNNING, ended(255, "Error", "x"), Exit(255, "Error", "x")),
        ({"terminated": {}}, None, None),
    ],
)
def test_how_an_engine_ended_last(
    state: dict[str, Any], last: dict[str, Any] | None, exit_: Exit | None
) -> None:
    assert pod(raw_pod(state, last)).exit == exit_


@pytest.mark.parametrize(
    ("state", "init", "others", "wanted"),
    [
        (waiting("ImagePullBackOff", "no such tag"), (), (), ("ImagePullBackOff", "no such tag")),
        (waiting("CrashLoopBackOff", "back-off"), (), (), ("CrashLoopBackOff", "back-off")),
        (waiting("ContainerCreating"), (), (), ("ContainerCreating", "")),
        (waiting("PodInitializing"), ({"name": "i", "state": RUNNING},), (), ("PodInitializing", "")),
        ({"waiting": {}}, (), (), None),
        (
            waiting("PodInitializing"),
            ({"name": "i", "state": waiting("CrashLoopBackOff", "init")},),
            (),
            ("CrashLoopBackOff", "init"),
        ),
        (
            waiting("ContainerCreating"),
            (),
            ({"name": "sidecar", "state": waiting("ErrImagePull", "denied")},),
            ("ErrImagePull", "denied"),
        ),
        (RUNNING, (), (), None),
    ],
)
def test_what_a_container_waits_for_trouble_first(
    state: dict[str, Any],
    init: tuple[dict[str, Any], ...],
    others: tuple[dict[str, Any], ...],
    wanted: tuple[str, str] | None,
) -> None:
    assert pod(raw_pod(state, init=init, others=others)).waiting == wanted


@pytest.mark.parametrize(
    ("state", "since"),
    [(RUNNING, 1767225660.0), ({"running": {}}, None), (waiting("CrashLoopBackOff"), None), (None, None)],
)
def test_since_when_the_engine_runs_is_its_own_start_not_its_pods(
    state: dict[str, Any] | None, since: float | None
) -> None:
    assert pod(raw_pod(state, ended(255, "Unknown"))).running_since == since


@pytest.mark.parametrize(
    ("times", "ran"),
    [
        ({"startedAt": "2026-01-01T00:01:00Z", "finishedAt": "2026-01-01T00:21:00Z"}, 1200.0),
        ({"startedAt": None, "finishedAt": "2026-01-01T00:21:00Z"}, None),
        ({}, None),
    ],
)
def test_how_long_an_engine_had_run_before_it_ended(times: dict[str, str | None], ran: float | None) -> None:
    state = ended(1, "Error", "x")
    seen = pod(raw_pod(RUNNING, {"terminated": {**state["terminated"], **times}}))
    assert seen.exit == Exit(1, "Error", "x", ran)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"},
            "0/3 nodes",
        ),
        ({"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}, "no node has room"),
        ({"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}, "SchedulingGated"),
        (
            {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "a gate"},
            "SchedulingGated: a gate",
        ),
        ({"type": "PodScheduled", "status": "True"}, None),
    ],
)
def test_why_a_pod_finds_no_room(condition: dict[str, Any], words: str | None) -> None:
    assert pod(raw_pod(conditions=(condition,))).unschedulable == words


@pytest.mark.parametrize(
    ("phase", "reason"),
    [
        ("Failed", "Evicted"),
        ("Failed", "UnexpectedAdmissionError"),
        ("Failed", "NodeShutdown"),
        ("Succeeded", ""),
    ],
)
def test_a_pod_that_has_finished_is_no_pod(phase: str, reason: str) -> None:
    finished = raw_pod(phase=phase)
    finished["status"]["reason"] = reason
    assert pods([finished]) == ()


def test_a_ready_pod_says_since_when_and_on_what() -> None:
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:02:00Z"}
    seen = pod(raw_pod(RUNNING, conditions=(ready,), started=True, restarts=2))
    assert (seen.ready, seen.ready_since, seen.created) == (True, 1767225720.0, 1767225600.0)
    assert (seen.started, seen.restarts, seen.template, seen.node) == (True, 2, "t1", "n1")
    assert seen.image_id == "docker.io/vllm/vllm-openai-rocm@sha256:1"


@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_a_pod_that_is_not_ready_has_no_time_since_it_was(status: str) -> None:
    condition = {"type": "Ready", "status": status, "lastTransitionTime": "2026-01-01T00:02:00Z"}
    seen = pod(raw_pod(conditions=(condition,)))
    assert (seen.ready, seen.ready_since) == (False, None)


def test_a_deleted_pod_is_terminating_and_says_until_when() -> None:
    seen = pod(raw_pod(deletionTimestamp="2026-01-01T00:05:00Z"))
    assert (seen.terminating, seen.gone_by) == (True, 1767225900.0)


NOTHING = {"conditions": None, "containerStatuses": None, "phase": "Pending"}


@pytest.mark.parametrize(
    "raw", [{}, {"metadata": {}, "status": {}}, {"metadata": {"labels": None}, "status": NOTHING}]
)
def test_a_pod_with_hardly_anything_in_it_is_read_without_a_fault(raw: dict[str, Any]) -> None:
    [seen] = pods([raw])
    assert (seen.ready, seen.template, seen.exit) == (False, "", None)


def raw_deployment(owner: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "gemma-dflash-t1", "uid": "d1", "resourceVersion": "7", "labels": LABELS,
            "ownerReferences": [owner] if owner else [], **metadata,
        },
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"specdeploy.dev/template": "t1"}},
            "template": {"metadata": {"labels": LABELS}},
        },
    }  # fmt: skip


@pytest.mark.parametrize(
    ("owner", "ours", "words"),
    [
        ({**OURS, "controller": True}, True, "SpecDeployment gemma"),
        ({**OURS, "uid": "another", "controller": True}, False, "SpecDeployment gemma"),
        (OURS, False, "nobody we know (no controller)"),
        (None, False, "nobody we know (no controller)"),
    ],
)
def test_a_deployment_is_ours_if_its_controller_is_this_very_object(
    owner: dict[str, Any] | None, ours: bool, words: str
) -> None:
    raw = raw_deployment(owner)
    assert (deployment(raw, "u1").ours, belongs(raw, "u1"), owner_words(raw)) == (ours, ours, words)
    assert (controller(raw) is None) == (words.startswith("nobody"))


@pytest.mark.parametrize(("revision", "edited"), [("1", False), ("2", True), (None, False)])
def test_a_deployment_whose_template_was_edited_is_at_a_later_revision(
    revision: str | None, edited: bool
) -> None:
    annotations = {"deployment.kubernetes.io/revision": revision} if revision else {}
    assert deployment(raw_deployment(annotations=annotations), "u1").edited is edited


FORBIDDEN = 'pods "x" is forbidden: exceeded quota'


@pytest.mark.parametrize(
    ("conditions", "failure"),
    [
        ([{"type": "ReplicaFailure", "status": "True", "message": FORBIDDEN}], FORBIDDEN),
        ([{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}], "FailedCreate"),
        ([{"type": "ReplicaFailure", "status": "True"}], "no reason is given"),
        ([{"type": "ReplicaFailure", "status": "False", "message": "x"}], ""),
        ([{"type": "Progressing", "status": "True", "message": "x"}], ""),
        (None, ""),
    ],
)
def test_why_pods_are_refused_at_creation_is_read_from_their_deployment(
    conditions: list[dict[str, Any]] | None, failure: str
) -> None:
    raw = {**raw_deployment(), "status": {"conditions": conditions}}
    assert deployment(raw, "u1").failure == failure


@pytest.mark.parametrize(("number", "wanted"), [("3", 3), ("x", 0), ("", 0), (None, 0), ("-1", 0)])
def test_the_render_version_is_a_number_or_none(number: str | None, wanted: int) -> None:
    annotations = {"specdeploy.dev/render-version": number} if number is not None else {}
    assert deployment(raw_deployment(annotations=annotations), "u1").render_version == wanted


@pytest.mark.parametrize(
    ("entries", "manager"),
    [
        ([{"manager": "specdeploy", "fieldsV1": {"f:spec": {"f:replicas": {}}}}], ""),
        ([{"manager": "kubectl", "fieldsV1": {"f:spec": {"f:replicas": {}}}}], "kubectl"),
        ([{"manager": "kubectl", "fieldsV1": {"f:spec": {"f:paused": {}}}}], ""),
        ([{"manager": "kubectl", "fieldsV1": None}], ""),
        (None, ""),
    ],
)
def test_who_wrote_replicas_last(entries: list[dict[str, Any]] | None, manager: str) -> None:
    assert deployment(raw_deployment(managedFields=entries), "u1").replicas_manager == manager


def test_the_template_is_read_from_the_selector_which_nobody_can_edit() -> None:
    edited = raw_deployment(labels={**LABELS, "specdeploy.dev/template": "other"})
    assert deployment(edited, "u1").template == "t1"
    assert strayed_labels(edited) == {"specdeploy.dev/template": "t1"}
    assert strayed_labels(raw_deployment()) == {}
    assert strayed_labels({}) == {}
