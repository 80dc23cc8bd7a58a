"""Rules on engine.podTemplate: names, labels, paths and resources that are ours.

Core objects come as the user wrote them, so their inner shape is checked before the manifests merge them.
"""

import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from specdeploy.api.engine_spec import PodTemplate
from specdeploy.api.names import CONTAINER
from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.layout import OUR_PATHS, OUR_VOLUMES
from specdeploy.engine.pod_template import is_our_key
from specdeploy.engine.setting import Candidate, Setting

_PATH = "spec.engine.podTemplate"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

KEY = Rule(
    code="SD150",
    name="label-of-ours",
    severity=Severity.ERROR,
    title="A label or an annotation is set by SpecDeploy",
    why="Deployments, the Service and the reading of metrics find pods by these labels.",
    source="SpecDeploy",
    refused="engine: {podTemplate: {labels: {app.kubernetes.io/instance: mine}}}",
    passed="engine: {podTemplate: {labels: {app.kubernetes.io/part-of: search}}}",
    decided_by=Decider.POLICY,
)
NO_NAME = Rule(
    code="SD151",
    name="item-without-a-name",
    severity=Severity.ERROR,
    title="A volume or a container has no name",
    why="The API server refuses the pod.",
    source="core/v1 Volume and Container",
    refused="engine: {podTemplate: {volumes: [{emptyDir: {}}]}}",
    passed="engine: {podTemplate: {volumes: [{name: templates, emptyDir: {}}]}}",
    decided_by=Decider.LATER,
)
NAME = Rule(
    code="SD152",
    name="name-of-ours",
    severity=Severity.ERROR,
    title="A volume or a container has the name of one of ours",
    why="A pod has no two of one name, and ours are needed.",
    source="SpecDeploy",
    refused="engine: {podTemplate: {containers: [{name: vllm, image: 'logs:1'}]}}",
    passed="engine: {podTemplate: {containers: [{name: logs, image: 'logs:1'}]}}",
    decided_by=Decider.POLICY,
)
NO_PATH = Rule(
    code="SD153",
    name="mount-without-a-path",
    severity=Severity.ERROR,
    title="A mount has no path",
    why="The API server refuses the pod.",
    source="core/v1 VolumeMount",
    refused="engine: {podTemplate: {volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a}]}}",
    passed="""\
engine: {podTemplate: {volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: /a}]}}""",
    decided_by=Decider.LATER,
)
PATH = Rule(
    code="SD154",
    name="mount-over-ours",
    severity=Severity.ERROR,
    title="A mount overlaps one of ours",
    why="The outer of two mounts hides the inner one or holds it: the engine would not find its weights, its "
    "caches or its shared memory.",
    source="SpecDeploy",
    refused="""\
engine:
  podTemplate: {volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: /dev/shm}]}""",
    passed="""\
engine: {podTemplate: {volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: /a}]}}""",
    decided_by=Decider.POLICY,
)
RESOURCES = Rule(
    code="SD155",
    name="resources-not-a-map",
    severity=Severity.ERROR,
    title="Limits or requests are no map",
    why="The API server refuses the pod.",
    source="core/v1 ResourceRequirements",
    refused="engine: {podTemplate: {resources: {limits: 256Gi}}}",
    passed="engine: {podTemplate: {resources: {limits: {memory: 256Gi}}}}",
    decided_by=Decider.LATER,
)
GPUS = Rule(
    code="SD156",
    name="gpus-in-the-resources",
    severity=Severity.ERROR,
    title="The GPUs are asked for in the pod's resources",
    why="The parallel sizes, the rules on memory and the scheduling of trials follow spec.accelerator.",
    source="SpecDeploy",
    refused="engine: {podTemplate: {resources: {limits: {amd.com/gpu: 2}}}}",
    passed="accelerator: {type: MI300X, count: 2}",
    decided_by=Decider.POLICY,
)
AFFINITY = Rule(
    code="SD157",
    name="affinity-not-readable",
    severity=Severity.ERROR,
    title="The node affinity is not as in core/v1",
    why="The terms for the accelerator are merged into it, and the API server would refuse the pod.",
    source="core/v1 NodeAffinity",
    refused="engine: {podTemplate: {affinity: {nodeAffinity: zone-a}}}",
    passed="engine: {podTemplate: {affinity: {podAntiAffinity: {}}}}",
    decided_by=Decider.LATER,
)


