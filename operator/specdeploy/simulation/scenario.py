"""What a scenario file says: a SpecDeployment, its traffic, its engines, and what goes wrong when.

First in the simulation's flow: scenario -> load, engines -> cluster -> run -> report. The models only hold
and check values; `reading` turns YAML into them, with findings for people.
"""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

_DAY = 86400.0
_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?[dhms])+")
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)|24:00")


def duration(value: Any) -> Any:
    """`1d12h`, `90m`, or a number of seconds -> seconds. Anything else is handed on for pydantic to
    refuse.
    """
    if isinstance(value, str):
        if not _DURATION.fullmatch(value):
            raise ValueError(f"{value!r} is no duration such as 90m, 6h or 1d12h")
        return sum(float(n) * _UNITS[unit] for n, unit in re.findall(r"(\d+(?:\.\d+)?)([dhms])", value))
    return value


def clock(value: Any) -> Any:
    """`08:30` -> seconds since midnight. YAML 1.1 reads an unquoted 08:30 as a number in base 60."""
    if isinstance(value, str) and _CLOCK.fullmatch(value):
        hours, minutes = value.split(":")
        return int(hours) * 3600.0 + int(minutes) * 60.0
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 24 * 60:
        return value * 60.0
    raise ValueError(f"{value!r} is no time of day such as 08:30")


def _by_time(value: Any) -> Any:
    """A number, or points by time of day -> points in order: ((seconds, value), ...)."""
    if isinstance(value, dict):
        return tuple(sorted((clock(at), level) for at, level in value.items()))
    return value if isinstance(value, list | tuple) else ((0.0, value),)


def _by_elapsed(value: Any) -> Any:
    """Points by time since the start -> points in order."""
    if isinstance(value, dict):
        return tuple(sorted((duration(at), level) for at, level in value.items()))
    return value


Seconds = Annotated[float, BeforeValidator(duration)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Points = tuple[tuple[float, NotNegative], ...]
ByTime = Annotated[Points, BeforeValidator(_by_time), Field(min_length=1)]
ByElapsed = Annotated[Points, BeforeValidator(_by_elapsed)]


class Part(BaseModel):
    """The base of every part of a scenario: frozen, camelCase in the file, nothing unknown."""

    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, populate_by_name=True, extra="forbid", allow_inf_nan=False
    )


class Tokens(Part):
    """Tokens of a request: their mean, and their spread (standard deviation over mean)."""

    mean: Positive
    spread: NotNegative = 0.5


class Traffic(Part):
    """Arrivals at the one Service.

    `requests_per_second` by time of day, straight between the points, the same every day; `ramp` multiplies
    it by time since the start, and holds its ends. `noise`: standard deviation of ln demand from window to
    window, all pods alike. `workloads`: what share of the requests is of which kind, by time of day; the
    shares of a moment need not add up to 1. Absent: one kind. `patience`: clients give up a request that
    would wait longer for a slot.
    """

    requests_per_second: ByTime
    ramp: ByElapsed = ()
    output_tokens: Tokens
    prompt_tokens: Tokens = Tokens(mean=500.0)
    noise: NotNegative = 0.05
    workloads: dict[str, ByTime] = Field(default_factory=dict)
    patience: Annotated[Seconds, Field(gt=0)] = 300.0


class Captured(Part):
    """The largest step that runs from a captured graph, in tokens, and by how much a larger one is slower."""

    tokens: Positive
    factor: Annotated[float, Field(ge=1, le=100)]


class Target(Part):
    """The engine without a drafter.

    A step takes fixed_ms + per_request_ms * batch; each drafted token of a request adds verify_ms to it
    (absent: per_request_ms). `slots` is vLLM's max_num_seqs. `prefill_tokens_per_second`: prompts take their
    share of the engine's time; absent: nothing is taken. `load_seconds`: from a GPU to ready.
    """

    fixed_ms: Positive
    per_request_ms: NotNegative
    verify_ms: NotNegative | None = None
    slots: Annotated[int, Field(ge=1, le=100_000)] = 256
    captured: Captured | None = None
    prefill_tokens_per_second: Positive | None = None
    load_seconds: Seconds = 240.0
    drain_seconds: Seconds = 40.0

    def step_ms(self, batch: float) -> float:
        """A plain step with `batch` requests."""
        return self.fixed_ms + self.per_request_ms * batch

    @property
    def drafted_token_ms(self) -> float:
        """What one drafted token of one request adds to a step."""
        return self.per_request_ms if self.verify_ms is None else self.verify_ms


class Acceptance(Part):
    """Chances that a drafted token is accepted, given that the ones before it were: the first (`q1`), and
    each later one (`tail`). Or `tau`, the tokens of a round, itself."""

    q1: Share | None = None
    tail: Share | None = None
    tau: Annotated[float, Field(ge=1, le=65)] | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.tau is None) == (self.q1 is None):
            raise ValueError("give either q1 and tail, or tau")
        return self


