"""Names in the pod that are ours: what `engine.podTemplate` may not touch. Asked by `rules.pod`."""

from specdeploy.api.names import GROUP

OUR_LABELS = (
    "app.kubernetes.io/name",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/component",
    "pod-template-hash",
)


def is_our_key(key: str) -> bool:
    """Whether a label or an annotation with this key is ours."""
    prefix = key.partition("/")[0]
    return key in OUR_LABELS or prefix == GROUP or prefix.endswith(f".{GROUP}")
