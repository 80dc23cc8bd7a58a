"""What a user writes of the engine: the GPUs, vLLM, its volumes and how it leaves. The same for every arm."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from specdeploy.api.base import (
    ATOMIC,
    Argument,
    CoreObject,
    CoreObjects,
    Model,
    Name,
    StringMap,
    list_map,
    rule,
    rules,
)

AcceleratorType = Literal[
    "MI210", "MI250", "MI250X", "MI300A", "MI300X", "MI308X", "MI325X", "MI350P", "MI350X", "MI355X"
]
Quantity = Annotated[str, Field(max_length=32, pattern=r"^[0-9]+(\.[0-9]+)?(k|[MGTPE]|[KMGTPE]i)?$")]


class Accelerator(Model):
    """The GPUs of one pod."""

    type: AcceleratorType | None = Field(
        None,
        description="GPU model. Pods go only to nodes whose labels amd.com/gpu.device-id name it. Absent: "
        "any node that offers the resource.",
    )
    count: int = Field(
        1,
        ge=1,
        le=64,
        description="GPUs of each pod. Sets --tensor-parallel-size, unless engine.args name tensor, pipeline "
        "or data parallelism; then their product must equal it.",
    )
    resource_name: Annotated[str, Field(min_length=3, max_length=253, pattern=r"^[^/\s]+/[^/\s]+$")] = Field(
        "amd.com/gpu",
        description="Extended resource that pods ask for. A partition has a name of its own, such as "
        "amd.com/cpx_nps4.",
    )


class EnvVar(Model):
    """One environment variable of every engine container."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "!has(self.value) || !has(self.valueFrom)",
                "a variable has a value or a valueFrom; remove one of the two",
                field=".valueFrom",
                holds=lambda it: "value" not in it or "valueFrom" not in it,
            )
        )
    )

    name: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] = Field(
        description="Name of the variable. Those that SpecDeploy sets from a field of its own, such as "
        "HF_HOME, are refused with the field's name."
    )
    value: Annotated[str, Field(max_length=32768)] | None = Field(
        None, description="Its value; $(NAME) refers to a variable before it."
    )
    value_from: CoreObject | None = Field(
        None, description="Where the value comes from: a core/v1 EnvVarSource, such as a secretKeyRef."
    )


class SecretKeyRef(Model):
    """A key of a Secret in the same namespace. The operator itself never reads it."""

    name: Name = Field(description="Name of the Secret, in the namespace of the SpecDeployment.")
    key: Name = Field(description="Key in the Secret that holds the token.")


class ClaimSource(Model):
    """An existing PersistentVolumeClaim."""

    claim_name: Name = Field(
        description="Name of the PersistentVolumeClaim. Pods on several nodes need ReadWriteMany or "
        "ReadOnlyMany."
    )
    read_only: bool = Field(False, description="true: mounted read-only. Not for the compile cache.")


class HostPathSource(Model):
    """A folder of the node."""

    path: Annotated[str, Field(min_length=1, max_length=1024, pattern=r"^/")] = Field(
        description="Absolute path of a folder on the node; made where it is missing, unless readOnly."
    )
    read_only: bool = Field(False, description="true: mounted read-only. Not for the compile cache.")


class EphemeralSource(Model):
    """A volume that is made with the pod and deleted with it."""

    size: Quantity = Field(description="Size of the claim, such as 200Gi.")
    storage_class_name: Name | None = Field(
        None, description="Storage class of the claim. Absent: the cluster's default."
    )


class EmptyDirSource(Model):
    """A folder that lives as long as the pod."""

    size_limit: Quantity | None = Field(
        None, description="The pod is evicted when it grows beyond this, such as 200Gi. Absent: no limit."
    )


_SOURCES = ("persistentVolumeClaim", "hostPath", "ephemeral", "emptyDir")
_ONE_SOURCE = rules(
    rule(
        "[has(self.persistentVolumeClaim), has(self.hostPath), has(self.ephemeral), has(self.emptyDir)]"
        ".filter(x, x).size() <= 1",
        "name one of persistentVolumeClaim, hostPath, ephemeral and emptyDir; remove the others",
        holds=lambda it: sum(source in it for source in _SOURCES) <= 1,
    )
)


class Storage(Model):
    """One volume; without a source it is an emptyDir."""

    model_config = ConfigDict(json_schema_extra=_ONE_SOURCE)

    persistent_volume_claim: ClaimSource | None = Field(
        None, description="An existing PersistentVolumeClaim, shared by all pods."
    )
    host_path: HostPathSource | None = Field(
        None, description="A folder of the node, shared by the pods on that node."
    )
    ephemeral: EphemeralSource | None = Field(
        None, description="A claim made with each pod and deleted with it."
    )
    empty_dir: EmptyDirSource | None = Field(
        None, description="A folder on the node's disk that lives as long as the pod. The default."
    )


class Weights(Storage):
    """Where model files live (HF_HOME)."""

    offline: bool = Field(
        False,
        description="true: the hub is never asked (HF_HUB_OFFLINE). Target and drafters must be on the "
        "volume or in the image.",
    )


