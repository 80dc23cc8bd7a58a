"""Identities: the revision (what can change speed or output) and the template (one exact pod shape).

Verdicts belong to a revision, Deployments to a template. First step from a spec to what runs: `rollout`
decides over revisions, `manifests` builds templates.
"""

from dataclasses import dataclass
from typing import Any

from specdeploy.api.engine_spec import EnvVar, PodTemplate, Storage, Weights
from specdeploy.api.names import BASELINE
from specdeploy.api.spec import Drafter, Spec

from .hashing import short_hash

# Raise it with every change of what `manifests` renders for the same spec. Running engines are left alone;
# arms of different render versions are never compared.
RENDER_VERSION = 2


@dataclass(frozen=True)
class Template:
    """One arm's configuration and its identities.

    Attributes:
        drafter: the drafter's name, or "baseline".
        config: the drafter; None for the baseline.
        revision: hash of what can change speed or output.
        shape: hash of everything that shapes the pod, the render version left out.
        hash: hash of shape and render version; part of the Deployment's name and its selector.
    """

    drafter: str
    config: Drafter | None
    revision: str
    shape: str
    hash: str


@dataclass(frozen=True)
class Arms:
    """The templates that a spec can run: the baseline, and the drafters in the order of the spec."""

    baseline: Template
    drafters: tuple[Template, ...]


def templates(owner_name: str, spec: Spec, image: str) -> Arms:
    """Templates of the baseline and of every listed drafter, valid or not, with `image` as the engine."""
    return Arms(
        baseline=_template(owner_name, spec, image, None),
        drafters=tuple(_template(owner_name, spec, image, d) for d in spec.drafters or []),
    )


def revision_of(spec: Spec, image: str, drafter: Drafter | None) -> str:
    """The revision of `drafter` (None: the baseline) on this engine."""
    return short_hash(_revision_inputs(spec, image, drafter))


def _template(owner_name: str, spec: Spec, image: str, drafter: Drafter | None) -> Template:
    name = drafter.name if drafter else BASELINE
    inputs = _revision_inputs(spec, image, drafter)
    shape = short_hash({"owner": owner_name, "arm": name, "revision": inputs, **_shape_inputs(spec)})
    return Template(
        drafter=name,
        config=drafter,
        revision=short_hash(inputs),
        shape=shape,
        hash=short_hash({"shape": shape, "renderVersion": RENDER_VERSION}),
    )


def _revision_inputs(spec: Spec, image: str, drafter: Drafter | None) -> dict[str, Any]:
    engine = spec.engine
    return {
        "image": image,
        "model": spec.model,
        "modelRevision": spec.model_revision,
        "args": engine.args or [],
        "env": [_env(variable) for variable in engine.env or []],
        "accelerator": spec.accelerator.wire(),
        "resources": (engine.pod_template or PodTemplate.model_validate({})).resources or {},
        "attentionBackend": engine.attention_backend,
        "drafter": _drafter(drafter) if drafter else None,
    }


def _shape_inputs(spec: Spec) -> dict[str, Any]:
    engine = spec.engine
    return {
        "servedName": spec.served_name,
        "imagePullPolicy": engine.image_pull_policy,
        "weights": _filled(engine.weights or Weights.model_validate({})),
        "compileCache": _filled(engine.compile_cache or Storage.model_validate({})),
        "hfToken": engine.hf_token_secret_ref.wire() if engine.hf_token_secret_ref else None,
        "podTemplate": _filled(engine.pod_template or PodTemplate.model_validate({})),
        "startupSeconds": engine.startup_seconds,
        "drain": engine.drain.wire(),
    }


def _drafter(drafter: Drafter) -> dict[str, Any]:
    """Without its name; `allowLossy: false` is the same as none."""
    return _filled(drafter.model_copy(update={"name": "", "allow_lossy": drafter.allow_lossy or None}))


def _env(variable: EnvVar) -> dict[str, Any]:
    """To Kubernetes a variable without a value is an empty one."""
    return {"name": variable.name, "value": variable.value or "", "valueFrom": variable.value_from}


def _filled(model: Drafter | Storage | PodTemplate) -> dict[str, Any]:
    """Its fields that hold something: an empty map or list means the same as none.

    Only one level deep: within core/v1 objects an empty map can have a meaning (`namespaceSelector: {}`).
    """
    return {key: value for key, value in model.wire().items() if value not in ({}, [])}
