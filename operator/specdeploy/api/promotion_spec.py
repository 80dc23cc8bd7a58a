"""How a proven drafter takes over, and how what serves is compared afterwards: part of what a user writes."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from specdeploy.api.base import ATOMIC, Model, rule, rules


class Baseline(Model):
    """The arm without a drafter."""

    replicas: int = Field(
        1,
        ge=1,
        le=100,
        description="Baseline pods kept beside a serving drafter or a trial, to compare it with.",
    )
    retention: Literal["Auto", "Always", "Trials"] = Field(
        "Auto",
        description="How long the baseline's pods stay beside a serving drafter. Always: they stay, and the "
        "guard sees every window. Trials: after probation they are given back, and come again for trials and "
        "re-checks. Auto: Always where they are at most an eighth of replicas, else Trials; looked at when a "
        "drafter is promoted and after each re-check only.",
    )
    probation_seconds: int = Field(
        86400,
        ge=0,
        le=2592000,
        description="After a promotion the baseline's pods stay at least this long, whatever retention says: "
        "speed depends on the hour.",
    )
    recheck_seconds: int = Field(
        86400,
        ge=60,
        le=2592000,
        description="With retention Trials: time between two re-checks of what serves. Of a day or more, "
        "each comes 7 hours earlier, so that every hour of the day has its turn.",
    )


class Promotion(Model):
    """How a proven drafter takes over."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "self.steps.isSorted() && self.steps[self.steps.size() - 1] == 100",
                "must ascend and end with 100; sort them and append 100",
                field=".steps",
                holds=lambda it: it["steps"] == sorted(it["steps"]) and it["steps"][-1] == 100,
            )
        )
    )

    steps: Annotated[
        list[Annotated[int, Field(ge=1, le=100)]],
        Field(min_length=1, max_length=20, json_schema_extra=ATOMIC),
    ] = Field(
        default=[1, 25, 50, 100],
        description="Per cent of the serving pods that a proven drafter gets, step by step, at least one pod "
        "each; ascending, the last is 100. Steps of the same number of pods are one; the trial's own pods "
        "are soaked already.",
    )
    soak_windows: int = Field(
        10,
        ge=0,
        le=10000,
        description="Windows of each step in which the guard could compare, at least; more until they prove "
        "it faster, or were enough to see a loss of 10 %.",
    )
