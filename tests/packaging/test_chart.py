"""The chart's files as they are; test_helm.py has what helm makes of them."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from specdeploy.settings import Settings, variable

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "specdeploy"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
TEMPLATES = {path.name: path.read_text() for path in (CHART / "templates").iterdir()}


def paths(values: dict[str, Any], schema: dict[str, Any], at: str = "") -> Iterator[str]:
    """Paths of the values, as far down as the schema names keys."""
    for key, value in values.items():
        below = schema.get("properties", {}).get(key, {})
        if isinstance(value, dict) and "properties" in below and key != "resources":
            yield from paths(value, below, f"{at}.{key}")
        else:
            yield f"{at}.{key}"


def schema_paths(schema: dict[str, Any], at: str = "") -> Iterator[str]:
    """Paths that the schema allows."""
    for key, below in schema["properties"].items():
        if "properties" in below and key != "resources":
            yield from schema_paths(below, f"{at}.{key}")
        else:
            yield f"{at}.{key}"


def closed(schema: Any) -> Iterator[bool]:
    """For each part of the schema that names keys: does it refuse others?"""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield schema.get("additionalProperties") is False
        for below in schema.values():
            yield from closed(below)


def rules(name: str) -> list[dict[str, list[str]]]:
    """The RBAC rules that rbac.yaml defines under this name."""
    block = re.search(
        rf'define "specdeploy\.{name}" -}}}}\n(.*?){{{{- end', TEMPLATES["rbac.yaml"], flags=re.DOTALL
    )
    assert block
    found: list[dict[str, list[str]]] = yaml.safe_load(block[1])
    return found


def test_the_schema_and_the_values_have_the_same_keys() -> None:
    assert set(paths(VALUES, SCHEMA)) | {".global"} == set(schema_paths(SCHEMA))


def test_the_schema_refuses_keys_that_it_does_not_know() -> None:
    assert all(closed(SCHEMA))


@pytest.mark.parametrize("path", sorted(paths(VALUES, SCHEMA)))
def test_every_value_is_used_by_a_template(path: str) -> None:
    assert re.search(rf"\.Values{re.escape(path)}\b", "".join(TEMPLATES.values()))


def test_the_chart_installs_the_crd_that_the_types_generate() -> None:
    generated = (ROOT / "crds" / "specdeployments.yaml").read_bytes()
    assert (CHART / "files" / "specdeployments.yaml").read_bytes() == generated


def test_the_crd_is_no_file_that_helm_would_never_upgrade() -> None:
    assert not (CHART / "crds").exists()


def test_the_chart_has_the_version_of_the_project() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert (chart["version"], chart["appVersion"]) == (version, version)
    assert chart["kubeVersion"] == ">=1.30.0-0"


def test_the_operator_may_do_in_namespaces_what_it_does_and_no_more() -> None:
    assert rules("namespacedRules") == [
        {
            "apiGroups": ["specdeploy.dev"],
            "resources": ["specdeployments"],
            "verbs": ["get", "list", "watch"],
        },
        {
            "apiGroups": ["specdeploy.dev"],
            "resources": ["specdeployments/status"],
            "verbs": ["update"],
        },
        {
            "apiGroups": ["apps"],
            "resources": ["deployments"],
            "verbs": ["get", "list", "watch", "create", "patch", "delete"],
        },
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["services"], "verbs": ["get", "create", "patch"]},
        {
            "apiGroups": ["policy"],
            "resources": ["poddisruptionbudgets"],
            "verbs": ["get", "create", "patch"],
        },
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
    ]


def test_cluster_wide_the_operator_only_reads_nodes_and_its_own_crd() -> None:
    assert rules("clusterRules") == [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]},
        {
            "apiGroups": ["apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions"],
            "resourceNames": ["specdeployments.specdeploy.dev"],
            "verbs": ["get"],
        },
    ]


@pytest.mark.parametrize("name", ["rbac.yaml", "user-roles.yaml"])
def test_no_role_has_a_wildcard(name: str) -> None:
    without_comments = re.sub(r"{{-? ?/\*.*?\*/ ?-?}}", "", TEMPLATES[name], flags=re.DOTALL)
    assert "*" not in without_comments


def test_the_licence_is_the_whole_apache_licence() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_chart_sets_exactly_the_settings_that_the_operator_reads() -> None:
    names = set(re.findall(r"SPECDEPLOY_[A-Z_]+", TEMPLATES["deployment.yaml"]))
    assert names == {variable(field) for field in Settings.model_fields}


@pytest.mark.parametrize(("value", "setting"), [("maxTrials", "max_trials"), ("workers", "workers")])
def test_a_number_has_the_same_bounds_for_the_chart_and_the_operator(value: str, setting: str) -> None:
    ours, theirs = SCHEMA["properties"][value], Settings.model_json_schema()["properties"][setting]
    assert (ours["minimum"], ours["maximum"]) == (theirs["minimum"], theirs["maximum"])


@pytest.mark.parametrize(("value", "setting"), [("logFormat", "log_format"), ("logLevel", "log_level")])
def test_a_choice_is_the_same_for_the_chart_and_the_operator(value: str, setting: str) -> None:
    theirs = Settings.model_json_schema()["properties"][setting]
    assert SCHEMA["properties"][value]["enum"] == theirs["enum"]
