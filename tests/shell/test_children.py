"""Children: what is made, what is put right, and that nothing of others is ever touched."""

from typing import Any

import pytest

from specdeploy.api.names import ANNOTATION_ADOPT, LABEL_NAME
from specdeploy.cluster import BUDGETS, DEPLOYMENTS, PODS, SERVICES, Conflict, Forbidden, Kind, Refused
from specdeploy.cluster import SPEC_DEPLOYMENTS as SPEC
from tests.shell.stage import Stage, spec

OTHER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "theirs", "uid": "uid-x", "controller": True}
THEIR_SERVICE = {"metadata": {"name": "gemma"}, "spec": {"type": "ClusterIP", "selector": {"app": "theirs"}}}
THEIR_BUDGET = {"metadata": {"name": "gemma"}, "spec": {"minAvailable": 7}}


def make(**more: Any) -> Stage:
    return Stage(spec("dflash", **more), {"dflash": 1.8})


def calm(**more: Any) -> Stage:
    """Paused, so that no trial moves a pod."""
    return make(paused=True, **more)


def orphaned(stage: Stage) -> None:
    """kubectl delete --cascade=orphan, and the object made anew."""
    stage.cluster.remove(SPEC, "gemma")
    for kind in (DEPLOYMENTS, SERVICES, BUDGETS):
        for child in stage.cluster.of(kind):
            stage.cluster.edit(kind, child["metadata"]["name"], {"metadata": {"ownerReferences": None}})
    stage.cluster.put(SPEC, "default", {"metadata": {"name": "gemma"}, "spec": stage.spec})


def made_anew(stage: Stage) -> None:
    """The object was deleted and made anew before the collector came."""
    stage.cluster.remove(SPEC, "gemma")
    stage.cluster.put(SPEC, "default", {"metadata": {"name": "gemma"}, "spec": stage.spec})


def writes_to(stage: Stage, kind: Kind) -> list[tuple[str, str, str]]:
    return [write for write in stage.cluster.writes if write[1] == kind.plural]


def uid(stage: Stage) -> str:
    return str(stage.cluster.sd()["metadata"]["uid"])


async def test_everything_that_is_made_belongs_to_its_object_and_has_its_labels() -> None:
    stage = await calm().run(3)
    children = [c for kind in (DEPLOYMENTS, SERVICES, BUDGETS) for c in stage.cluster.of(kind)]
    assert len(children) == 3
    for child in children:
        [owner] = child["metadata"]["ownerReferences"]
        assert (owner["uid"], owner["controller"], owner["blockOwnerDeletion"]) == (uid(stage), True, False)
        assert child["metadata"]["labels"][LABEL_NAME] == "gemma"


@pytest.mark.parametrize(
    ("kind", "theirs", "fix"),
    [(SERVICES, THEIR_SERVICE, "spec.service.create: false"), (BUDGETS, THEIR_BUDGET, "delete it")],
)
@pytest.mark.parametrize("owned", [True, False])
async def test_an_object_of_the_same_name_that_is_not_ours_is_told_and_never_touched(
    kind: Kind, theirs: dict[str, Any], fix: str, owned: bool
) -> None:
    stage = make()
    meta = {"name": "gemma"} | ({"ownerReferences": [OTHER]} if owned else {})
    before = stage.cluster.put(kind, "default", {**theirs, "metadata": meta})
    await stage.run(40)
    assert stage.cluster.one(kind, "gemma") == before
    assert writes_to(stage, kind) == []
    status, reason, message = stage.condition("Ready")
    assert (status, reason) == ("False", "NameTaken")
    assert ("ConfigMap theirs" if owned else "nobody we know") in message
    assert fix in message
    assert stage.status.trial is None
    assert stage.replicas() == {"baseline": 4}  # the engines serve all the same
    assert stage.latest is not None
    assert stage.latest <= 35


async def test_when_the_name_is_free_the_service_is_made_and_all_is_well() -> None:
    stage = make()
    stage.cluster.put(SERVICES, "default", THEIR_SERVICE)
    await stage.run(10)
    stage.cluster.remove(SERVICES, "gemma")
    await stage.run(10)
    assert stage.cluster.one(SERVICES, "gemma")["spec"]["selector"] == {LABEL_NAME: "gemma"}
    assert stage.condition("Ready")[0] == "True"


