"""What `engine.podTemplate` may not touch: names, labels, paths and resources that are ours.

Asked by `checks`. Core objects come as the user wrote them, so their inner shape is checked before the
manifests merge them.
"""

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

from specdeploy.api.engine_spec import PodTemplate
from specdeploy.api.names import CONTAINER, GROUP
from specdeploy.api.rule import Finding
from specdeploy.api.spec import Spec

from .layout import OUR_PATHS, OUR_VOLUMES

PATH = "spec.engine.podTemplate"
OUR_LABELS = (
    "app.kubernetes.io/name",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/component",
    "pod-template-hash",
)
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def check_pod_template(spec: Spec) -> tuple[Finding, ...]:
    """What is wrong with `engine.podTemplate`."""
    template = spec.engine.pod_template
    if template is None:
        return ()
    return (
        *_check_metadata("labels", template.labels),
        *_check_metadata("annotations", template.annotations),
        *_check_names("volumes", template.volumes, OUR_VOLUMES),
        *_check_names("containers", template.containers, (CONTAINER,)),
        *_check_names("initContainers", template.init_containers, (CONTAINER,)),
        *_check_mounts(template),
        *_check_resources(template, spec.accelerator.resource_name),
        *_check_affinity(template),
    )


def _check_metadata(field: str, given: Mapping[str, str] | None) -> Iterator[Finding]:
    for key in given or {}:
        prefix = key.partition("/")[0]
        if key in OUR_LABELS or prefix == GROUP or prefix.endswith(f".{GROUP}"):
            yield Finding(f"{PATH}.{field}[{key}]", "this key is set by SpecDeploy", "choose another key")


def _check_names(field: str, items: list[dict[str, Any]] | None, ours: tuple[str, ...]) -> Iterator[Finding]:
    for index, item in enumerate(items or []):
        name = item.get("name")
        if not isinstance(name, str):
            yield Finding(f"{PATH}.{field}[{index}].name", "is missing or no text", "give it a name")
        elif name in ours:
            reason = f"{name!r} is the name of one of ours"
            yield Finding(f"{PATH}.{field}[{index}].name", reason, "choose another name")


def _check_mounts(template: PodTemplate) -> Iterator[Finding]:
    for index, mount in enumerate(template.volume_mounts or []):
        field = f"{PATH}.volumeMounts[{index}].mountPath"
        path = mount.get("mountPath")
        if not isinstance(path, str) or not path:
            yield Finding(field, "is missing or no text", "give it a path")
            continue
        taken = next((ours for ours in OUR_PATHS if _overlap(path, ours)), None)
        if taken:
            yield Finding(field, f"{path} overlaps {taken}, which is ours", "choose another path")


def _overlap(path: str, ours: str) -> bool:
    """Whether one lies within the other: the outer mount would hide the inner one or hold it."""
    left, right = posixpath.join(posixpath.normpath(path), ""), f"{ours}/"
    return left.startswith(right) or right.startswith(left)


def _check_resources(template: PodTemplate, resource_name: str) -> Iterator[Finding]:
    for kind, amounts in (template.resources or {}).items():
        field = f"{PATH}.resources.{kind}"
        if kind in ("limits", "requests") and not isinstance(amounts, Mapping):
            yield Finding(field, "is no map", "write resource names with amounts")
        elif isinstance(amounts, Mapping) and resource_name in amounts:
            yield Finding(f"{field}[{resource_name}]", "the GPUs have a field", "use spec.accelerator.count")


def _check_affinity(template: PodTemplate) -> Iterator[Finding]:
    at: Any = template.affinity or {}
    path = f"{PATH}.affinity"
    for key in ("nodeAffinity", _REQUIRED):
        at, path = at.get(key) or {}, f"{path}.{key}"
        if not isinstance(at, Mapping):
            yield Finding(path, "is no object", "write it as in core/v1")
            return
    terms = at.get("nodeSelectorTerms") or []
    if not isinstance(terms, list) or not all(_is_term(term) for term in terms):
        reason = "is no list of node selector terms"
        yield Finding(f"{path}.nodeSelectorTerms", reason, "write it as in core/v1")


def _is_term(term: object) -> bool:
    return isinstance(term, Mapping) and all(isinstance(expressions, list) for expressions in term.values())
