"""The CustomResourceDefinition, generated from the types. `crds/` and the chart hold what this prints."""

from typing import Any

import yaml

from specdeploy.api.admission import NAME_RULE
from specdeploy.api.names import GROUP, KIND, PLURAL, SCHEMA_VERSION, SCHEMA_VERSION_ANNOTATION, VERSION
from specdeploy.api.schema import structural
from specdeploy.api.spec import Spec
from specdeploy.api.status import Status


def _column(name: str, path: str, kind: str = "string", priority: int = 0, text: str = "") -> dict[str, Any]:
    column: dict[str, Any] = {"name": name, "type": kind, "jsonPath": path, "description": text}
    return column | ({"priority": priority} if priority else {})


COLUMNS = [
    _column("Ready", ".status.capacity.summary", text="Pods ready, of those wanted."),
    _column("Serving", ".status.serving.name", text="Drafter that serves, or baseline."),
    _column("Trial", ".status.trial.summary", text="Drafter on trial, state and windows."),
    _column("Speedup", ".status.serving.summary", text="Proven speed relative to the baseline."),
    _column("Reason", '.status.conditions[?(@.type=="Ready")].reason', text="Reason of condition Ready."),
    _column("Age", ".metadata.creationTimestamp", "date", text="Age."),
    _column("Model", ".spec.model", priority=1, text="Target model."),
    _column("Replicas", ".spec.replicas", "integer", 1, "Serving pods wanted."),
    _column("Baseline", ".status.baseline.revision", priority=1, text="Revision of the baseline."),
]


def object_schema() -> dict[str, Any]:
    """The openAPIV3Schema of a SpecDeployment."""
    return {
        "type": "object",
        "description": "Serves a model with the fastest of the listed drafters that has proven itself on "
        "live traffic against a baseline running beside it.",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": "Group and version of the API."},
            "kind": {"type": "string", "description": "Kind of the object."},
            "metadata": {"type": "object"},
            "spec": structural(Spec),
            "status": structural(Status),
        },
        "x-kubernetes-validations": [NAME_RULE],
    }


def custom_resource_definition() -> dict[str, Any]:
    """The whole CustomResourceDefinition, as plain data."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{PLURAL}.{GROUP}",
            "annotations": {SCHEMA_VERSION_ANNOTATION: SCHEMA_VERSION},
        },
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": KIND.lower(),
                "shortNames": ["sd"],
                "categories": ["inference"],
            },
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": object_schema()},
                    "subresources": {
                        "status": {},
                        "scale": {
                            "specReplicasPath": ".spec.replicas",
                            "statusReplicasPath": ".status.replicas",
                            "labelSelectorPath": ".status.selector",
                        },
                    },
                    "additionalPrinterColumns": COLUMNS,
                }
            ],
        },
    }


def as_yaml() -> str:
    """The CustomResourceDefinition as YAML, keys in the order in which they are written here."""
    text: str = yaml.safe_dump(custom_resource_definition(), sort_keys=False, width=110, allow_unicode=True)
    return text
