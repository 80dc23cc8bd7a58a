"""Condition types, reasons, trial states, outcomes and Events: stable words, each with its meaning.

They appear alike in status, Events, metrics and the CLI; docs/reference.md is generated from them. New words
may be added; a word that is there keeps its meaning, for alerts and scripts match on it.
"""

from enum import StrEnum
from typing import Self


class Word(StrEnum):
    """A stable word; `meaning` says in one line what it tells its reader."""

    meaning: str

    def __new__(cls, value: str, meaning: str = "") -> Self:
        word = str.__new__(cls, value)
        word._value_ = value
        word.meaning = meaning
        return word


class Condition(Word):
    """Condition types, in the order in which they are shown."""

    READY = "Ready", "the current spec is valid and enough pods serve; never depends on a trial"
    AVAILABLE = "Available", "at least one pod answers clients"
    PROGRESSING = "Progressing", "a rollout or a promotion moves pods"
    TRIALING = "Trialing", "a drafter is on trial; the reason is the trial's state"
    PROTECTED = "Protected", "what serves is compared with the baseline by fresh evidence"
    METRICS_AVAILABLE = "MetricsAvailable", "the engines' counters can be read"


class Reason(Word):
    """Why a condition is as it is."""

    SERVING = "Serving", "enough pods are ready"
    SCALED_TO_ZERO = "ScaledToZero", "replicas is 0, as asked"
    STARTING = "Starting", "engines load; none or too few are ready yet"
    TOO_FEW_READY = "TooFewReady", "pods that served are not ready any more"
    ENGINE_FAILING = (
        "EngineFailing",
        "an engine of the serving arm can't run; the message has its last words",
    )
    UNSCHEDULABLE = "Unschedulable", "no node has room for a serving pod"
    PODS_REFUSED = (
        "PodsRefused",
        "serving pods are refused at creation (quota, policy, service account ...); the message says why",
    )
    CAPACITY_LOST = "CapacityLost", "the pod borrowed for a trial can't be placed again"
    INVALID_SPEC = "InvalidSpec", "a field is wrong; what served before serves on"
    NAME_TAKEN = "NameTaken", "an object of that name belongs to somebody else; nothing is taken over"
    CHILD_REFUSED = (
        "ChildRefused",
        "an object of ours can't be read or written: rights, quota, policy, webhook; the message says which",
    )
    CRD_OUTDATED = "CRDOutdated", "the CRD in the cluster is older than this operator"
    ROLLING = "Rolling", "pods move to another revision, one by one"
    SETTLED = "Settled", "every pod is where it should be"
    PAUSED = "Paused", "spec.paused or the annotation: no trial starts, nothing is promoted"
    NO_CANDIDATE = "NoCandidate", "every listed drafter has its verdict"
    NO_DRAFTERS = "NoDrafters", "the spec lists none"
    TEMPLATE_EDITED = (
        "TemplateEdited",
        "somebody edited the Deployment of an arm that trials are compared with; a retry makes it anew",
    )
    NOT_READY = "NotReady", "a trial waits until what serves is ready"
    BASELINE_SERVES = "BaselineServes", "nothing is there that could be slower than the baseline"
    TAKEN_OFF = "TakenOff", "what was taken off still serves with some pods, which are on their way back"
    HOLDBACK = "Holdback", "baseline pods run beside what serves, and the guard compares them"
    CHECKING = "Checking", "a re-check runs: a pod is borrowed for the baseline"
    BETWEEN_CHECKS = "BetweenChecks", "the baseline's pods are given back until the next re-check"
    TOO_FEW_REPLICAS = "TooFewReplicas", "there is no pod left to compare with; scale up"
    NO_EVIDENCE = "NoEvidence", "for an hour no window could be compared, or a re-check is overdue"
    OTHER_ENGINE = "OtherEngine", "what serves runs on an engine that the spec has left"
    READABLE = "Readable", "every ready engine's counters were read"
    SCRAPE_FAILED = "ScrapeFailed", "an engine's counters could not be read; the message says why"
    NOT_YET_READ = "NotYetRead", "no window has ended yet"


class TrialState(Word):
    """Where a trial is (status.trial.state)."""

    WAITING_FOR_SLOT = "WaitingForSlot", "the operator runs as many trials as it may"
    WAITING_FOR_CAPACITY = "WaitingForCapacity", "too few replicas, or no node took the last trial's pod"
    STARTING = "Starting", "a pod is borrowed, the trial's engine loads"
    WARMING_UP = "WarmingUp", "it serves; its speed does not count as evidence yet (a disaster does)"
    MEASURING = "Measuring", "windows count"
    PROMOTING = "Promoting", "proven: it takes over, pod by pod"
    ROLLING_BACK = "RollingBack", "its pods go, what it borrowed is given back"


