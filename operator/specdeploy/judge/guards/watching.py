"""The guards' memory, and how a window is added to it: each takes what both arms told and skips the rest.

A field that one arm does not tell leaves its guard as it was: no evidence is neither good nor bad.
"""

from __future__ import annotations

from typing import NamedTuple

from specdeploy.judge.guards.counts import Counts
from specdeploy.judge.guards.limits import Limits
from specdeploy.judge.guards.paired import Means, Paired, log_ratio
from specdeploy.judge.guards.queue import Queue
from specdeploy.judge.guards.reading import Pods, Told, read, settled
from specdeploy.judge.guards.standing import Standing

FEWEST_REQUESTS = 10.0
FEWEST_TOKENS = 1000.0

# The most that one window may multiply the evidence by, as a log: at least 4, 10 and 15 windows to an alarm.
# Clients and schedulers make bursts of events; the engine's own errors are believed sooner.
FAULTS_AT_MOST = 2.0
CLIENTS_AT_MOST = 0.8
BURSTS_AT_MOST = 0.5


Arms = tuple[Told, Told]
"""The trial and the baseline in one window."""

Counted = tuple[Counts, Counts, Counts, Counts, Counts]


class Guards(NamedTuple):
    """What all guards remember; `queue_told` counts the windows in which both arms told their queues."""

    queue: Queue = Queue()
    queue_told: int = 0
    max_model_len: Standing = Standing()
    kv_blocks: Standing = Standing()
    server_errors: Counts = Counts()
    client_errors: Counts = Counts()
    errored_requests: Counts = Counts()
    aborted_requests: Counts = Counts()
    preemptions: Counts = Counts()
    time_to_first_token: Paired = Paired()
    prefix_hits: Paired = Paired()
    output_length: Paired = Paired()

    @property
    def sound(self) -> bool:
        """Can these numbers have come from watch()? Others could make the arithmetic fail."""
        parts: tuple[Standing | Counts | Paired, ...] = (
            self.max_model_len,
            self.kv_blocks,
            self.server_errors,
            self.client_errors,
            self.errored_requests,
            self.aborted_requests,
            self.preemptions,
            self.time_to_first_token,
            self.prefix_hits,
            self.output_length,
        )
        return self.queue.sound and self.queue_told >= 0 and all(part.sound for part in parts)


def watch(guards: Guards, trial: Pods, baseline: Pods, limits: Limits) -> Guards:
    """Takes in one window, evidence or not. Never raises; hostile numbers are left out."""
    ours, theirs = read(trial), read(baseline)
    if ours is None or theirs is None:
        return _skip(guards)
    warm = _warm(trial, baseline, (ours, theirs), limits.warmup_seconds)
    queue, queue_told = _watch_queue(guards, ours, theirs, limits)
    return Guards(
        queue,
        queue_told,
        guards.max_model_len.add(ours.max_model_len, theirs.max_model_len),
        guards.kv_blocks.add(ours.kv_tokens, theirs.kv_tokens),
        *_count(guards, ours, theirs, limits),
        _watch_first_token(guards.time_to_first_token, warm),
        _watch_prefix_hits(guards.prefix_hits, warm),
        _watch_output_length(guards.output_length, warm),
    )


def _skip(guards: Guards) -> Guards:
    first, hits, length = guards.time_to_first_token, guards.prefix_hits, guards.output_length
    if not (first.linked or hits.linked or length.linked):
        return guards
    return guards._replace(
        time_to_first_token=first.skip(), prefix_hits=hits.skip(), output_length=length.skip()
    )


def _warm(trial: Pods, baseline: Pods, arms: Arms, seconds: float) -> Arms | None:
    """Both arms by their settled pods only; None where an arm has none."""
    old, others = settled(trial, seconds), settled(baseline, seconds)
    if len(old) == len(trial) and len(others) == len(baseline):
        return arms
    ours, theirs = read(old), read(others)
    return None if ours is None or theirs is None else (ours, theirs)


