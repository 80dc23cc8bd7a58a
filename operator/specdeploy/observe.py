"""Live objects, as plain dicts, become the rollout's small records. Pure; tolerant of what is absent."""

from collections.abc import Mapping, Sequence
from typing import Any

from specdeploy.api.names import (
    ANNOTATION_RENDER_VERSION,
    ANNOTATION_SHAPE,
    CONTAINER,
    FIELD_MANAGER,
    LABEL_DRAFTER,
    LABEL_MANAGED_BY,
    LABEL_NAME,
    LABEL_REVISION,
    LABEL_TEMPLATE,
)
from specdeploy.api.status import seconds
from specdeploy.rollout import Deployment, Exit, Pod

Raw = Mapping[str, Any]
# A Deployment whose pod template was never changed is at its first revision.
_ROLLOUT_REVISION = "deployment.kubernetes.io/revision"
_FINISHED = ("Succeeded", "Failed")
# The runtime or the kubelet lost sight of a container, as in a reboot of the node: nobody's crash.
_NO_CRASH = frozenset({"ContainerStatusUnknown", "Unknown"})
# A container that waits for these is on its way.
_ON_ITS_WAY = frozenset({"ContainerCreating", "PodInitializing"})
_OUR_LABELS = (LABEL_MANAGED_BY, LABEL_NAME, LABEL_REVISION, LABEL_DRAFTER, LABEL_TEMPLATE)
NOBODY = "nobody we know (no controller)"


def controller(raw: Raw) -> Raw | None:
    """The owner reference that controls an object."""
    owners = raw.get("metadata", {}).get("ownerReferences") or []
    return next((o for o in owners if o.get("controller")), None)


def belongs(raw: Raw, uid: str) -> bool:
    """Whether the object's controller is the one with this uid."""
    owner = controller(raw)
    return owner is not None and owner.get("uid") == uid


def owner_words(raw: Raw) -> str:
    """Who an object belongs to, in words."""
    owner = controller(raw)
    return f"{owner.get('kind')} {owner.get('name')}" if owner is not None else NOBODY


def deployment(raw: Raw, uid: str) -> Deployment:
    """A Deployment that carries our labels."""
    meta = raw.get("metadata", {})
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    return Deployment(
        name=meta.get("name", ""),
        uid=meta.get("uid", ""),
        resource_version=meta.get("resourceVersion", ""),
        template=_template(raw),
        revision=labels.get(LABEL_REVISION, ""),
        drafter=labels.get(LABEL_DRAFTER, ""),
        shape=annotations.get(ANNOTATION_SHAPE, ""),
        render_version=_whole(annotations.get(ANNOTATION_RENDER_VERSION)),
        replicas=int(raw.get("spec", {}).get("replicas") or 0),
        ours=belongs(raw, uid),
        owner=owner_words(raw),
        edited=annotations.get(_ROLLOUT_REVISION, "1") != "1",
        deleting="deletionTimestamp" in meta,
        replicas_manager=_replicas_manager(meta),
        failure=_failure(raw.get("status") or {}),
    )


def _failure(status: Raw) -> str:
    """Why pods can't be created: a quota, a policy, a webhook, a service account that does not exist."""
    for condition in status.get("conditions") or []:
        if condition.get("type") == "ReplicaFailure" and condition.get("status") == "True":
            return str(condition.get("message") or condition.get("reason") or "no reason is given")
    return ""


def _template(raw: Raw) -> str:
    """From the selector: unlike a label, nobody can edit it."""
    selector = raw.get("spec", {}).get("selector") or {}
    return str((selector.get("matchLabels") or {}).get(LABEL_TEMPLATE, ""))


def strayed_labels(raw: Raw) -> dict[str, str]:
    """Our labels that somebody has edited on a Deployment, as they were: its pods still have them."""
    labels = raw.get("metadata", {}).get("labels") or {}
    template = raw.get("spec", {}).get("template") or {}
    kept = (template.get("metadata") or {}).get("labels") or {}
    return {key: kept[key] for key in _OUR_LABELS if key in kept and labels.get(key) != kept[key]}