def _check_pod(setting: Setting) -> Iterator[Finding]:
    template = setting.spec.engine.pod_template
    if template is None:
        return
    yield from _check_metadata("labels", template.labels)
    yield from _check_metadata("annotations", template.annotations)
    yield from _check_names("volumes", template.volumes, OUR_VOLUMES)
    yield from _check_names("containers", template.containers, (CONTAINER,))
    yield from _check_names("initContainers", template.init_containers, (CONTAINER,))
    yield from _check_mounts(template)
    yield from _check_resources(template, setting.spec.accelerator.resource_name)
    yield from _check_affinity(template)


def _check_metadata(field: str, given: Mapping[str, str] | None) -> Iterator[Finding]:
    for key in given or {}:
        if is_our_key(key):
            reason = "this key is set by SpecDeploy"
            yield KEY.at(f"{_PATH}.{field}[{key}]", reason, "choose another key")


def _check_names(field: str, items: list[dict[str, Any]] | None, ours: tuple[str, ...]) -> Iterator[Finding]:
    for index, item in enumerate(items or []):
        name, path = item.get("name"), f"{_PATH}.{field}[{index}].name"
        if not isinstance(name, str):
            yield NO_NAME.at(path, "is missing or no text", "give it a name")
        elif name in ours:
            yield NAME.at(path, f"{name!r} is the name of one of ours", "choose another name")


def _check_mounts(template: PodTemplate) -> Iterator[Finding]:
    for index, mount in enumerate(template.volume_mounts or []):
        field = f"{_PATH}.volumeMounts[{index}].mountPath"
        path = mount.get("mountPath")
        if not isinstance(path, str) or not path:
            yield NO_PATH.at(field, "is missing or no text", "give it a path")
            continue
        taken = next((ours for ours in OUR_PATHS if _overlap(path, ours)), None)
        if taken:
            yield PATH.at(field, f"{path} overlaps {taken}, which is ours", "choose another path")


def _overlap(path: str, ours: str) -> bool:
    """Whether one lies within the other: the outer mount would hide the inner one or hold it."""
    left, right = posixpath.join(posixpath.normpath(path), ""), f"{ours}/"
    return left.startswith(right) or right.startswith(left)


def _check_resources(template: PodTemplate, resource_name: str) -> Iterator[Finding]:
    for kind, amounts in (template.resources or {}).items():
        field = f"{_PATH}.resources.{kind}"
        if kind in ("limits", "requests") and not isinstance(amounts, Mapping):
            yield RESOURCES.at(field, "is no map", "write resource names with amounts")
        elif isinstance(amounts, Mapping) and resource_name in amounts:
            reason = "the GPUs have a field"
            yield GPUS.at(f"{field}[{resource_name}]", reason, "use spec.accelerator.count")


def _check_affinity(template: PodTemplate) -> Iterator[Finding]:
    at: Any = template.affinity or {}
    path = f"{_PATH}.affinity"
    for key in ("nodeAffinity", _REQUIRED):
        at, path = at.get(key) or {}, f"{path}.{key}"
        if not isinstance(at, Mapping):
            yield AFFINITY.at(path, "is no object", "write it as in core/v1")
            return
    terms = at.get("nodeSelectorTerms") or []
    if not isinstance(terms, list) or not all(_is_term(term) for term in terms):
        reason = "is no list of node selector terms"
        yield AFFINITY.at(f"{path}.nodeSelectorTerms", reason, "write it as in core/v1")


def _is_term(term: object) -> bool:
    return isinstance(term, Mapping) and all(isinstance(expressions, list) for expressions in term.values())


RULES: tuple[Rule, ...] = (KEY, NO_NAME, NAME, NO_PATH, PATH, RESOURCES, GPUS, AFFINITY)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (_check_pod,)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = ()