class Cost(Part):
    """What a round costs more than a plain step.

    Either a measured panel: a + b * n plain steps at `concurrency` requests; or the drafter's own passes in
    ms: `fixed_ms` + `per_token_ms` * n, verification added; or `steps`, the same multiple of a plain step at
    any load.
    """

    a: Positive | None = None
    b: NotNegative | None = None
    concurrency: Positive | None = None
    fixed_ms: NotNegative | None = None
    per_token_ms: NotNegative = 0.0
    steps: Positive | None = None

    @model_validator(mode="after")
    def _one_of_three(self) -> Self:
        panel = (self.a is not None, self.b is not None, self.concurrency is not None)
        if any(panel) and not all(panel):
            raise ValueError("a panel needs a, b and concurrency")
        if (self.a is not None) + (self.fixed_ms is not None) + (self.steps is not None) != 1:
            raise ValueError("give one of: a, b and concurrency; fixedMs (and perTokenMs); steps")
        return self


class DrafterEngine(Part):
    """How the engine behaves with a drafter.

    `acceptance` for every request, or by workload. `sticky`: spread of a request's own tokens per round
    (0.1 for mathematics to 0.25 for chat). `decay_per_day`: share of the acceptance that is lost in a day, as
    traffic moves away from what the drafter was trained on.
    """

    cost: Cost
    acceptance: Acceptance | dict[str, Acceptance]
    sticky: NotNegative = 0.2
    slots: Annotated[int, Field(ge=1, le=100_000)] | None = None
    load_seconds: Seconds | None = None
    decay_per_day: Share = 0.0


class Noise(Part):
    """What blurs a measurement, in natural logs of speed.

    `window_sd` and `phi`: a pod's noise from window to window and its autocorrelation. `pod_sd`: what two
    GPUs differ by. `young_slowness` (0.1 is 10 %) fades over `young_seconds` after ready.
    """

    window_sd: NotNegative = 0.02
    phi: Annotated[float, Field(ge=0, lt=1)] = 0.3
    pod_sd: NotNegative = 0.01
    young_slowness: Annotated[float, Field(ge=0, lt=1)] = 0.05
    young_seconds: Seconds = 600.0


class Fault(Part):
    """Something that happens at a time since the start.

    `podLost`: a pod of `arm` vanishes. `crash`: a pod's engine of `drafter` exits and loads again. `queue`:
    `requests` come at once, over all pods. `metricsGap`: for `lasting`, no counters can be read.
    `acceptance`: from then on the acceptance of `drafter` is multiplied by `factor`. `slower`: for
    `lasting`, every engine is slower by `factor` (0.8 is 20 %).
    """

    at: Seconds
    kind: Literal["podLost", "crash", "queue", "metricsGap", "acceptance", "slower"]
    arm: Literal["baseline", "serving", "trial"] = "serving"
    drafter: str | None = None
    requests: NotNegative = 0.0
    lasting: Seconds = 0.0
    factor: Positive = 1.0

    @model_validator(mode="after")
    def _complete(self) -> Self:
        missing = {
            "crash": None if self.drafter else "drafter",
            "acceptance": None if self.drafter else "drafter",
            "queue": None if self.requests else "requests",
            "metricsGap": None if self.lasting else "lasting",
            "slower": None if self.lasting else "lasting",
        }.get(self.kind)
        if missing:
            raise ValueError(f"a fault of kind {self.kind} needs {missing}")
        return self

    @property
    def told(self) -> str:
        """What happens, for the timeline."""
        return {
            "podLost": f"a pod of the {self.arm} arm is lost",
            "crash": f"an engine of {self.drafter} crashes",
            "queue": f"{self.requests:g} requests come at once",
            "metricsGap": f"no counters can be read for {self.lasting:g} s",
            "acceptance": f"the acceptance of {self.drafter} is multiplied by {self.factor:g}",
            "slower": f"every engine runs at {self.factor:g} of its speed for {self.lasting:g} s",
        }[self.kind]


class Edit(Part):
    """What a user changes, at a time since the start: fields of the spec's first level, each as a whole."""

    at: Seconds
    spec: Annotated[dict[str, Any], Field(min_length=1)]


class Scenario(Part):
    """A whole file. `spec` is that of a SpecDeployment, as users write it. `source`: where its figures come
    from. `start` is a time of day (seconds)."""

    name: Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[a-z0-9][-a-z0-9]*$")]
    description: Annotated[str, Field(min_length=1)]
    source: str = ""
    seed: int = 1
    start: Annotated[float, BeforeValidator(clock)] = 0.0
    duration: Annotated[Seconds, Field(ge=600, le=60 * _DAY)] = _DAY
    spec: dict[str, Any]
    traffic: Traffic
    target: Target
    drafters: dict[str, DrafterEngine] = Field(default_factory=dict)
    noise: Noise = Noise()
    faults: tuple[Fault, ...] = ()
    edits: tuple[Edit, ...] = ()

    def specs(self) -> tuple[tuple[float, dict[str, Any]], ...]:
        """Each spec as it stands after an edit, with the time of that edit; the first one at 0."""
        now, found = self.spec, [(0.0, self.spec)]
        for edit in sorted(self.edits, key=lambda edit: edit.at):
            now = {**now, **edit.spec}
            found.append((edit.at, now))
        return tuple(found)
