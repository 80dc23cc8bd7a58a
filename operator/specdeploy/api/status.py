"""What the operator reports, and its only memory: after a restart everything resumes from it.

Instants are absolute RFC 3339 in UTC; ratios are strings with three decimals; lists are atomic and
bounded, so that the whole stays below 16 KiB.
"""

from typing import Annotated, Literal

from pydantic import Field

from specdeploy.api.base import ATOMIC, Model, Text, list_map
from specdeploy.api.reasons import Condition as ConditionType
from specdeploy.api.reasons import Outcome, TrialState
from specdeploy.api.scalars import Hash, Instant, Packed, Ratio, Sentence, Word, instant, seconds
from specdeploy.api.serving_status import Rollback, Serving

__all__ = [
    "MAX_PICTURES",
    "MAX_RECENT",
    "MAX_REQUESTS",
    "MAX_SENTENCES",
    "MAX_VERDICTS",
    "BaselineStatus",
    "Capacity",
    "Condition",
    "EngineStatus",
    "Hash",
    "Instant",
    "Packed",
    "Ratio",
    "Recheck",
    "Request",
    "Rollback",
    "Sentence",
    "Serving",
    "Status",
    "TrialStatus",
    "Verdict",
    "Word",
    "instant",
    "seconds",
]

# All drafters that a spec can list, and some that it lists no more.
MAX_VERDICTS = 36
MAX_SENTENCES = 8
MAX_PICTURES = 3
MAX_RECENT = 120
MAX_REQUESTS = 6


class Condition(Model):
    """One observation, as in meta/v1. All of them are set at first sight."""

    type: Word = Field(
        description="What is observed: Ready, Available, Progressing, Trialing, Protected or "
        "MetricsAvailable."
    )
    status: Literal["True", "False", "Unknown"] = Field(
        description="Whether it is so: True, False or Unknown."
    )
    observed_generation: int | None = Field(
        None, description="Generation of the spec that this was observed for."
    )
    last_transition_time: Instant = Field(
        description="When status last changed; a new reason alone does not move it."
    )
    reason: Word = Field(description="Why, as one documented word; stable, for scripts and alerts.")
    message: Annotated[str, Field(max_length=2048)] = Field(description="Why, in words, and what to do.")


class EngineStatus(Model):
    """What was resolved for the engine."""

    image: Annotated[str, Field(max_length=512)] | None = Field(
        None,
        description="Image in force where the spec names none: pinned when the object was first seen, used "
        "until the spec names one.",
    )
    vllm_version: Annotated[str, Field(max_length=64)] | None = Field(
        None,
        description="vLLM's version as an engine with this image has told it, asked where neither "
        "engine.vllmVersion nor the image's tag does.",
    )
    remade: int | None = Field(
        None,
        ge=1,
        le=10**9,
        description="How often a retry has made edited Deployments anew; part of the names given since.",
    )


class Recheck(Model):
    """A re-check of what serves: baseline pods are borrowed for it."""

    start_time: Instant = Field(description="When a pod was borrowed for it.")
    reason: Annotated[str, Field(max_length=300)] = Field(description="Why now: it was due, or what drifted.")


class BaselineStatus(Model):
    """The arm without a drafter."""

    revision: Hash = Field(description="Its engine configuration; evidence is gathered against it.")
    template: Hash = Field(description="Its pod shape; Deployments belong to it.")
    since: Instant = Field(description="Since when the spec asks for this engine configuration.")
    trials: int = Field(0, ge=0, description="Trials measured against this revision so far.")
    retention: Literal["Always", "Trials"] | None = Field(
        None, description="Retention in force beside what serves; absent while the baseline serves."
    )
    until: Instant | None = Field(
        None, description="End of the probation until which its pods stay in any case; absent: it is over."
    )
    check: Recheck | None = Field(None, description="The re-check that runs.")
    last_check_time: Instant | None = Field(None, description="When the last re-check ended.")
    last_check: Literal["Kept", "Slower", "Undecided"] | None = Field(
        None, description="What it found. Kept: still faster than the baseline; Undecided: kept, too."
    )
    last_ratio: Ratio | None = Field(
        None, description="Speed of what served relative to the baseline in that re-check."
    )
    next_check_time: Instant | None = Field(None, description="When the next re-check is due.")
    early_checks: Annotated[list[Instant], Field(max_length=2, json_schema_extra=ATOMIC)] | None = Field(
        None, description="Starts of the last re-checks that were brought forward; two a day at most."
    )
    window_seconds: int | None = Field(
        None, description="Length of the windows behind history and guard; another length starts them anew."
    )
    answers: Packed | None = Field(
        None,
        description="What one of its pods answered to the fixed prompts of guards.outputAgreement; for the "
        "operator only.",
    )
    history: Packed | None = Field(
        None,
        description="What its own windows have taught, with a version; for the operator only. Written with "
        "other changes, else every 15 minutes at most.",
    )


