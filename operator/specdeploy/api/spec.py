"""What a user writes. Descriptions are what `kubectl explain` shows; bounds and CEL rules are admission.

What CEL cannot know is found by `specdeploy.engine` before a GPU is taken.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from specdeploy.api.base import Argument, CoreObject, Model, StringMap, list_map, rule, rules
from specdeploy.api.engine_spec import Accelerator, Engine
from specdeploy.api.guards_spec import Guards
from specdeploy.api.names import BASELINE
from specdeploy.api.promotion_spec import Baseline, Promotion

Method = Literal["mtp", "eagle3", "eagle", "dflash", "dspark", "draft_model", "ngram", "suffix"]

# Methods that cannot work without a checkpoint of their own, and those that take none.
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
            rule(
                f"!(self.method in [{_NEEDS}]) || has(self.model)",
                f"methods {', '.join(NEEDS_MODEL)} need a draft checkpoint; set drafters[].model",
                field=".model",
                holds=lambda it: it["method"] not in NEEDS_MODEL or "model" in it,
            ),
            rule(
                f"!(self.method in [{_NONE}]) || !has(self.model)",
                f"methods {', '.join(TAKES_NO_MODEL)} take no checkpoint; remove drafters[].model",
                field=".model",
                holds=lambda it: it["method"] not in TAKES_NO_MODEL or "model" not in it,
            ),
            rule(
                f"self.name != '{BASELINE}'",
                f"'{BASELINE}' is the arm without a drafter; choose another name",
                field=".name",
                holds=lambda it: it["name"] != BASELINE,
            ),
        )
    )

    name: Annotated[str, Field(min_length=1, max_length=20, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")] = (
        Field(
            description="Your name for it: lower-case letters, digits and dashes. Part of the names of its "
            "Deployments. It has no part in a verdict: that belongs to the configuration."
        )
    )
    method: Method = Field(
        description="Method of speculation, always passed to vLLM explicitly. mtp: layers of the target or "
        "its assistant; eagle, eagle3, dflash, dspark: a trained head; draft_model: a small model; ngram, "
        "suffix: no model at all."
    )
    model: Argument | None = Field(
        None,
        description="Draft checkpoint: a hub id or a path inside the container. Required for eagle, eagle3, "
        "dflash and draft_model, not allowed for ngram and suffix. Absent for mtp and dspark: the layers are "
        "in the target.",
    )
    revision: Argument | None = Field(
        None, description="Pinned revision of the draft checkpoint: a branch, tag or commit of the hub."
    )
    num_speculative_tokens: int = Field(
        ge=1,
        le=64,
        description="Tokens drafted per step. A block drafter is at its best with no more than its block.",
    )
    attention_backend: Argument | None = Field(
        None,
        description="Attention backend of the drafter, such as TRITON_ATTN. Absent: vLLM's choice.",
    )
    allow_lossy: bool | None = Field(
        None,
        description="true: this drafter may change what users read, which rejection_sample_method fly does. "
        "Absent: false, and such a drafter is Invalid.",
    )
    options: CoreObject | None = Field(
        None,
        description="Further keys of vLLM's speculative config, in its own spelling, such as "
        "prompt_lookup_max. They are checked against the image's vLLM version.",
    )


class Trial(Model):
    """How one drafter is measured against the baseline."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                f"self.deadlineSeconds >= {MINIMUM_DEADLINE_WINDOWS} * self.windowSeconds",
                f"must hold at least {MINIMUM_DEADLINE_WINDOWS} windows; "
                "raise deadlineSeconds or lower windowSeconds",
                field=".deadlineSeconds",
                holds=lambda it: it["deadlineSeconds"] >= MINIMUM_DEADLINE_WINDOWS * it["windowSeconds"],
            ),
            rule(
                "self.totalDeadlineSeconds >= self.deadlineSeconds",
                "must be at least deadlineSeconds; raise totalDeadlineSeconds or lower deadlineSeconds",
                field=".totalDeadlineSeconds",
                holds=lambda it: it["totalDeadlineSeconds"] >= it["deadlineSeconds"],
            ),
        )
    )

    replicas: int = Field(
        1, ge=1, le=100, description="Pods of a trial. They are borrowed from what serves, never added."
    )
    window_seconds: int = Field(
        60,
        ge=5,
        le=600,
        description="Length of a window, over which all arms are measured at once. Longer for quiet models.",
    )
    warmup_seconds: int | None = Field(
        None,
        ge=0,
        le=7200,
        description="Time after ready from which a pod's speed is evidence; a disaster is seen before. "
        f"Absent: {WARMUP_WINDOWS} windows, at least {WARMUP_SECONDS}.",
    )
    minimum_effect_percent: int = Field(
        3,
        ge=0,
        le=100,
        description="What a promotion must be worth: how much faster than the baseline, and than what "
        "serves.",
    )
    confidence_percent: int = Field(
        95,
        ge=80,
        le=99,
        description="Confidence of the interval by which a trial is decided, valid at every look.",
    )
    deadline_seconds: int = Field(
        14400,
        ge=200,
        le=604800,
        description="Measured time after which an undecided trial ends Inconclusive: at least "
        f"{MINIMUM_DEADLINE_WINDOWS} windows.",
    )
    total_deadline_seconds: int = Field(
        86400,
        ge=200,
        le=2592000,
        description="Time in all after which a trial ends, so that a quiet model does not hold a borrowed "
        "GPU for ever. At least deadlineSeconds.",
    )

    @property
    def warmup(self) -> int:
        """Seconds of warm-up in force."""
        if self.warmup_seconds is not None:
            return self.warmup_seconds
        return max(WARMUP_WINDOWS * self.window_seconds, WARMUP_SECONDS)


