"""What serves, and the way back from what served: part of the status."""

from typing import Annotated

from pydantic import Field

from specdeploy.api.base import Model
from specdeploy.api.scalars import Hash, Instant, Packed, Ratio, Word


class Serving(Model):
    """What serves."""

    name: Word = Field(description="Drafter that serves, or baseline.")
    revision: Hash = Field(description="Its engine configuration; verdicts belong to it.")
    template: Hash = Field(description="Its pod shape; Deployments belong to it.")
    since: Instant = Field(description="Since when it serves.")
    left_time: Instant | None = Field(
        None,
        description="When the spec first asked for another engine. It serves until its drafter is proven on "
        "that one, and no longer than a start-up and one total deadline.",
    )
    speedup: Ratio | None = Field(
        None, description="Speed relative to the baseline, as measured in its trial."
    )
    lower: Ratio | None = Field(None, description="Lower end of its confidence interval.")
    upper: Ratio | None = Field(None, description="Upper end of its confidence interval.")
    summary: Word | None = Field(None, description="The figures for a column.")
    pod_seconds: int | None = Field(
        None, ge=0, description="Seconds that its trial's pod took to take the place of another one."
    )
    rollback_seconds: int | None = Field(
        None,
        ge=0,
        description="Seconds that taking it back would take after a loss of 10 %.",
    )
    finding: Annotated[str, Field(max_length=200)] | None = Field(
        None, description="Why it could not start a trial as written; it serves on with its verdict."
    )
    compared_time: Instant | None = Field(
        None,
        description="When a window of it could last be compared with the baseline's. Written like guard.",
    )
    guard: Packed | None = Field(
        None,
        description="State of the guard that watches it, with its version; for the operator only. Written "
        "with other changes, else every 15 minutes at most.",
    )


class Rollback(Model):
    """The way back from a drafter that served, while its pods leave."""

    drafter: Word = Field(description="Drafter that was taken off.")
    template: Hash = Field(description="Pod shape of the pods that leave.")
    pods: int = Field(ge=1, description="Pods that leave at a time: as many as the loss is worth.")
    start_time: Instant = Field(description="When it was taken off.")
    seconds: int | None = Field(None, ge=0, description="Seconds that it takes, as far as can be told.")
    unschedulable_time: Instant | None = Field(
        None, description="Since when pods find no room, although none of ours is on its way out."
    )
