"""Affinity of engine pods: the accelerator's nodes, and what the user asks for, both at once."""

import itertools
from typing import Any

from specdeploy.api.spec import Spec
from specdeploy.engine.accelerators import node_affinity

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_TERMS = "nodeSelectorTerms"


def build_affinity(spec: Spec) -> dict[str, Any]:
    """A core/v1 Affinity; empty when neither the accelerator nor the user asks for anything."""
    given = (spec.engine.pod_template.affinity if spec.engine.pod_template else None) or {}
    if spec.accelerator.type is None:
        return given
    ours = node_affinity(spec.accelerator.type)[_REQUIRED][_TERMS]
    node = given.get("nodeAffinity") or {}
    theirs = (node.get(_REQUIRED) or {}).get(_TERMS) or []
    terms = [_both(their, our) for their, our in itertools.product(theirs, ours)] if theirs else ours
    return {**given, "nodeAffinity": {**node, _REQUIRED: {_TERMS: terms}}}


def _both(their: dict[str, Any], our: dict[str, Any]) -> dict[str, Any]:
    """One term that holds where both do. An empty term matches no node and has to stay empty."""
    if not any(their.values()):
        return their
    return {
        **their,
        "matchExpressions": [*(their.get("matchExpressions") or []), *our["matchExpressions"]],
    }
