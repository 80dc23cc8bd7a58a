"""Labels and selectors of children. Pods keep theirs for life: an edited label would restart an engine."""

from specdeploy.api.names import (
    LABEL_DRAFTER,
    LABEL_MANAGED_BY,
    LABEL_NAME,
    LABEL_REVISION,
    LABEL_TEMPLATE,
    MANAGED_BY,
)
from specdeploy.engine.revision import Template


def common_labels(owner_name: str) -> dict[str, str]:
    """Labels of every child."""
    return {
        "app.kubernetes.io/name": "vllm",
        "app.kubernetes.io/instance": owner_name,
        LABEL_MANAGED_BY: MANAGED_BY,
        "app.kubernetes.io/component": "engine",
        LABEL_NAME: owner_name,
    }


def template_labels(owner_name: str, template: Template) -> dict[str, str]:
    """Labels of a Deployment and of its pods."""
    return {
        **common_labels(owner_name),
        LABEL_REVISION: template.revision,
        LABEL_DRAFTER: template.drafter,
        LABEL_TEMPLATE: template.hash,
    }


def all_arms(owner_name: str) -> dict[str, str]:
    """Selects the pods of every arm."""
    return {LABEL_NAME: owner_name}


def one_template(owner_name: str, template: Template) -> dict[str, str]:
    """Selects the pods of one Deployment."""
    return {LABEL_NAME: owner_name, LABEL_TEMPLATE: template.hash}