class TrialStatus(Model):
    """The trial that runs, with its evidence."""

    drafter: Word = Field(description="Drafter on trial.")
    revision: Hash = Field(description="Its engine configuration; its verdict will belong to it.")
    template: Hash = Field(description="Its pod shape; its Deployment belongs to it.")
    attempt: int = Field(ge=1, description="How often this revision was tried, this time included.")
    state: TrialState = Field(description="Where the trial is; condition Trialing has it as its reason.")
    reason: Word | None = Field(None, description="Why it waits or pauses, as one word.")
    start_time: Instant = Field(description="When a pod was first borrowed for it.")
    state_time: Instant = Field(description="When it came to its state, or to its step of a promotion.")
    ready_time: Instant | None = Field(None, description="When its pods were first ready.")
    unschedulable_time: Instant | None = Field(
        None, description="Since when its pod finds no room, what it borrowed being gone."
    )
    first_window_time: Instant | None = Field(
        None, description="Beginning of the first window in which trial and baseline could both be measured."
    )
    last_window_time: Instant | None = Field(None, description="When a window was last judged.")
    deadline_time: Instant | None = Field(
        None, description="When it ends at the latest, by trial.totalDeadlineSeconds."
    )
    measured_seconds: int = Field(
        0, ge=0, description="Measured time so far; trial.deadlineSeconds counts it."
    )
    last_window: int | None = Field(
        None, description="Number of the last window judged, so that none is judged twice."
    )
    window_seconds: int | None = Field(
        None, description="Length of the windows behind the evidence; another length starts it anew."
    )
    compared: Hash | None = Field(
        None,
        description="Serving revision that it is compared with beside the baseline; another starts anew.",
    )
    summary: Annotated[str, Field(max_length=96)] | None = Field(
        None, description="The figures for a column."
    )
    ratio: Ratio | None = Field(None, description="Speed relative to the baseline so far.")
    lower: Ratio | None = Field(None, description="Lower end of its confidence interval.")
    upper: Ratio | None = Field(None, description="Upper end of its confidence interval.")
    windows: int = Field(0, ge=0, description="Windows that counted as evidence.")
    skipped: Annotated[dict[str, int], Field(max_length=32)] | None = Field(
        None, description="Windows that did not count, by reason, such as NoTraffic."
    )
    evidence: Annotated[str, Field(max_length=4096)] | None = Field(
        None, description="State of the judge, with its version; for the operator only."
    )
    recent: Annotated[list[int], Field(max_length=MAX_RECENT, json_schema_extra=ATOMIC)] | None = Field(
        None, description="Speed relative to the baseline in each of the last windows, in per mille."
    )
    fallback: Serving | None = Field(None, description="What served before, while a promotion moves pods.")
    step: int | None = Field(
        None, ge=1, le=100, description="Promoting: per cent of the serving pods that it gets in this step."
    )
    soaked: int = Field(
        0, ge=0, description="Windows of this step in which the guard could compare, all its pods warm."
    )
    soak: int | None = Field(
        None,
        ge=0,
        description="Windows to expect of this step: promotion.soakWindows, then those after which its mean "
        "decides; absent in the last.",
    )


class Capacity(Model):
    """How many pods there are, over all arms."""

    desired: int = Field(ge=0, description="Pods wanted over all arms: spec.replicas.")
    ready: int = Field(ge=0, description="Pods ready over all arms.")
    borrowed: int = Field(ge=0, description="Pods that the trial has borrowed.")
    lost: int = Field(ge=0, description="Pods that could not be placed again after a trial.")
    summary: Word = Field(description="ready/desired, for a column.")