async def test_a_service_made_by_somebody_between_our_look_and_our_write_is_not_taken_over() -> None:
    stage = make()

    def meanwhile(verb: str, kind: Kind, name: str) -> None:
        if (verb, kind) == ("apply", SERVICES) and (
            "services",
            "default",
            "gemma",
        ) not in stage.cluster.objects:
            stage.cluster.put(SERVICES, "default", THEIR_SERVICE)

    stage.cluster.fault = meanwhile
    await stage.run(10)
    assert stage.cluster.one(SERVICES, "gemma")["spec"] == THEIR_SERVICE["spec"]
    assert stage.condition("Ready")[1] == "NameTaken"


async def test_without_a_service_to_make_their_service_is_nobodys_business() -> None:
    stage = make(service={"create": False})
    stage.cluster.put(SERVICES, "default", THEIR_SERVICE)
    await stage.run(10)
    assert stage.condition("Ready")[0] == "True"
    assert writes_to(stage, SERVICES) == []


async def test_a_service_that_is_wanted_no_more_stays_as_it_is() -> None:
    stage = await make().run(5)
    before = stage.cluster.one(SERVICES, "gemma")
    stage.cluster.edit(SPEC, "gemma", {"spec": {"service": {"create": False, "port": 9000}}})
    await stage.run(5)
    assert stage.cluster.one(SERVICES, "gemma") == before


@pytest.mark.parametrize(
    "edit",
    [
        {"spec": {"selector": {LABEL_NAME: "other"}}},
        {"spec": {"type": "NodePort"}},
        {"metadata": {"labels": {LABEL_NAME: "other"}}},
    ],
)
async def test_a_service_edited_by_hand_is_put_right_and_the_editor_named(edit: dict[str, Any]) -> None:
    stage = await make().run(5)
    stage.cluster.edit(SERVICES, "gemma", edit)
    await stage.run(2)
    service = stage.cluster.one(SERVICES, "gemma")
    assert service["spec"]["selector"] == {LABEL_NAME: "gemma"}
    assert service["spec"]["type"] == "ClusterIP"
    assert service["metadata"]["labels"][LABEL_NAME] == "gemma"
    told = [e for e in stage.cluster.objects.values() if e.get("reason") == "ChildEdited"]
    assert len(told) == 1
    assert '"kubectl-edit"' in told[0]["message"]


async def test_what_others_add_to_a_service_stays_and_costs_no_write() -> None:
    stage = await make().run(5)
    port = {"name": "extra", "port": 9100, "protocol": "TCP"}
    live = stage.cluster.one(SERVICES, "gemma")
    additions = {
        "metadata": {"annotations": {"theirs": "1"}},
        "spec": {"ports": [*live["spec"]["ports"], port], "clusterIP": "10.1.2.3"},
    }
    stage.cluster.edit(SERVICES, "gemma", additions)
    stage.cluster.writes.clear()
    await stage.run(5)
    assert writes_to(stage, SERVICES) == []
    assert port in stage.cluster.one(SERVICES, "gemma")["spec"]["ports"]


async def test_what_leaves_the_spec_leaves_the_service_and_what_changes_is_changed() -> None:
    stage = await make(service={"port": 8000, "annotations": {"a": "1", "b": "2"}}).run(5)
    stage.cluster.edit(SERVICES, "gemma", {"metadata": {"annotations": {"theirs": "3"}}})
    edit = {"service": {"port": 9000, "annotations": {"b": None}}}
    stage.cluster.edit(SPEC, "gemma", {"spec": edit})
    await stage.run(3)
    service = stage.cluster.one(SERVICES, "gemma")
    assert service["metadata"]["annotations"] == {"a": "1", "theirs": "3"}
    assert [port["port"] for port in service["spec"]["ports"]] == [9000]
    stage.cluster.writes.clear()
    await stage.run(3)
    assert writes_to(stage, SERVICES) == []


async def test_a_service_or_budget_that_was_deleted_comes_back() -> None:
    stage = await make().run(5)
    stage.cluster.remove(SERVICES, "gemma")
    stage.cluster.remove(BUDGETS, "gemma")
    await stage.run(2)
    assert len(stage.cluster.of(SERVICES)) == len(stage.cluster.of(BUDGETS)) == 1


