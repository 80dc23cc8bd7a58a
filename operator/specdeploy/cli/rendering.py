"""The children of a SpecDeployment as they are first applied, by the operator's own builders. Pure."""

import re
import shlex
from dataclasses import dataclass
from typing import Any

from specdeploy.api.spec import Drafter, Spec
from specdeploy.engine.arguments import COMMAND, serve_arguments
from specdeploy.engine.environment import engine_environment
from specdeploy.engine.image import image_of
from specdeploy.engine.revision import Template, templates
from specdeploy.manifests.budget import build_budget
from specdeploy.manifests.deployment import build_deployment
from specdeploy.manifests.owner import Owner
from specdeploy.manifests.service import build_service

NOTE = "What is applied at first sight; owner references get their uid from the cluster."
_REFERENCE = re.compile(r"\$\$|\$\(([^)]+)\)")


@dataclass(frozen=True)
class Child:
    """An object, and what is to be known about it in a few words, if there is anything."""

    note: str
    body: dict[str, Any]


def frame(owner: Owner, spec: Spec) -> tuple[Child, ...]:
    """The Service, where one is wanted, and the budget over all arms."""
    budget = Child("minAvailable follows the pods that serve", build_budget(owner, max(0, spec.replicas - 1)))
    return (Child("", build_service(owner, spec)), budget) if spec.service.create else (budget,)


def arms(owner: Owner, spec: Spec) -> dict[str, Child]:
    """The Deployments of the baseline and of each drafter, by their names, as at first sight: the baseline
    serves with all replicas, and a drafter gets pods when its trial begins."""
    image = image_of(spec)
    known = templates(owner.name, spec, image)
    return {arm.drafter: _deployment(owner, spec, image, arm) for arm in (known.baseline, *known.drafters)}


def _deployment(owner: Owner, spec: Spec, image: str, template: Template) -> Child:
    if template.config is None:
        replicas, note = spec.replicas, f"{template.drafter}: serves with all {spec.replicas} at first"
    else:
        replicas, note = 0, f"{template.drafter}: none at first, {spec.trial.replicas} when its trial begins"
    body = build_deployment(owner, spec=spec, image=image, template=template, replicas=replicas)
    return Child(f"pods of {note}", body)


def offline(child: Child) -> Child:
    """What only a cluster knows is left out: the owner's uid, and a namespace that the file does not name."""
    metadata = dict(child.body["metadata"])
    [reference] = metadata["ownerReferences"]
    metadata["ownerReferences"] = [{key: value for key, value in reference.items() if key != "uid"}]
    if not metadata["namespace"]:
        del metadata["namespace"]
    return Child(child.note, {**child.body, "metadata": metadata})


def command(spec: Spec, drafter: Drafter | None) -> str:
    """The command line of an arm's engine (None: the baseline's), quoted for a shell: the variables of the
    spec that have a value, then the engine. What comes from a Secret is left out."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in _values(spec).items()]
    return " ".join([*variables, shlex.join([*COMMAND, *serve_arguments(spec, drafter)])])


def _values(spec: Spec) -> dict[str, str]:
    """The variables of `engine.env` as the kubelet fills them in: $(NAME) is one before it, $$ is a $."""
    asked = {variable.name for variable in spec.engine.env or []}
    known: dict[str, str] = {}
    for variable in engine_environment(spec, image_of(spec)):
        if "value" in variable:
            known[variable["name"]] = _REFERENCE.sub(lambda found: _filled(found, known), variable["value"])
    return {name: value for name, value in known.items() if name in asked}


def _filled(found: re.Match[str], known: dict[str, str]) -> str:
    return "$" if found[0] == "$$" else known.get(found[1], found[0])
