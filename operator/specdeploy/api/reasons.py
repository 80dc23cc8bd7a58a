"""Condition types, reasons, trial states and outcomes: stable words, each with its meaning.

They appear alike in status, Events, metrics, the CLI and docs/reference.
"""

from enum import StrEnum


class Condition(StrEnum):
    """Condition types, in the order in which they are shown."""

    READY = "Ready"  # the current spec is valid and enough pods serve; never depends on a trial
    AVAILABLE = "Available"  # at least one pod answers clients
    PROGRESSING = "Progressing"  # a rollout or a promotion moves pods
    TRIALING = "Trialing"  # a drafter is on trial; the reason is the trial's state
    METRICS_AVAILABLE = "MetricsAvailable"  # the engines' counters can be read


class Reason(StrEnum):
    """Why a condition is as it is."""

    SERVING = "Serving"  # enough pods are ready
    SCALED_TO_ZERO = "ScaledToZero"  # replicas is 0, as asked
    STARTING = "Starting"  # engines load; none or too few are ready yet
    TOO_FEW_READY = "TooFewReady"  # pods that served are not ready any more
    ENGINE_FAILING = "EngineFailing"  # an engine of the serving arm can't run; the message has its last words
    UNSCHEDULABLE = "Unschedulable"  # no node has room for a serving pod
    CAPACITY_LOST = "CapacityLost"  # the pod borrowed for a trial can't be placed again
    INVALID_SPEC = "InvalidSpec"  # a field is wrong; what served before serves on
    NAME_TAKEN = "NameTaken"  # an object of that name belongs to somebody else; nothing is taken over
    CRD_OUTDATED = "CRDOutdated"  # the CRD in the cluster is older than this operator
    ROLLING = "Rolling"  # pods move to another revision, one by one
    SETTLED = "Settled"  # every pod is where it should be
    PAUSED = "Paused"  # spec.paused or the annotation: no trial starts, nothing is promoted
    NO_CANDIDATE = "NoCandidate"  # every listed drafter has its verdict
    NO_DRAFTERS = "NoDrafters"  # the spec lists none
    NOT_READY = "NotReady"  # a trial waits until what serves is ready
    READABLE = "Readable"  # every ready engine's counters were read
    SCRAPE_FAILED = "ScrapeFailed"  # an engine's counters could not be read; the message says why
    NOT_YET_READ = "NotYetRead"  # no window has ended yet


class TrialState(StrEnum):
    """Where a trial is (status.trial.state)."""

    WAITING_FOR_SLOT = "WaitingForSlot"  # the operator runs as many trials as it may
    WAITING_FOR_CAPACITY = "WaitingForCapacity"  # too few replicas, or what serves is not ready
    STARTING = "Starting"  # a pod is borrowed, the trial's engine loads
    WARMING_UP = "WarmingUp"  # it serves; its speed does not count as evidence yet (a disaster does)
    MEASURING = "Measuring"  # windows count
    PROMOTING = "Promoting"  # proven: it takes over, pod by pod
    ROLLING_BACK = "RollingBack"  # its pods go, what it borrowed is given back


class Outcome(StrEnum):
    """What a trial ended with (status.verdicts[].outcome)."""

    PROMOTED = "Promoted"  # proven faster; serves
    RUNNER_UP = "RunnerUp"  # proven faster than the baseline, not than what serves
    SLOWER = "Slower"  # proven slower than the baseline; rolled back
    DISASTER = "Disaster"  # far slower; rolled back at once
    NOT_WORTH_IT = "NotWorthIt"  # can't reach minimumEffectPercent; rolled back
    INCONCLUSIVE = "Inconclusive"  # undecided at the deadline; not promoted
    UNHEALTHY = "Unhealthy"  # its engine crashed, stalled or never became ready
    GUARDED = "Guarded"  # a guard vetoed, whatever its speed
    INVALID = "Invalid"  # can't run: the message has field, reason and fix
    NO_CAPACITY = "NoCapacity"  # its pod found no room; tried again later
    ABORTED = "Aborted"  # by annotation, by a lost pod or by scaling down; no judgement
    SUPERSEDED = "Superseded"  # the spec changed under it; no judgement


# Outcomes after which a revision is not tried again until it changes or the user says retry.
QUARANTINED = frozenset(
    {
        Outcome.SLOWER,
        Outcome.DISASTER,
        Outcome.NOT_WORTH_IT,
        Outcome.INCONCLUSIVE,
        Outcome.UNHEALTHY,
        Outcome.GUARDED,
        Outcome.INVALID,
        Outcome.ABORTED,
    }
)
