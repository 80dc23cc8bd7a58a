"""What a user writes of the engine: the GPUs, vLLM, its volumes and how it leaves. The same for every arm."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from specdeploy.api.base import ATOMIC, CoreObject, CoreObjects, Model, Name, StringMap, Text, list_map, rules

AcceleratorType = Literal[
    "MI210", "MI250", "MI250X", "MI300A", "MI300X", "MI308X", "MI325X", "MI350X", "MI355X"
]


class Accelerator(Model):
    """The GPUs of one pod."""

    type: AcceleratorType | None = Field(
        None,
        description="GPU model. Pods go to nodes whose amd.com/gpu.device-id label names it. "
        "Absent: any node that offers the resource.",
    )
    count: int = Field(
        1, ge=1, le=64, description="GPUs per pod. Sets --tensor-parallel-size unless args say otherwise."
    )
    resource_name: Annotated[str, Field(min_length=3, max_length=253, pattern=r"^[^/]+/[^/]+$")] = Field(
        "amd.com/gpu",
        description="Extended resource to ask for; a partition is e.g. amd.com/cpx_nps4.",
    )


class EnvVar(Model):
    """One environment variable of every engine container."""

    name: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] = Field(
        description="Name of the variable."
    )
    value: Annotated[str, Field(max_length=32768)] | None = Field(None, description="Its value.")
    value_from: CoreObject | None = Field(None, description="Where to take the value from, as in core/v1.")


class SecretKeyRef(Model):
    """A key of a Secret in the same namespace. The operator itself never reads it."""

    name: Name = Field(description="Name of the Secret.")
    key: Name = Field(description="Key in the Secret.")


class ClaimSource(Model):
    """An existing PersistentVolumeClaim."""

    claim_name: Name = Field(description="Name of the PersistentVolumeClaim.")
    read_only: bool = Field(False, description="Mount it read-only.")


class HostPathSource(Model):
    """A folder of the node."""

    path: Annotated[str, Field(min_length=1, max_length=1024, pattern=r"^/")] = Field(
        description="Absolute path on the node."
    )
    read_only: bool = Field(False, description="Mount it read-only.")


class EphemeralSource(Model):
    """A volume that is made with the pod and deleted with it."""

    size: Annotated[str, Field(max_length=32, pattern=r"^[0-9]+(\.[0-9]+)?([EPTGMk]i?)?$")] = Field(
        description="Requested size, e.g. 200Gi."
    )
    storage_class_name: Name | None = Field(None, description="Storage class; absent: the cluster's default.")


class EmptyDirSource(Model):
    """A folder that lives as long as the pod."""

    size_limit: Annotated[str, Field(max_length=32)] | None = Field(
        None, description="Upper bound, e.g. 200Gi."
    )


_ONE_SOURCE = rules(
    (
        "[has(self.persistentVolumeClaim), has(self.hostPath), has(self.ephemeral), has(self.emptyDir)]"
        ".filter(x, x).size() <= 1",
        "name one of persistentVolumeClaim, hostPath, ephemeral and emptyDir, not several",
    )
)


class Storage(Model):
    """One volume; without a source it is an emptyDir."""

    model_config = ConfigDict(json_schema_extra=_ONE_SOURCE)

    persistent_volume_claim: ClaimSource | None = Field(None, description="An existing claim.")
    host_path: HostPathSource | None = Field(None, description="A folder of the node.")
    ephemeral: EphemeralSource | None = Field(None, description="A claim made with the pod.")
    empty_dir: EmptyDirSource | None = Field(None, description="A folder that lives as long as the pod.")


class Weights(Storage):
    """Where model files live (HF_HOME)."""

    offline: bool = Field(
        False, description="Never ask the hub (HF_HUB_OFFLINE): everything needed is on the volume."
    )


class Drain(Model):
    """How an engine leaves: first its endpoints, then its requests."""

    endpoint_removal_seconds: int = Field(
        20, ge=0, le=120, description="Wait before the engine is told to stop, until no client is sent to it."
    )
    request_seconds: int = Field(
        300, ge=1, le=3600, description="Longest time for running requests; ends early when none run."
    )


class PodTemplate(Model):
    """The escape hatch: merged into every engine pod, identical for every arm. Maps merge, lists append."""

    labels: StringMap | None = Field(None, description="Further labels of the pods.")
    annotations: StringMap | None = Field(None, description="Further annotations of the pods.")
    service_account_name: Name | None = Field(None, description="Service account; its token is not mounted.")
    node_selector: StringMap | None = Field(None, description="Further node labels that must match.")
    tolerations: CoreObjects | None = Field(None, description="Tolerations, as in core/v1.")
    affinity: CoreObject | None = Field(None, description="Affinity, as in core/v1.")
    topology_spread_constraints: CoreObjects | None = Field(None, description="Spread, as in core/v1.")
    priority_class_name: Name | None = Field(None, description="Priority class.")
    runtime_class_name: Name | None = Field(None, description="Runtime class.")
    scheduler_name: Name | None = Field(None, description="Scheduler.")
    image_pull_secrets: CoreObjects | None = Field(None, description="Pull secrets, as in core/v1.")
    volumes: CoreObjects | None = Field(None, description="Further volumes, as in core/v1.")
    volume_mounts: CoreObjects | None = Field(None, description="Further mounts of the engine container.")
    init_containers: CoreObjects | None = Field(None, description="Init containers, as in core/v1.")
    containers: CoreObjects | None = Field(None, description="Sidecars, as in core/v1.")
    security_context: CoreObject | None = Field(
        None, description="Pod security context; its keys replace ours one by one."
    )
    resources: CoreObject | None = Field(
        None, description="Requests and limits of the engine container beside the GPUs."
    )


class Engine(Model):
    """vLLM: the same for every arm."""

    image: Annotated[str, Field(min_length=1, max_length=512)] | None = Field(
        None,
        description="Engine image. Absent: the release this operator pins when it first sees the object, "
        "kept from then on.",
    )
    vllm_version: Annotated[str, Field(max_length=64, pattern=r"^[0-9]+\.[0-9]+(\.[0-9]+)?.*$")] | None = (
        Field(None, description="vLLM's version, where the image tag does not tell, e.g. 0.33.0.")
    )
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = Field(
        "IfNotPresent", description="As in core/v1."
    )
    args: Annotated[list[Text], Field(max_length=128, json_schema_extra=ATOMIC)] | None = Field(
        None,
        description="Further `vllm serve` arguments, one word each, for every arm. Refused: "
        "--speculative-config and its aliases, --port, --host.",
    )
    env: Annotated[list[EnvVar], Field(max_length=128, json_schema_extra=list_map("name"))] | None = Field(
        None, description="Environment of every arm."
    )
    attention_backend: Name | None = Field(
        None, description="Attention backend of the target (--attention-backend), e.g. ROCM_AITER_FA."
    )
    weights: Weights | None = Field(None, description="Where model files live; default: an emptyDir.")
    compile_cache: Storage | None = Field(
        None, description="Where compiled kernels live, in a folder per image and GPU; default: an emptyDir."
    )
    hf_token_secret_ref: SecretKeyRef | None = Field(None, description="Hub token, given to the engine only.")
    pod_template: PodTemplate | None = Field(None, description="Escape hatch, merged into every engine pod.")
    startup_seconds: int = Field(
        3600, ge=30, le=14400, description="Budget of a pod from its start to ready, loading included."
    )
    drain: Drain = Field(
        default_factory=lambda: Drain.model_validate({}), description="How an engine leaves."
    )