async def test_the_budget_follows_the_pods_that_must_serve() -> None:
    stage = await make().run(2)
    assert stage.cluster.one(BUDGETS, "gemma")["spec"]["minAvailable"] == 3
    await stage.run(40, Stage.measuring)
    assert stage.cluster.one(BUDGETS, "gemma")["spec"]["minAvailable"] == 2
    stage.cluster.edit(SPEC, "gemma", {"spec": {"replicas": 1}})
    await stage.run(5)
    assert stage.cluster.one(BUDGETS, "gemma")["spec"]["minAvailable"] == 0


async def test_children_left_over_from_a_deleted_namesake_are_waited_for_and_never_touched() -> None:
    stage = await calm().run(5)
    made_anew(stage)
    before = {kind: stage.cluster.of(kind) for kind in (DEPLOYMENTS, SERVICES, BUDGETS)}
    await stage.run(5)
    for kind, objects in before.items():
        assert stage.cluster.of(kind) == objects
    assert stage.condition("Ready")[1] == "NameTaken"
    assert "left over from a deleted SpecDeployment of this name" in stage.condition("Ready")[2]
    for kind in (DEPLOYMENTS, SERVICES, BUDGETS, PODS):  # the collector comes
        for child in stage.cluster.of(kind):
            stage.cluster.remove(kind, child["metadata"]["name"])
    await stage.run(10)
    assert stage.condition("Ready")[:2] == ("True", "Serving")
    assert stage.replicas() == {"baseline": 4}


async def test_orphans_are_left_alone_and_the_way_to_adopt_them_is_told() -> None:
    stage = await calm().run(5)
    orphaned(stage)
    before = {kind: stage.cluster.of(kind) for kind in (DEPLOYMENTS, SERVICES, BUDGETS)}
    await stage.run(5)
    for kind, objects in before.items():
        assert stage.cluster.of(kind) == objects
    assert f'{ANNOTATION_ADOPT}: "true"' in stage.condition("Ready")[2]


async def test_orphans_are_adopted_where_the_object_asks_and_no_engine_restarts() -> None:
    stage = await calm().run(5)
    pods = {pod["metadata"]["uid"] for pod in stage.cluster.of(PODS)}
    orphaned(stage)
    stage.cluster.edit(SPEC, "gemma", {"metadata": {"annotations": {ANNOTATION_ADOPT: "true"}}})
    await stage.run(3)
    assert stage.condition("Ready")[:2] == ("True", "Serving")
    assert {pod["metadata"]["uid"] for pod in stage.cluster.of(PODS)} == pods
    for kind in (DEPLOYMENTS, SERVICES, BUDGETS):
        [child] = stage.cluster.of(kind)
        assert child["metadata"]["ownerReferences"][0]["uid"] == uid(stage)
    assert "Adopted" in stage.reasons()


async def test_what_another_controls_is_not_adopted_whatever_the_object_asks() -> None:
    stage = await calm().run(5)
    orphaned(stage)
    [name] = [d["metadata"]["name"] for d in stage.cluster.of(DEPLOYMENTS)]
    stage.cluster.edit(DEPLOYMENTS, name, {"metadata": {"ownerReferences": [OTHER]}})
    stage.cluster.edit(SPEC, "gemma", {"metadata": {"annotations": {ANNOTATION_ADOPT: "true"}}})
    before = stage.cluster.of(DEPLOYMENTS)
    await stage.run(5)
    assert stage.cluster.of(DEPLOYMENTS) == before


async def test_a_conflict_that_the_spec_has_left_behind_is_forgotten() -> None:
    stage = await calm().run(5)
    orphaned(stage)
    await stage.run(2)
    for kind in (SERVICES, BUDGETS):
        stage.cluster.remove(kind, "gemma")
    stage.cluster.edit(SPEC, "gemma", {"spec": {"engine": {"args": ["--seed=1"]}}})
    await stage.run(10)
    assert stage.condition("Ready")[:2] == ("True", "Serving")