class Service(Model):
    """The one endpoint over all arms."""

    create: bool = Field(
        True,
        description="false: no Service is made; you bring your own over the label specdeploy.dev/name.",
    )
    type: Literal["ClusterIP", "NodePort", "LoadBalancer"] = Field(
        "ClusterIP", description="Type of the Service, as in core/v1."
    )
    port: int = Field(8000, ge=1, le=65535, description="Port at which clients reach the engines.")
    annotations: StringMap | None = Field(None, description="Annotations of the Service.")


_IMMUTABLE = "half of the clients would get 404 while it rolls; create a new SpecDeployment"


class Spec(Model):
    """What to serve, and the drafters that may serve it."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "self.model == oldSelf.model",
                f"can't be changed: {_IMMUTABLE}",
                field=".model",
                holds=None,
            ),
            rule(
                "has(self.servedModelName) == has(oldSelf.servedModelName) && "
                "(!has(self.servedModelName) || self.servedModelName == oldSelf.servedModelName)",
                f"can't be changed: {_IMMUTABLE}",
                field=".servedModelName",
                holds=None,
            ),
        )
    )

    model: Argument = Field(
        description="Target model: a hub id or a path inside the container. Can't be changed."
    )
    served_model_name: Annotated[Argument, Field(max_length=253)] | None = Field(
        None, description="Name by which clients ask for the model. Absent: model. Can't be changed."
    )
    model_revision: Argument | None = Field(
        None,
        description="Pinned revision of the target: a branch, tag or commit of the hub. Absent: the hub's "
        "default, which may move under you.",
    )
    replicas: int = Field(
        1,
        ge=0,
        le=MAX_REPLICAS,
        description="Pods over all arms, baseline and trial included; one replica is one pod. The scale "
        "subresource points here.",
    )
    accelerator: Accelerator = Field(
        default_factory=lambda: Accelerator.model_validate({}), description="The GPUs of each pod."
    )
    engine: Engine = Field(
        default_factory=lambda: Engine.model_validate({}), description="vLLM, the same for every arm."
    )
    drafters: Annotated[list[Drafter], Field(max_length=32, json_schema_extra=list_map("name"))] | None = (
        Field(
            None,
            description="Speculative configurations that you are willing to run, tried one after another in "
            "this order. None: the baseline serves.",
        )
    )
    baseline: Baseline = Field(
        default_factory=lambda: Baseline.model_validate({}), description="The arm without a drafter."
    )
    trial: Trial = Field(
        default_factory=lambda: Trial.model_validate({}),
        description="How a drafter is measured against the baseline.",
    )
    promotion: Promotion = Field(
        default_factory=lambda: Promotion.model_validate({}), description="How a proven drafter takes over."
    )
    guards: Guards = Field(
        default_factory=lambda: Guards.model_validate({}),
        description="Limits beside speed. One that is proven to be broken ends a trial, whatever its speed.",
    )
    service: Service = Field(
        default_factory=lambda: Service.model_validate({}), description="The one endpoint over all arms."
    )
    paused: bool = Field(
        False,
        description="true: no trial starts and nothing is promoted. What serves goes on, and a drafter that "
        "fails is still taken away.",
    )

    @property
    def served_name(self) -> str:
        """The model name that clients use."""
        return self.served_model_name or self.model

    def names(self) -> list[str]:
        """Names of the listed drafters, in order."""
        return [d.name for d in self.drafters or []]