def _whole(text: str | None) -> int:
    return int(text) if text and text.isdigit() else 0


def _replicas_manager(meta: Raw) -> str:
    """Who wrote `replicas` last, if it was not us."""
    for entry in meta.get("managedFields") or []:
        owned = ((entry.get("fieldsV1") or {}).get("f:spec") or {}).get("f:replicas")
        if owned is not None and entry.get("manager") != FIELD_MANAGER:
            return str(entry.get("manager"))
    return ""


def pods(raws: Sequence[Raw]) -> tuple[Pod, ...]:
    """The pods that have not finished."""
    return tuple(pod(raw) for raw in raws if raw.get("status", {}).get("phase") not in _FINISHED)


def pod(raw: Raw) -> Pod:
    """One pod, but for the kind of its GPU, which its node knows."""
    meta, status = raw.get("metadata", {}), raw.get("status", {})
    conditions = {c.get("type"): c for c in status.get("conditions") or []}
    engine = _engine(status)
    up = conditions.get("Ready", {}).get("status") == "True"
    return Pod(
        name=meta.get("name", ""),
        uid=meta.get("uid", ""),
        template=(meta.get("labels") or {}).get(LABEL_TEMPLATE, ""),
        created=_moment(meta.get("creationTimestamp")) or 0.0,
        ready=up,
        ready_since=_moment(conditions.get("Ready", {}).get("lastTransitionTime")) if up else None,
        terminating="deletionTimestamp" in meta,
        gone_by=_moment(meta.get("deletionTimestamp")),
        started=bool(engine.get("started")),
        running_since=_running_since(engine),
        restarts=int(engine.get("restartCount") or 0),
        node=raw.get("spec", {}).get("nodeName"),
        image_id=engine.get("imageID") or None,
        unschedulable=_unschedulable(conditions.get("PodScheduled", {})),
        waiting=_waiting(status),
        exit=_exit(engine),
    )


def _engine(status: Raw) -> Raw:
    found = (c for c in status.get("containerStatuses") or [] if c.get("name") == CONTAINER)
    return next(found, {})


def _running_since(engine: Raw) -> float | None:
    running = (engine.get("state") or {}).get("running") or {}
    return _moment(running.get("startedAt"))


def _moment(text: str | None) -> float | None:
    try:
        return seconds(text) if text else None
    except ValueError:
        return None


def _unschedulable(condition: Raw) -> str | None:
    """The scheduler's words; those of a gate, or of a scheduler in trouble, with their reason."""
    if condition.get("status") != "False":
        return None
    reason, message = str(condition.get("reason") or "Unschedulable"), str(condition.get("message") or "")
    if reason == "Unschedulable":
        return message or "no node has room"
    return f"{reason}: {message}" if message else reason


def _waiting(status: Raw) -> tuple[str, str] | None:
    """What a container waits for; one that is on its way comes after one that is in trouble."""
    listed = [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
    states = [(container.get("state") or {}).get("waiting") for container in listed]
    waits = [(str(w["reason"]), str(w.get("message", ""))) for w in states if w and w.get("reason")]
    return min(waits, key=lambda wait: wait[0] in _ON_ITS_WAY, default=None)


def _exit(engine: Raw) -> Exit | None:
    for state in (engine.get("state") or {}, engine.get("lastState") or {}):
        ended = state.get("terminated")
        if ended and ended.get("reason") not in _NO_CRASH:
            code, reason = int(ended.get("exitCode") or 0), str(ended.get("reason", ""))
            return Exit(code, reason, str(ended.get("message", "")), _ran(ended))
    return None


def _ran(ended: Raw) -> float | None:
    start, end = _moment(ended.get("startedAt")), _moment(ended.get("finishedAt"))
    return None if start is None or end is None else max(0.0, end - start)
