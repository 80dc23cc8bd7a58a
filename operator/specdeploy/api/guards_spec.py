"""What a user writes of the guards: limits beside speed, each with its own switch.

The rollout makes the judge's `Limits` of it; the defaults are the same numbers.
"""

from pydantic import ConfigDict, Field

from specdeploy.api.base import Model, rule, rules

_ENABLED = "false: this guard is off."


class Switch(Model):
    """A guard without a limit of its own."""

    enabled: bool = Field(True, description=_ENABLED)


class FirstTokenGuard(Model):
    """The mean time to first token, compared with the baseline's. Both limits must be exceeded."""

    enabled: bool = Field(True, description=_ENABLED)
    allowed_increase_percent: int = Field(
        50, ge=0, le=10000, description="By how much longer it may be than the baseline's."
    )
    allowed_milliseconds: int = Field(
        50, ge=0, le=600000, description="What it may be longer by in all: 3 ms instead of 2 harm nobody."
    )


class CountGuard(Model):
    """Rare events, by an exact test: at most the baseline's share of requests, increased, and an extra."""

    enabled: bool = Field(True, description=_ENABLED)
    allowed_increase_percent: int = Field(
        50, ge=0, le=10000, description="By how much the baseline's share may be exceeded."
    )
    allowed_per_thousand: int = Field(
        5, ge=0, le=1000, description="Events per thousand requests allowed on top of that, at any share."
    )


class ErrorGuard(CountGuard):
    """Requests that fail."""

    allowed_per_thousand: int = Field(
        2, ge=0, le=1000, description="Events per thousand requests allowed on top of that, at any share."
    )


class PreemptionGuard(CountGuard):
    """Requests that are put back into the queue because the KV cache is full."""

    allowed_increase_percent: int = Field(
        100, ge=0, le=10000, description="By how much the baseline's share may be exceeded."
    )
    allowed_per_thousand: int = Field(
        50, ge=0, le=1000, description="Events per thousand requests allowed on top of that, at any share."
    )


class RoomGuard(Model):
    """Room of the KV cache in tokens a pod, in percent of the baseline's."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "self.warnPercent >= self.minimumPercent",
                "must not be below minimumPercent; raise warnPercent or lower minimumPercent",
                field=".warnPercent",
                holds=lambda it: it["warnPercent"] >= it["minimumPercent"],
            )
        )
    )

    enabled: bool = Field(True, description=_ENABLED)
    minimum_percent: int = Field(50, ge=0, le=100, description="Below this the trial ends.")
    warn_percent: int = Field(80, ge=0, le=100, description="Below this the trial's message warns.")


class PrefixHitsGuard(Model):
    """The share of prompt tokens found in the prefix cache."""

    enabled: bool = Field(True, description=_ENABLED)
    allowed_loss_points: int = Field(
        5, ge=0, le=100, description="Percentage points that it may be below the baseline's."
    )


class OutputLengthGuard(Model):
    """Tokens per finished request. Lossless speculation does not change them."""

    enabled: bool = Field(True, description=_ENABLED)
    allowed_change_percent: int = Field(
        20, ge=1, le=10000, description="By how much it may differ from the baseline's, either way."
    )


class OutputAgreementGuard(Model):
    """Answers to a few fixed prompts, asked greedily before a pod is ready."""

    enabled: bool = Field(True, description=_ENABLED)
    allowed_percent: int = Field(
        25,
        ge=0,
        le=100,
        description="Per cent of the answers that may differ from the baseline's by more than rounding does.",
    )


class Guards(Model):
    """Limits beside speed. One that is proven to be broken ends a trial, whatever its speed."""

    time_to_first_token: FirstTokenGuard = Field(
        default_factory=lambda: FirstTokenGuard.model_validate({}),
        description="Mean time to first token, queueing and prefill included.",
    )
    client_errors: ErrorGuard = Field(
        default_factory=lambda: ErrorGuard.model_validate({}),
        description="Requests answered with HTTP 4xx: vLLM refuses some, such as with min_p or logit_bias, "
        "under speculation only.",
    )
    server_errors: ErrorGuard = Field(
        default_factory=lambda: ErrorGuard.model_validate({}), description="Requests answered with HTTP 5xx."
    )
    aborted_requests: CountGuard = Field(
        default_factory=lambda: CountGuard.model_validate({}),
        description="Requests whose client left before the end.",
    )
    errored_requests: ErrorGuard = Field(
        default_factory=lambda: ErrorGuard.model_validate({}),
        description="Requests that ended in error or in endless repetition.",
    )
    preemptions: PreemptionGuard = Field(
        default_factory=lambda: PreemptionGuard.model_validate({}),
        description="Requests put back into the queue because the KV cache is full.",
    )
    less_capacity: Switch = Field(
        default_factory=lambda: Switch.model_validate({}),
        description="Requests wait on its pods, in 3 of 5 windows, while the baseline has no queue.",
    )
    kv_blocks: RoomGuard = Field(
        default_factory=lambda: RoomGuard.model_validate({}),
        description="Room of the KV cache: a drafter takes memory from it.",
    )
    max_model_len: Switch = Field(
        default_factory=lambda: Switch.model_validate({}),
        description="The longest request must not be below the baseline's: a drafter may lower it.",
    )
    prefix_hits: PrefixHitsGuard = Field(
        default_factory=lambda: PrefixHitsGuard.model_validate({}),
        description="Prompt tokens found in the prefix cache: some methods lose them without an error.",
    )
    output_length: OutputLengthGuard = Field(
        default_factory=lambda: OutputLengthGuard.model_validate({}),
        description="Tokens per finished request.",
    )
    output_agreement: OutputAgreementGuard = Field(
        default_factory=lambda: OutputAgreementGuard.model_validate({}),
        description="Answers to fixed prompts, compared as soon as a trial's pod is ready: a drafter must "
        "not change what users read. A drafter with allowLossy is left out.",
    )
