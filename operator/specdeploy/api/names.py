"""Names that are part of the contract with the cluster: group, labels, annotations, field managers."""

GROUP = "specdeploy.dev"
VERSION = "v1alpha1"
KIND = "SpecDeployment"
PLURAL = "specdeployments"
API_VERSION = f"{GROUP}/{VERSION}"

# The schema of the CRD. The chart stamps it on the CRD; the operator compares at start. Raise it with
# every change of the schema.
SCHEMA_VERSION = "4"
SCHEMA_VERSION_ANNOTATION = f"{GROUP}/schema-version"

# Labels of children. Set at creation and never edited: a changed pod label would restart an engine.
LABEL_NAME = f"{GROUP}/name"
LABEL_REVISION = f"{GROUP}/revision"
LABEL_DRAFTER = f"{GROUP}/drafter"
LABEL_TEMPLATE = f"{GROUP}/template"
LABEL_MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGED_BY = "specdeploy"
BASELINE = "baseline"  # the value of LABEL_DRAFTER on a baseline pod; no drafter may have this name

# Annotations of Deployments: what was rendered (shape: the inputs) and by which renderer.
ANNOTATION_SHAPE = f"{GROUP}/shape"
ANNOTATION_RENDER_VERSION = f"{GROUP}/render-version"

# Annotations on a SpecDeployment: verbs, executed once. Value: <RFC3339 time>[/<drafter>].
ANNOTATION_ABORT = f"{GROUP}/abort"
ANNOTATION_RETRY = f"{GROUP}/retry"
ANNOTATION_PAUSED = f"{GROUP}/paused"
ANNOTATION_ADOPT = f"{GROUP}/adopt"

# What a user may write on a SpecDeployment.
ANNOTATIONS = {
    ANNOTATION_ABORT: "`<RFC 3339 time>[/<drafter>]`: end the trial or promotion that runs, once, unjudged",
    ANNOTATION_RETRY: "`<RFC 3339 time>[/<drafter>]`: lift the quarantine of one drafter or of all, once",
    ANNOTATION_PAUSED: '`"true"`: as spec.paused, for those who may not change the spec',
    ANNOTATION_ADOPT: '`"true"`: take over orphans with our labels that a deleted object of this name left',
}

FIELD_MANAGER = "specdeploy"
CONTAINER = "vllm"
PORT = 8000