class Drain(Model):
    """How an engine leaves: first its endpoint, then its requests."""

    endpoint_removal_seconds: int = Field(
        20,
        ge=0,
        le=120,
        description="Wait between a pod's leaving the Service and its engine's being told to stop, so that "
        "no client is sent to it any more.",
    )
    request_seconds: int = Field(
        300,
        ge=1,
        le=3600,
        description="Longest time that running requests get to finish (--shutdown-timeout). Ends early when "
        "none run.",
    )


class PodTemplate(Model):
    """The escape hatch: merged into every engine pod, identical for every arm. Maps merge, lists append.

    A label prefix, volume, mount path or container name that is ours is refused (InvalidSpec).
    """

    labels: StringMap | None = Field(None, description="Further labels of the pods.")
    annotations: StringMap | None = Field(None, description="Further annotations of the pods.")
    service_account_name: Name | None = Field(
        None, description="Service account of the pods. Its token is not mounted."
    )
    node_selector: StringMap | None = Field(None, description="Node labels that must match.")
    tolerations: CoreObjects | None = Field(None, description="Further core/v1 Tolerations.")
    affinity: CoreObject | None = Field(
        None, description="A core/v1 Affinity; what accelerator.type requires of nodes is added to it."
    )
    topology_spread_constraints: CoreObjects | None = Field(
        None, description="core/v1 TopologySpreadConstraints."
    )
    priority_class_name: Name | None = Field(None, description="Priority class of the pods.")
    runtime_class_name: Name | None = Field(None, description="Runtime class of the pods.")
    scheduler_name: Name | None = Field(None, description="Scheduler of the pods.")
    image_pull_secrets: CoreObjects | None = Field(
        None, description="Secrets to pull images with: core/v1 LocalObjectReferences."
    )
    volumes: CoreObjects | None = Field(None, description="Further core/v1 Volumes.")
    volume_mounts: CoreObjects | None = Field(
        None, description="Further core/v1 VolumeMounts of the engine's container."
    )
    init_containers: CoreObjects | None = Field(
        None, description="Further core/v1 Containers that run before the engine."
    )
    containers: CoreObjects | None = Field(
        None, description="Sidecars: core/v1 Containers beside the engine's, which is named vllm."
    )
    security_context: CoreObject | None = Field(
        None, description="A core/v1 PodSecurityContext; its keys replace ours one by one."
    )
    resources: CoreObject | None = Field(
        None,
        description="core/v1 ResourceRequirements of the engine's container, such as cpu and memory. GPUs "
        "are set by accelerator.",
    )


class Engine(Model):
    """vLLM: the same for every arm."""

    image: Annotated[str, Field(min_length=1, max_length=512, pattern=r"^\S+$")] | None = Field(
        None,
        description="Image of the engine. Absent: the vLLM release that the operator pins when it first sees "
        "the object; it is kept in status.engine.image, so that a new operator never rolls a fleet.",
    )
    vllm_version: Annotated[str, Field(max_length=64, pattern=r"^[0-9]+\.[0-9]+(\.[0-9]+)?\S*$")] | None = (
        Field(
            None,
            description="vLLM's version in the image, such as 0.33.0, where the image's tag does not tell. "
            "Keys of the speculative config are checked against it.",
        )
    )
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = Field(
        "IfNotPresent", description="When the kubelet pulls the image, as in core/v1."
    )
    args: (
        Annotated[
            list[Annotated[str, Field(max_length=4096)]],
            Field(max_length=128, json_schema_extra=ATOMIC),
        ]
        | None
    ) = Field(
        None,
        description="Further arguments of `vllm serve`, one word each. Refused: --speculative-config and its "
        "aliases, --port and --host, which SpecDeploy sets.",
    )
    env: Annotated[list[EnvVar], Field(max_length=128, json_schema_extra=list_map("name"))] | None = Field(
        None, description="Further environment variables of the engine's container; they replace ours."
    )
    attention_backend: Argument | None = Field(
        None,
        description="Attention backend of the target (--attention-backend), such as ROCM_AITER_FA. A drafter "
        "has its own. Absent: vLLM's choice.",
    )
    weights: Weights | None = Field(
        None,
        description="Volume for model files (HF_HOME). Absent: an emptyDir, so every pod downloads "
        "the model.",
    )
    compile_cache: Storage | None = Field(
        None,
        description="Volume for compiled kernels, with a folder for each image and kind of GPU. Absent: an "
        "emptyDir, so every pod compiles anew.",
    )
    hf_token_secret_ref: SecretKeyRef | None = Field(
        None,
        description="Secret with the hub's token (HF_TOKEN). Only the engine gets it; the operator never "
        "reads it.",
    )
    pod_template: PodTemplate | None = Field(
        None, description="The escape hatch: merged into every engine pod. Maps merge, lists append."
    )
    startup_seconds: int = Field(
        3600,
        ge=30,
        le=14400,
        description="Longest time from a pod's start to ready, loading and compiling included. A drafter "
        "that needs longer is Unhealthy.",
    )
    drain: Drain = Field(
        default_factory=lambda: Drain.model_validate({}),
        description="How an engine leaves: first its endpoint, then its requests.",
    )
