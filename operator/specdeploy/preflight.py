"""What must hold before the operator starts: a Kubernetes new enough, a CRD that knows our schema. I/O."""

from specdeploy.api.names import GROUP, PLURAL, SCHEMA_VERSION, SCHEMA_VERSION_ANNOTATION, VERSION
from specdeploy.cluster import CRDS, Cluster, ClusterError, Kind, NotFound

MINIMUM_VERSION = (1, 30)
_VERSION = Kind("", "version", namespaced=False)
_GROUPS = Kind("", "apis", namespaced=False)


class PreflightError(RuntimeError):
    """The operator can't run here; the message says what to do."""


async def check_version(cluster: Cluster) -> None:
    """Kubernetes 1.30 or newer: CEL rules, the sleep action of preStop, unhealthyPodEvictionPolicy."""
    answer = await cluster.get(_VERSION, "", "")
    found = (_number(answer.get("major")), _number(answer.get("minor")))
    if found < MINIMUM_VERSION:
        raise PreflightError(
            f"Kubernetes {found[0]}.{found[1]} is too old; SpecDeploy needs {MINIMUM_VERSION[0]}."
            f"{MINIMUM_VERSION[1]} or newer"
        )


async def check_served(cluster: Cluster) -> None:
    """A CRD is served a moment after it was made. The informer asks once what there is to watch, so it must
    not start before. Raises PreflightError: start again."""
    answer = await cluster.get(_GROUPS, "", "")
    found = {group.get("name"): group.get("versions") or [] for group in answer.get("groups") or []}
    if VERSION not in {served.get("version") for served in found.get(GROUP, [])}:
        raise PreflightError(f"the API server does not serve {GROUP}/{VERSION} yet; starting again helps")


def _number(text: object) -> int:
    digits = "".join(c for c in str(text) if c.isdigit())
    return int(digits) if digits else 0


async def check_schema(cluster: Cluster) -> str | None:
    """None if the CRD knows our schema; else the sentence for CRDOutdated. Raises if there is no CRD."""
    try:
        crd = await cluster.get(CRDS, "", f"{PLURAL}.{GROUP}")
    except NotFound:
        raise PreflightError(
            f"the CRD {PLURAL}.{GROUP} is not installed; install the chart, or run "
            "`specdeploy crd | kubectl apply -f -`"
        ) from None
    except ClusterError:
        return None  # the comparison of each status with what was sent still tells
    found = (crd["metadata"].get("annotations") or {}).get(SCHEMA_VERSION_ANNOTATION, "0")
    if _number(found) >= int(SCHEMA_VERSION):
        return None
    return (
        f"the CRD in the cluster has schema version {found}, this operator needs {SCHEMA_VERSION}; "
        "upgrade it (helm upgrade, or `specdeploy crd | kubectl apply -f -`) and restart the operator"
    )