def _watch_queue(guards: Guards, trial: Told, baseline: Told, limits: Limits) -> tuple[Queue, int]:
    ours, theirs = trial.requests_waiting, baseline.requests_waiting
    fewer_tokens = _fewer_tokens(trial, baseline)
    if not limits.less_capacity or ours is None or theirs is None or fewer_tokens is None:
        return guards.queue, guards.queue_told
    return guards.queue.add(ours, theirs, fewer_tokens=fewer_tokens), guards.queue_told + 1


def _fewer_tokens(trial: Told, baseline: Told) -> bool | None:
    """Did the trial give no more tokens per pod-second than the baseline?"""
    means = _means(trial.generation_tokens, trial.seconds, baseline.generation_tokens, baseline.seconds)
    return None if means is None else means.trial * means.baseline_of <= means.baseline * means.trial_of


def _count(guards: Guards, trial: Told, baseline: Told, limits: Limits) -> Counted:
    """The counted guards, in their order. What happens to requests is counted per first token: an engine
    counts a request that has begun, also if its client leaves before the end."""
    sent, others_sent = trial.http_requests, baseline.http_requests
    begun, others = trial.first_tokens, baseline.first_tokens
    return (
        guards.server_errors.add(
            trial.server_errors,
            sent,
            baseline.server_errors,
            others_sent,
            limits.server_errors,
            FAULTS_AT_MOST,
        ),
        guards.client_errors.add(
            trial.client_errors,
            sent,
            baseline.client_errors,
            others_sent,
            limits.client_errors,
            CLIENTS_AT_MOST,
        ),
        guards.errored_requests.add(
            trial.errored_requests,
            begun,
            baseline.errored_requests,
            others,
            limits.errored_requests,
            FAULTS_AT_MOST,
        ),
        guards.aborted_requests.add(
            trial.aborted_requests,
            begun,
            baseline.aborted_requests,
            others,
            limits.aborted_requests,
            CLIENTS_AT_MOST,
        ),
        guards.preemptions.add(
            trial.preemptions, begun, baseline.preemptions, others, limits.preemptions, BURSTS_AT_MOST
        ),
    )


def _watch_first_token(paired: Paired, arms: Arms | None) -> Paired:
    """Few first tokens on the trial are no excuse: that may be what is wrong. The mean of few is noisy, but
    its log is too low rather than too high."""
    if arms is None:
        return paired.skip()
    ours, theirs = arms
    means = _means(ours.ttft_seconds, ours.first_tokens, theirs.ttft_seconds, theirs.first_tokens)
    if means is None or means.trial_of < 1 or means.baseline_of < FEWEST_REQUESTS:
        return paired.skip()
    return _add_ratio(paired, means)


def _watch_prefix_hits(paired: Paired, arms: Arms | None) -> Paired:
    if arms is None:
        return paired.skip()
    ours, theirs = arms
    means = _means(ours.prefix_hits, ours.prefix_queries, theirs.prefix_hits, theirs.prefix_queries)
    if means is None or min(means.trial_of, means.baseline_of) < FEWEST_TOKENS:
        return paired.skip()
    trial, baseline = means.trial / means.trial_of, means.baseline / means.baseline_of
    return paired.add(trial - baseline, means) if max(trial, baseline) <= 1 else paired.skip()


def _watch_output_length(paired: Paired, arms: Arms | None) -> Paired:
    if arms is None:
        return paired.skip()
    ours, theirs = arms
    means = _means(
        ours.finished_tokens, ours.finished_requests, theirs.finished_tokens, theirs.finished_requests
    )
    if means is None or min(means.trial_of, means.baseline_of) < FEWEST_REQUESTS:
        return paired.skip()
    return _add_ratio(paired, means)


def _means(
    trial: float | None, trial_of: float | None, baseline: float | None, baseline_of: float | None
) -> Means | None:
    if trial is None or trial_of is None or baseline is None or baseline_of is None:
        return None
    return Means(trial, trial_of, baseline, baseline_of)


def _add_ratio(paired: Paired, means: Means) -> Paired:
    ratio = log_ratio(means)
    return paired.skip() if ratio is None else paired.add(ratio, means)
