"""What a user writes. Descriptions are what `kubectl explain` shows; bounds and CEL rules are admission.

What CEL cannot know is found by `specdeploy.engine` before a GPU is taken.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from specdeploy.api.base import AnnotationValue, CoreObject, Model, Name, list_map, rules
from specdeploy.api.engine_spec import Accelerator, Engine

Method = Literal["mtp", "eagle3", "eagle", "dflash", "dspark", "draft_model", "ngram", "suffix"]

# Methods that cannot work without a checkpoint of their own, and those that take none (vllm.md 1.2, 1.3).
NEEDS_MODEL: tuple[str, ...] = ("eagle3", "eagle", "dflash", "draft_model")
TAKES_NO_MODEL: tuple[str, ...] = ("ngram", "suffix")

# A first trial of a young engine is not its steady speed: five windows, at least five minutes.
WARMUP_WINDOWS = 5
WARMUP_SECONDS = 300
MINIMUM_DEADLINE_WINDOWS = 40
MAX_REPLICAS = 1000


_NEEDS = ", ".join(f"'{m}'" for m in NEEDS_MODEL)
_NONE = ", ".join(f"'{m}'" for m in TAKES_NO_MODEL)


class Drafter(Model):
    """One speculative configuration that you are willing to run."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                f"!(self.method in [{_NEEDS}]) || has(self.model)",
                f"model: methods {', '.join(NEEDS_MODEL)} need a draft checkpoint; set drafters[].model",
            ),
            (
                f"!(self.method in [{_NONE}]) || !has(self.model)",
                f"model: methods {', '.join(TAKES_NO_MODEL)} take no checkpoint; remove drafters[].model",
            ),
            (
                "self.name != 'baseline'",
                "name: 'baseline' is the arm without a drafter; choose another name",
            ),
        )
    )

    name: Annotated[str, Field(min_length=1, max_length=20, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")] = (
        Field(description="Your name for it; part of the names of its pods.")
    )
    method: Method = Field(description="Method of speculation, always passed to vLLM explicitly.")
    model: Annotated[str, Field(min_length=1, max_length=512)] | None = Field(
        None, description="Draft checkpoint: a hub id or a path inside the container."
    )
    revision: Name | None = Field(None, description="Pinned revision of the draft checkpoint.")
    num_speculative_tokens: int = Field(ge=1, le=64, description="Tokens drafted per step.")
    attention_backend: Name | None = Field(None, description="Attention backend of the drafter.")
    options: CoreObject | None = Field(
        None,
        description="Further keys of vLLM's speculative config, in its own spelling, e.g. prompt_lookup_max.",
    )


class Baseline(Model):
    """The arm without a drafter."""

    replicas: int = Field(
        1, ge=1, le=100, description="Baseline pods kept beside a serving drafter to compare it with."
    )


class Trial(Model):
    """How one drafter is measured against the baseline."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                f"self.deadlineSeconds >= {MINIMUM_DEADLINE_WINDOWS} * self.windowSeconds",
                f"deadlineSeconds: must hold at least {MINIMUM_DEADLINE_WINDOWS} windows; "
                "raise it or lower windowSeconds",
            ),
            (
                "self.totalDeadlineSeconds >= self.deadlineSeconds",
                "totalDeadlineSeconds: must be at least deadlineSeconds; raise it",
            ),
        )
    )

    replicas: int = Field(1, ge=1, le=100, description="Trial pods, borrowed from what serves.")
    window_seconds: int = Field(60, ge=5, le=600, description="Length of a measurement window.")
    warmup_seconds: int | None = Field(
        None,
        ge=0,
        le=7200,
        description="Age from which a pod's speed is evidence. Default: five windows, at least 300.",
    )
    minimum_effect_percent: int = Field(3, ge=0, le=100, description="What a promotion must be worth.")
    confidence_percent: int = Field(95, ge=80, le=99, description="Confidence of the interval.")
    deadline_seconds: int = Field(
        14400, ge=200, le=604800, description="Measured time after which an undecided trial ends."
    )
    total_deadline_seconds: int = Field(
        86400, ge=200, le=2592000, description="Time in all after which a trial ends, traffic or not."
    )

    @property
    def warmup(self) -> int:
        """Seconds of warm-up in force."""
        if self.warmup_seconds is not None:
            return self.warmup_seconds
        return max(WARMUP_WINDOWS * self.window_seconds, WARMUP_SECONDS)


class Service(Model):
    """The one endpoint over all arms."""

    create: bool = Field(True, description="false: you bring your own Service over the pods' labels.")
    type: Literal["ClusterIP", "NodePort", "LoadBalancer"] = Field("ClusterIP", description="As in core/v1.")
    port: int = Field(8000, ge=1, le=65535, description="Port of the Service.")
    annotations: Annotated[dict[str, AnnotationValue], Field(max_length=64)] | None = Field(
        None, description="Annotations of the Service."
    )


_IMMUTABLE = rules(
    (
        "self.model == oldSelf.model",
        "model: can't be changed, half of the clients would get 404 while it rolls; "
        "create a new SpecDeployment",
    ),
    (
        "has(self.servedModelName) == has(oldSelf.servedModelName) && "
        "(!has(self.servedModelName) || self.servedModelName == oldSelf.servedModelName)",
        "servedModelName: can't be changed, half of the clients would get 404 while it rolls; "
        "create a new SpecDeployment",
    ),
)


class Spec(Model):
    """What to serve, and the drafters that may serve it."""

    model_config = ConfigDict(json_schema_extra=_IMMUTABLE)

    model: Annotated[str, Field(min_length=1, max_length=512)] = Field(
        description="Target model: a hub id or a path inside the container. Can't be changed."
    )
    served_model_name: Annotated[str, Field(min_length=1, max_length=253)] | None = Field(
        None, description="Name that clients use. Default: model. Can't be changed."
    )
    model_revision: Name | None = Field(None, description="Pinned revision of the target model.")
    replicas: int = Field(
        1, ge=0, le=MAX_REPLICAS, description="Serving pods over all arms; /scale points here."
    )
    accelerator: Accelerator = Field(
        default_factory=lambda: Accelerator.model_validate({}), description="The GPUs of one pod."
    )
    engine: Engine = Field(
        default_factory=lambda: Engine.model_validate({}), description="vLLM, for every arm."
    )
    drafters: Annotated[list[Drafter], Field(max_length=32, json_schema_extra=list_map("name"))] | None = (
        Field(None, description="Drafters you are willing to run, tried one after another in this order.")
    )
    baseline: Baseline = Field(
        default_factory=lambda: Baseline.model_validate({}), description="The arm without a drafter."
    )
    trial: Trial = Field(
        default_factory=lambda: Trial.model_validate({}), description="How a drafter is measured."
    )
    service: Service = Field(
        default_factory=lambda: Service.model_validate({}), description="The endpoint over all arms."
    )
    paused: bool = Field(
        False, description="true: no trial starts and nothing is promoted; rollback stays on."
    )

    @property
    def served_name(self) -> str:
        """The model name that clients use."""
        return self.served_model_name or self.model

    def names(self) -> list[str]:
        """Names of the listed drafters, in order."""
        return [d.name for d in self.drafters or []]