class Outcome(Word):
    """What a trial ended with (status.verdicts[].outcome)."""

    PROMOTED = "Promoted", "proven faster; serves"
    RUNNER_UP = "RunnerUp", "proven faster than the baseline, not than what serves"
    SLOWER = "Slower", "proven slower than the baseline, on trial or while it served; rolled back"
    DISASTER = "Disaster", "far slower; rolled back at once"
    NOT_WORTH_IT = "NotWorthIt", "can't reach minimumEffectPercent; rolled back"
    INCONCLUSIVE = "Inconclusive", "undecided at the deadline; not promoted"
    UNHEALTHY = "Unhealthy", "its engine crashed, stalled or never became ready"
    GUARDED = "Guarded", "a guard vetoed, whatever its speed"
    INVALID = "Invalid", "can't run: the message has field, reason and fix"
    NO_CAPACITY = "NoCapacity", "its pod found no room; tried again later"
    ABORTED = "Aborted", "by annotation, by scaling down or by an edited Deployment; no judgement"
    SUPERSEDED = "Superseded", "the spec changed under it; no judgement"


class TrialReason(Word):
    """Why a trial waits or pauses (status.trial.reason)."""

    TOO_FEW_REPLICAS = "TooFewReplicas", "baseline and trial don't fit into replicas; scale up"
    TOO_MANY_TRIALS = "TooManyTrials", "the operator runs as many trials as it may (its setting maxTrials)"
    UNSCHEDULABLE = "Unschedulable", "no node has room for its pod, though what it borrowed is gone"
    PODS_REFUSED = (
        "PodsRefused",
        "its Deployment or pods are refused: quota, policy, webhook, service account",
    )
    NO_CAPACITY = "NoCapacity", "no node took the last trial's pod; tried again later"
    NOT_SENSITIVE = "NotSensitive", "too noisy, or too few windows, to promote even 1.5x by the deadline"
    POD_REPLACED = "PodReplaced", "its pod was drained, evicted or deleted; windows pause, evidence is kept"


class VerdictReason(Word):
    """Why a trial ended as it did (status.verdicts[].reason).

    Where a container can't even start, the reason is the kubelet's own word, such as ImagePullBackOff.
    """

    PROVEN_FASTER = "ProvenFaster", "the interval lies above 1 and above minimumEffectPercent"
    SLOWER_THAN_SERVING = (
        "SlowerThanServing",
        "slower than what serves; a runner-up where it is faster than the baseline",
    )
    NOT_PROVEN_AGAINST_SERVING = (
        "NotProvenAgainstServing",
        "faster than the baseline; undecided against what serves",
    )
    BELOW_EFFECT_AGAINST_SERVING = (
        "BelowMinimumEffectAgainstServing",
        "faster than the baseline; not by minimumEffectPercent faster than what serves",
    )
    SLOWER_THAN_SERVING_IN_BAND = (
        "SlowerThanServingInBand",
        "faster than the baseline and what serves; slower than what serves in a range of batch",
    )
    SLOWER_AT_LOAD = (
        "SlowerAtLoad",
        "faster at the load it has seen, by a gain that falls as the load rises and would soon be a loss",
    )
    SLOWER_IN_BAND = "SlowerInBand", "faster on the whole and proven slower in a range of batch"
    SLOWER_THAN_BASELINE = "SlowerThanBaseline", "the interval lies below 1"
    FAR_SLOWER = "FarSlowerThanBaseline", "so much slower that a few windows were enough"
    BELOW_EFFECT = "BelowMinimumEffect", "the interval lies below 1 + minimumEffectPercent"
    LESS_CAPACITY = (
        "LessCapacity",
        "requests waited on its pods, not on the baseline's, and it gave no more tokens for it",
    )
    MAX_MODEL_LEN = "MaxModelLen", "its engine takes shorter requests than the baseline's"
    KV_BLOCKS = "KvBlocks", "its KV cache has too little room beside the baseline's"
    SERVER_ERRORS = "ServerErrors", "it answers more requests with HTTP 5xx than guards.serverErrors allows"
    CLIENT_ERRORS = "ClientErrors", "it answers more requests with HTTP 4xx than guards.clientErrors allows"
    ERRORED_REQUESTS = "ErroredRequests", "more of its requests end in error or repetition"
    ABORTED_REQUESTS = "AbortedRequests", "more of its requests are aborted: clients leave"
    PREEMPTIONS = "Preemptions", "it preempts more requests: its KV cache is too small for the load"
    TIME_TO_FIRST_TOKEN = "TimeToFirstToken", "clients wait longer for the first token"
    PREFIX_HITS = "PrefixHits", "it finds fewer prompt tokens in its prefix cache"
    OUTPUT_LENGTH = "OutputLength", "its answers differ in length, which lossless speculation can't cause"
    OUTPUT_AGREEMENT = (
        "OutputAgreement",
        "it answers fixed prompts otherwise than the baseline; the message has an example",
    )
    TOO_NOISY = "TooNoisy", "its windows are so noisy that not even 1.5x could be proven by the deadline"
    DEADLINE = "DeadlineReached", "undecided after deadlineSeconds of measured time"
    TOTAL_DEADLINE = (
        "TotalDeadline",
        "ended by totalDeadlineSeconds; a trial's proof still counts, a promotion's step has proven nothing",
    )
    ABORT_REQUESTED = "AbortRequested", "the annotation specdeploy.dev/abort"
    SPEC_CHANGED = "SpecChanged", "the drafter was changed, or is listed no more"
    GUARD_ALARM = "GuardAlarm", "it served, and the guard has found it slower than the baseline"
    TOO_FEW_REPLICAS = "TooFewReplicas", "scaled down until baseline and trial did not fit"
    TEMPLATE_EDITED = "TemplateEdited", "somebody edited the Deployment of an arm under it; no judgement"
    INVALID_DRAFTER = "InvalidDrafter", "this engine can't run it as written"
    REFUSED = "Refused", "the API server refused its Deployment; the message has its words"
    UNSCHEDULABLE = "Unschedulable", "no node took its pod, though what it borrowed was gone"
    PODS_REFUSED = (
        "PodsRefused",
        "its pods were refused, or its Deployment for now; the message has the words",
    )
    STALLED = "Stalled", "nothing moved in its engine and nobody was answered, with /health answering"
    BAD_CONFIG = "BadConfig", "the engine refused its arguments (exit code 2)"
    CRASHED = "Crashed", "the engine exited with an error"
    ENGINE_DIED = "EngineDied", "the engine died and the server left with exit code 0"
    OOM_KILLED = "OOMKilled", "the engine was killed for memory"
    NEVER_READY = "NeverReady", "not ready within engine.startupSeconds of its start"
    NEVER_STARTED = "NeverStarted", "its container did not run within engine.startupSeconds; no judgement"