class Verdict(Model):
    """What a trial ended with. It belongs to the revision."""

    drafter: Word = Field(description="Name that the drafter had.")
    revision: Hash = Field(description="Engine configuration that was judged.")
    attempt: int = Field(1, ge=1, description="Which attempt of this revision.")
    outcome: Outcome = Field(description="What the trial ended with.")
    reason: Word | None = Field(None, description="Why, as one documented word.")
    first_window_time: Instant | None = Field(
        None,
        description="Beginning of the first window in which trial and baseline could both be measured; "
        "newest verdicts only.",
    )
    time: Instant = Field(description="When the trial ended.")
    retry_time: Instant | None = Field(
        None, description="Not tried again before; absent: as the outcome says."
    )
    ratio: Ratio | None = Field(None, description="Speed relative to the baseline, as measured.")
    lower: Ratio | None = Field(None, description="Lower end of its confidence interval.")
    upper: Ratio | None = Field(None, description="Upper end of its confidence interval.")
    windows: int | None = Field(None, ge=0, description="Windows that counted as evidence.")
    recent: Annotated[list[int], Field(max_length=MAX_RECENT, json_schema_extra=ATOMIC)] | None = Field(
        None,
        description="Speed relative to the baseline in each of the trial's last windows, in per mille; "
        "newest verdicts only.",
    )
    render_version: int | None = Field(
        None,
        description="Version of the renderer, for Unhealthy and Invalid: a new one lifts the quarantine.",
    )
    message: Sentence | None = Field(None, description="One sentence with the numbers; newest verdicts only.")


class Request(Model):
    """An annotation's verb that was handled, so that it is handled once."""

    verb: Literal["abort", "retry"] = Field(description="What was asked for.")
    value: Annotated[str, Field(max_length=128)] = Field(description="The annotation's value.")
    time: Instant = Field(description="When it was handled.")
    result: Text = Field(description="What came of it.")


class Status(Model):
    """Everything observed and everything remembered."""

    conditions: (
        Annotated[list[Condition], Field(max_length=16, json_schema_extra=list_map("type"))] | None
    ) = Field(
        None,
        description="What is observed: Ready, Available, Progressing, Trialing, Protected, MetricsAvailable.",
    )
    message: Sentence | None = Field(None, description="What is happening, why, what is next and when.")
    observed_generation: int | None = Field(None, description="Generation of the spec last acted on.")
    replicas: int | None = Field(
        None, ge=0, description="Pods that exist, without those that leave; for /scale."
    )
    selector: Annotated[str, Field(max_length=256)] | None = Field(
        None, description="Label selector of the pods of all arms; for /scale."
    )
    engine: EngineStatus | None = Field(
        None, description="What was resolved for the engine, where the spec leaves it open."
    )
    serving: Serving | None = Field(None, description="What serves, with the figures of its trial.")
    baseline: BaselineStatus | None = Field(None, description="The arm without a drafter.")
    rollback: Rollback | None = Field(None, description="The way back from what was taken off.")
    trial: TrialStatus | None = Field(None, description="The trial that runs or waits, with its evidence.")
    capacity: Capacity | None = Field(None, description="How many pods are wanted, ready, borrowed and lost.")
    verdicts: Annotated[list[Verdict], Field(max_length=MAX_VERDICTS, json_schema_extra=ATOMIC)] | None = (
        Field(
            None,
            description="What trials ended with, newest first. Those of listed drafters are never dropped.",
        )
    )
    requests: Annotated[list[Request], Field(max_length=MAX_REQUESTS, json_schema_extra=ATOMIC)] | None = (
        Field(None, description="Annotations that were handled, newest first.")
    )

    def condition(self, kind: ConditionType) -> Condition | None:
        """The condition of that type, if it was ever set."""
        return next((c for c in self.conditions or [] if c.type == kind), None)

    def verdict(self, revision: str) -> Verdict | None:
        """The newest verdict of a revision."""
        return next((v for v in self.verdicts or [] if v.revision == revision), None)