async def test_replicas_scaled_by_hand_on_a_child_are_put_right() -> None:
    stage = await calm().run(3)
    [name] = [d["metadata"]["name"] for d in stage.cluster.of(DEPLOYMENTS)]
    manager = {"manager": "kubectl-scale", "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    stage.cluster.edit(DEPLOYMENTS, name, {"spec": {"replicas": 7}, "metadata": {"managedFields": [manager]}})
    await stage.look()
    assert stage.replicas() == {"baseline": 4}
    [told] = [e for e in stage.cluster.objects.values() if e.get("reason") == "ReplicasEdited"]
    assert "kubectl-scale" in told["message"]


@pytest.mark.parametrize("label", [LABEL_NAME, "specdeploy.dev/template"])
async def test_labels_of_a_deployment_edited_by_hand_move_no_pod_and_are_put_right(label: str) -> None:
    stage = await calm().run(5)
    [name] = [d["metadata"]["name"] for d in stage.cluster.of(DEPLOYMENTS)]
    wanted = stage.cluster.one(DEPLOYMENTS, name)["metadata"]["labels"]
    stage.cluster.edit(DEPLOYMENTS, name, {"metadata": {"labels": {label: "other"}}})
    await stage.run(3)
    assert stage.cluster.one(DEPLOYMENTS, name)["metadata"]["labels"] == wanted
    assert stage.cluster.one(DEPLOYMENTS, name)["spec"]["replicas"] == 4
    assert stage.condition("Ready")[:2] == ("True", "Serving")


async def test_a_deployment_of_others_with_our_labels_and_its_pods_do_not_count() -> None:
    stage = await calm().run(5)
    [ours] = stage.cluster.of(DEPLOYMENTS)
    theirs = {
        "metadata": {"name": "theirs", "labels": ours["metadata"]["labels"], "ownerReferences": [OTHER]},
        "spec": {**ours["spec"], "selector": {"matchLabels": {"specdeploy.dev/template": "other"}}},
    }
    before = stage.cluster.put(DEPLOYMENTS, "default", theirs)
    labels = {**ours["metadata"]["labels"], "specdeploy.dev/template": "other"}
    pod = {"metadata": {"name": "their-pod", "labels": labels}, "spec": {}, "status": {"phase": "Running"}}
    stage.cluster.put(PODS, "default", pod)
    await stage.look()
    assert stage.status.capacity is not None
    assert stage.status.capacity.summary == "4/4"
    assert stage.cluster.one(DEPLOYMENTS, "theirs") == before


async def test_a_deployment_that_the_server_refuses_ends_the_trial_before_a_pod_is_taken_for_it() -> None:
    stage = make()

    def refuse(verb: str, kind: Kind, name: str) -> Refused | None:
        return Refused("spec.template: no such class") if verb == "create" and "dflash" in name else None

    stage.cluster.fault = refuse
    for _ in range(40):
        await stage.step()
        assert stage.replicas() == {"baseline": 4}
    assert stage.verdicts() == {"dflash": "Invalid"}
    assert "no such class" in (stage.status.verdicts or [])[0].message  # type: ignore[operator]
    assert stage.condition("Ready")[0] == "True"


async def test_a_refused_baseline_is_told_with_the_servers_words_and_mended_by_the_spec() -> None:
    stage = make()
    refused = {"on": True}

    def refuse(verb: str, kind: Kind, name: str) -> Refused | None:
        return (
            Refused("priority class none")
            if refused["on"] and (verb, kind) == ("create", DEPLOYMENTS)
            else None
        )

    stage.cluster.fault = refuse
    await stage.run(3)
    assert stage.condition("Ready")[:2] == ("False", "InvalidSpec")
    assert "priority class none" in stage.condition("Ready")[2]
    # The refusal held the other children up for one pass, not for as long as it lasts.
    assert len(stage.cluster.of(SERVICES)) == len(stage.cluster.of(BUDGETS)) == 1
    refused["on"] = False
    await stage.run(6)
    assert stage.condition("Ready")[:2] == ("True", "Serving")


async def test_missing_rights_for_deployments_are_told_and_stop_nothing_else() -> None:
    stage = make()
    stage.cluster.fault = lambda verb, kind, name: Forbidden("no") if verb == "create" else None
    await stage.run(8)
    assert stage.serving() == "baseline"
    assert stage.condition("Ready") == ("False", "ChildRefused", "a Deployment can't be made: no")
    assert len(stage.cluster.of(SERVICES)) == len(stage.cluster.of(BUDGETS)) == 1


async def test_a_deployment_that_changed_since_it_was_read_is_read_again_before_it_is_scaled() -> None:
    stage = await calm().run(3)
    stage.cluster.edit(SPEC, "gemma", {"spec": {"replicas": 3}})
    turns = {"n": 0}

    def touched(verb: str, kind: Kind, name: str) -> Conflict | None:
        turns["n"] += verb == "merge"
        return Conflict("the object has been modified") if verb == "merge" and turns["n"] == 1 else None

    stage.cluster.fault = touched
    await stage.look()
    assert stage.replicas() == {"baseline": 3}