class EventReason(Word):
    """Reasons of Events, beside the outcomes, under which a verdict is told."""

    BASELINE_REFRESHED = "BaselineRefreshed", "the baseline is rendered anew, as the next trial will be"
    TRIAL_STARTED = "TrialStarted", "a pod is borrowed for a drafter"
    TRIAL_READY = "TrialReady", "the drafter's pods are ready; it warms up"
    CLOCK_WENT_BACK = "ClockWentBack", "the operator's clock had been ahead; what it wrote counts as of now"
    EVIDENCE_LOST = "EvidenceLost", "the evidence in status could not be read; measured anew"
    EVIDENCE_RESTARTED = "EvidenceRestarted", "trial.windowSeconds was changed; measured anew"
    SERVING_INVALID = (
        "ServingInvalid",
        "a check now refuses the drafter that serves; it serves on, and is not tried anew as written",
    )
    UNKNOWN_FIELDS = "UnknownFields", "the spec has fields that this operator does not know and ignores"
    PROMOTION_STEP = "PromotionStep", "the soak of a step is over; more pods run the proven drafter"
    PROMOTION_COMPLETE = "PromotionComplete", "every serving pod runs the promoted drafter"
    BASELINE_GIVEN_BACK = "BaselineGivenBack", "probation or a re-check is over; the baseline's pods serve"
    RECHECK_STARTED = "RecheckStarted", "a pod is borrowed for the baseline, to compare what serves"
    RECHECK_ENDED = "RecheckEnded", "the message says what the re-check found"
    NOW_SERVING = "NowServing", "another arm serves from now on; the message says why"
    BASELINE_CHANGED = "BaselineChanged", "the engine changed; the baseline is rolled to it"
    SHAPE_CHANGED = "ShapeChanged", "the pods' shape changed, not the engine; rolled, verdicts kept"
    ABORT = "Abort", "the annotation specdeploy.dev/abort was handled"
    RETRY = "Retry", "the annotation specdeploy.dev/retry was handled"
    ARM_REMADE = "ArmRemade", "a retry makes an arm anew whose Deployment somebody had edited, pod by pod"
    REPLICAS_EDITED = "ReplicasEdited", "somebody scaled a Deployment of ours; put right"
    CHILD_EDITED = (
        "ChildEdited",
        "somebody edited a Service or budget of ours; put right, the editor is named",
    )
    ADOPTED = "Adopted", "an orphaned Deployment was taken over, as the annotation specdeploy.dev/adopt asks"
    ENGINE_STALLED = "EngineStalled", "a pod stands still; the message says since when and what to do"
    STATUS_MALFORMED = "StatusMalformed", "a part of status could not be read; built anew"


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
