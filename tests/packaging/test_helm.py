"""What helm makes of the chart: objects for several sets of values, and the values that it refuses."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from specdeploy.engine.catalogue.load import read_entries

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "specdeploy"
KUBERNETES = "1.30.0"
Object = dict[str, Any]
Helm = Callable[..., subprocess.CompletedProcess[str]]
Render = Callable[..., list[Object]]


@pytest.fixture(scope="module")
def helm() -> Helm:
    """Runs helm: the one on the PATH, else the one that devcluster has built."""
    program = shutil.which("helm")
    if program is None:
        command = [sys.executable, "-m", "devcluster", "path"]
        folder = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=True)
        program = shutil.which("helm", path=folder.stdout.strip())
    assert program, "no helm on the PATH and none built: run `python3 -m devcluster up` first"

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=240, check=False)

    return run


@pytest.fixture(scope="module")
def render(helm: Helm) -> Render:
    """Renders the chart as release `demo` in namespace `ops`; each setting is one --set-json."""

    def objects(*settings: str, release: str = "demo") -> list[Object]:
        flags = [f"--set-json={setting}" for setting in settings]
        done = helm(
            "template", release, str(CHART), "--namespace=ops", f"--kube-version={KUBERNETES}", *flags
        )
        assert done.returncode == 0, done.stderr
        return [document for document in yaml.safe_load_all(done.stdout) if document]

    return objects


def named(objects: list[Object], kind: str) -> list[tuple[str | None, str]]:
    """(namespace, name) of every object of a kind, sorted."""
    return sorted(
        (o["metadata"].get("namespace"), o["metadata"]["name"]) for o in objects if o["kind"] == kind
    )


def one(objects: list[Object], kind: str, name: str | None = None) -> Object:
    (found,) = [o for o in objects if o["kind"] == kind and name in (None, o["metadata"]["name"])]
    return found


def resources(role: Object) -> set[str]:
    return {resource for rule in role["rules"] for resource in rule["resources"]}


def environment(objects: list[Object]) -> dict[str, str]:
    (container,) = one(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    return {variable["name"]: variable["value"] for variable in container["env"]}


def test_lint_has_nothing_to_say(helm: Helm) -> None:
    done = helm("lint", "--strict", str(CHART), f"--kube-version={KUBERNETES}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout


def test_the_rendered_crd_is_the_generated_one_and_is_kept(render: Render) -> None:
    crd = one(render(), "CustomResourceDefinition")
    assert crd["metadata"]["annotations"].pop("helm.sh/resource-policy") == "keep"
    assert crd == yaml.safe_load((ROOT / "crds" / "specdeployments.yaml").read_text())


def test_for_all_namespaces_one_cluster_role_holds_every_right(render: Render) -> None:
    objects = render()
    assert not named(objects, "Role")
    role = one(objects, "ClusterRole", "demo-specdeploy")
    assert {"specdeployments/status", "deployments", "nodes", "customresourcedefinitions"} <= resources(role)
    subject = {"kind": "ServiceAccount", "name": "demo-specdeploy", "namespace": "ops"}
    assert one(objects, "ClusterRoleBinding")["subjects"] == [subject]


def test_for_named_namespaces_children_are_written_by_roles_there(render: Render) -> None:
    objects = render('watchNamespaces=["team-a","team-b"]')
    where = [("team-a", "demo-specdeploy"), ("team-b", "demo-specdeploy")]
    assert named(objects, "Role") == named(objects, "RoleBinding") == where
    cluster_wide = resources(one(objects, "ClusterRole", "demo-specdeploy"))
    assert cluster_wide == {"nodes", "customresourcedefinitions"}
    for binding in (o for o in objects if o["kind"] == "RoleBinding"):
        assert binding["subjects"][0]["namespace"] == "ops"
        assert binding["roleRef"]["kind"] == "Role"
    assert environment(objects)["SPECDEPLOY_NAMESPACES"] == "team-a,team-b"


def test_the_same_rights_are_given_in_both_modes(render: Render) -> None:
    everywhere = one(render(), "ClusterRole", "demo-specdeploy")["rules"]
    named_only = render('watchNamespaces=["team-a"]')
    parts = one(named_only, "ClusterRole", "demo-specdeploy")["rules"] + one(named_only, "Role")["rules"]
    assert parts == everywhere


def test_the_defaults_reach_the_operator(render: Render) -> None:
    assert environment(render()) == {
        "SPECDEPLOY_NAMESPACES": "",
        "SPECDEPLOY_MAX_TRIALS": "4",
        "SPECDEPLOY_WORKERS": "8",
        "SPECDEPLOY_LISTEN": "0.0.0.0:8080",
        "SPECDEPLOY_LOG_FORMAT": "json",
        "SPECDEPLOY_LOG_LEVEL": "info",
        "SPECDEPLOY_ENGINE_IMAGE": "",
        "SPECDEPLOY_CATALOG": "",
    }


def test_settings_reach_the_operator(render: Render) -> None:
    objects = render(
        "maxTrials=12",
        "workers=3",
        'logFormat="plain"',
        'logLevel="debug"',
        'defaultEngineImage="mirror/vllm:1"',
        'image={"repository":"mirror/specdeploy","tag":"7"}',
    )
    expected = {
        "SPECDEPLOY_MAX_TRIALS": "12",
        "SPECDEPLOY_WORKERS": "3",
        "SPECDEPLOY_LOG_FORMAT": "plain",
        "SPECDEPLOY_LOG_LEVEL": "debug",
        "SPECDEPLOY_ENGINE_IMAGE": "mirror/vllm:1",
    }
    assert expected.items() <= environment(objects).items()
    (container,) = one(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "mirror/specdeploy:7"


def test_entries_of_the_catalogue_reach_the_operator_as_a_file_and_restart_it_when_they_change(
    render: Render,
) -> None:
    entry = {"model": "org/target", "family": "org", "source": "we", "heads": 24}
    objects = render(f"catalog={json.dumps([entry])}")
    pod = one(objects, "Deployment")["spec"]["template"]
    path = Path(environment(objects)["SPECDEPLOY_CATALOG"])
    (mount,), (volume,) = pod["spec"]["containers"][0]["volumeMounts"], pod["spec"]["volumes"]
    assert Path(mount["mountPath"]) == path.parent
    text = one(objects, "ConfigMap", volume["configMap"]["name"])["data"][path.name]
    assert read_entries(text, path.name)[0].heads == 24
    others = render(f"catalog={json.dumps([entry | {'heads': 32}])}")
    assert (
        pod["metadata"]["annotations"]
        != one(others, "Deployment")["spec"]["template"]["metadata"]["annotations"]
    )


def test_without_entries_there_is_neither_file_nor_volume(render: Render) -> None:
    objects = render()
    assert environment(objects)["SPECDEPLOY_CATALOG"] == ""
    assert named(objects, "ConfigMap") == []
    assert "volumes" not in one(objects, "Deployment")["spec"]["template"]["spec"]


def test_one_operator_runs_and_never_two(render: Render) -> None:
    spec = one(render(), "Deployment")["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})


def test_the_operators_pod_is_restricted(render: Render) -> None:
    pod = one(render(), "Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert "volumes" not in pod


def test_probes_and_service_reach_the_port_that_the_operator_listens_on(render: Render) -> None:
    objects = render('service={"port":9090}')
    (container,) = one(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["ports"] == [{"name": "http", "containerPort": 8080}]
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
    service = one(objects, "Service")["spec"]
    assert service["ports"] == [{"name": "http", "port": 9090, "targetPort": "http"}]
    labels = one(objects, "Deployment")["spec"]["template"]["metadata"]["labels"]
    assert service["selector"].items() <= labels.items()


def test_pod_settings_reach_the_pod(render: Render) -> None:
    pod = one(
        render(
            'nodeSelector={"disk":"ssd"}',
            'tolerations=[{"operator":"Exists"}]',
            'affinity={"nodeAffinity":{}}',
            'podAnnotations={"a":"b"}',
            'podLabels={"team":"x"}',
            'imagePullSecrets=[{"name":"pull"}]',
            'resources={"limits":{"memory":"1Gi"}}',
        ),
        "Deployment",
    )["spec"]["template"]
    assert pod["metadata"]["annotations"] == {"a": "b"}
    assert pod["metadata"]["labels"]["team"] == "x"
    assert pod["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert pod["spec"]["tolerations"] == [{"operator": "Exists"}]
    assert pod["spec"]["affinity"] == {"nodeAffinity": {}}
    assert pod["spec"]["imagePullSecrets"] == [{"name": "pull"}]
    assert pod["spec"]["containers"][0]["resources"]["limits"] == {"memory": "1Gi"}


@pytest.mark.parametrize(
    ("settings", "account"),
    [
        ('serviceAccount={"name":"mine"}', "mine"),
        ('serviceAccount={"create":false,"name":"mine"}', "mine"),
        ('serviceAccount={"create":false}', "default"),
    ],
)
def test_another_service_account_gets_the_rights(render: Render, settings: str, account: str) -> None:
    objects = render(settings)
    assert one(objects, "Deployment")["spec"]["template"]["spec"]["serviceAccountName"] == account
    assert one(objects, "ClusterRoleBinding")["subjects"][0]["name"] == account
    created = named(objects, "ServiceAccount")
    assert created == ([] if '"create":false' in settings else [("ops", account)])


@pytest.mark.parametrize(
    ("setting", "gone"),
    [
        ('crd={"install":false}', {("CustomResourceDefinition", "specdeployments.specdeploy.dev")}),
        (
            'rbac={"create":false}',
            {("ClusterRole", "demo-specdeploy"), ("ClusterRoleBinding", "demo-specdeploy")},
        ),
        (
            'rbac={"aggregate":false}',
            {("ClusterRole", "demo-specdeploy-view"), ("ClusterRole", "demo-specdeploy-edit")},
        ),
    ],
)
def test_a_part_is_left_out_on_request(render: Render, setting: str, gone: set[tuple[str, str]]) -> None:
    def kinds(objects: list[Object]) -> set[tuple[str, str]]:
        return {(o["kind"], o["metadata"]["name"]) for o in objects}

    assert kinds(render()) - kinds(render(setting)) == gone


def test_people_who_may_view_see_and_people_who_may_edit_edit(render: Render) -> None:
    objects = render()
    view = one(objects, "ClusterRole", "demo-specdeploy-view")
    edit = one(objects, "ClusterRole", "demo-specdeploy-edit")
    assert {verb for rule in view["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}
    assert view["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
    for audience in ("edit", "admin"):
        assert edit["metadata"]["labels"][f"rbac.authorization.k8s.io/aggregate-to-{audience}"] == "true"
    by_resource = {resource: rule["verbs"] for rule in edit["rules"] for resource in rule["resources"]}
    assert by_resource["specdeployments/scale"] == ["get", "update", "patch"]
    assert {"create", "update", "patch", "delete"} <= set(by_resource["specdeployments"])
    assert by_resource["specdeployments/status"] == ["get"]


def test_a_release_named_specdeploy_does_not_say_it_twice(render: Render) -> None:
    assert named(render(release="specdeploy"), "Deployment") == [("ops", "specdeploy")]


@pytest.mark.parametrize(
    "setting",
    [
        "maxTrials=0",
        'maxTrials="four"',
        "workers=0",
        'logFormat="xml"',
        'watchNamespaces="team-a"',
        'watchNamespaces=["Team A"]',
        "replicas=2",
        'image={"repositry":"x"}',
        'service={"port":0}',
    ],
)
def test_a_value_that_makes_no_sense_is_refused(helm: Helm, setting: str) -> None:
    done = helm("template", "demo", str(CHART), f"--kube-version={KUBERNETES}", f"--set-json={setting}")
    assert done.returncode != 0
    assert "schema" in done.stderr


@pytest.mark.parametrize(
    ("version", "accepted"), [("1.29.9", False), ("1.30.0", True), ("1.31.2-gke.100", True)]
)
def test_only_a_kubernetes_that_is_new_enough_is_accepted(helm: Helm, version: str, accepted: bool) -> None:
    done = helm("template", "demo", str(CHART), f"--kube-version={version}")
    assert (done.returncode == 0) is accepted


def test_the_notes_say_what_to_do_next(helm: Helm) -> None:
    done = helm("install", "demo", str(CHART), "--namespace=ops", "--dry-run=client")
    assert done.returncode == 0, done.stderr
    notes = done.stdout.partition("NOTES:")[2]
    assert "rollout status deployment/demo-specdeploy" in notes
    assert "kubectl get sd" in notes
