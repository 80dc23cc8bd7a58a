"""The guards' memory, and how a window is added to it: each takes what both arms told and skips the rest.

A field that one arm does not tell leaves its guard as it was: no evidence is neither good nor bad.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple

from specdeploy.judge.guards.counts import Counts, Events
from specdeploy.judge.guards.limits import CountLimit, Limits
from specdeploy.judge.guards.paired import Means, Paired, log_ratio
from specdeploy.judge.guards.queue import Queue
from specdeploy.judge.guards.reading import Pods, Told, read, settled, usable
from specdeploy.judge.guards.standing import Standing

FEWEST_REQUESTS = 10.0
FEWEST_TOKENS = 1000.0

# The most that one window may multiply the evidence by, as a log: at least 4, 8 and 15 windows to an alarm.
# Clients and schedulers make bursts of events; the engine's own errors are believed sooner.
FAULTS_AT_MOST = 2.0
CLIENTS_AT_MOST = 1.0
BURSTS_AT_MOST = 0.5


Arms = tuple[Told, Told]
"""The trial and the baseline in one window."""

Pair = Callable[[Told], tuple[float | None, float | None]]

CLIENT_ERRORS: Pair = attrgetter("client_errors", "http_requests")
SERVER_ERRORS: Pair = attrgetter("server_errors", "http_requests")
# An engine counts a request that has begun, also if its client leaves before the end.
ABORTED: Pair = attrgetter("aborted_requests", "first_tokens")
ERRORED: Pair = attrgetter("errored_requests", "first_tokens")
PREEMPTIONS: Pair = attrgetter("preemptions", "first_tokens")
FIRST_TOKEN: Pair = attrgetter("ttft_seconds", "first_tokens")
PREFIX_HITS: Pair = attrgetter("prefix_hits", "prefix_queries")
OUTPUT_LENGTH: Pair = attrgetter("finished_tokens", "finished_requests")


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


def watch(guards: Guards, trial: Pods, baseline: Pods, limits: Limits) -> Guards:
    """Takes in one window, evidence or not. Never raises; hostile numbers are left out."""
    trial, baseline = usable(trial), usable(baseline)
    if not trial or not baseline:
        return _skip(guards)
    arms = read(trial), read(baseline)
    warm = _warm(trial, baseline, arms, limits.warmup_seconds)
    queue, queue_told = _watch_queue(guards, arms, limits)
    return Guards(
        queue,
        queue_told,
        guards.max_model_len.add(arms[0].max_model_len, arms[1].max_model_len),
        guards.kv_blocks.add(arms[0].kv_tokens, arms[1].kv_tokens),
        _count(guards.server_errors, limits.server_errors, arms, SERVER_ERRORS, FAULTS_AT_MOST),
        _count(guards.client_errors, limits.client_errors, arms, CLIENT_ERRORS, CLIENTS_AT_MOST),
        _count(guards.errored_requests, limits.errored_requests, arms, ERRORED, FAULTS_AT_MOST),
        _count(guards.aborted_requests, limits.aborted_requests, arms, ABORTED, CLIENTS_AT_MOST),
        _count(guards.preemptions, limits.preemptions, arms, PREEMPTIONS, BURSTS_AT_MOST),
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
    return (read(old), read(others)) if old and others else None


def _watch_queue(guards: Guards, arms: Arms, limits: Limits) -> tuple[Queue, int]:
    trial, baseline = arms
    if not limits.less_capacity or trial.waiting is None or baseline.waiting is None:
        return guards.queue, guards.queue_told
    return guards.queue.add(trial, baseline), guards.queue_told + 1


def _count(counts: Counts, limit: CountLimit | None, arms: Arms, pair: Pair, most: float) -> Counts:
    events, requests = pair(arms[0])
    others, other_requests = pair(arms[1])
    if limit is None or events is None or requests is None or others is None or other_requests is None:
        return counts
    return counts.add(Events(events, requests, others, other_requests), limit, most)


def _watch_first_token(paired: Paired, arms: Arms | None) -> Paired:
    """Few first tokens on the trial are no excuse: that may be what is wrong. The mean of few is noisy, but
    its log is too low rather than too high."""
    means = _means(arms, FIRST_TOKEN)
    if means is None or means.trial_of < 1 or means.baseline_of < FEWEST_REQUESTS:
        return paired.skip()
    return _add_ratio(paired, means)


def _watch_prefix_hits(paired: Paired, arms: Arms | None) -> Paired:
    means = _means(arms, PREFIX_HITS)
    if means is None or min(means.trial_of, means.baseline_of) < FEWEST_TOKENS:
        return paired.skip()
    trial, baseline = means.trial / means.trial_of, means.baseline / means.baseline_of
    return paired.add(trial - baseline, means) if max(trial, baseline) <= 1 else paired.skip()


def _watch_output_length(paired: Paired, arms: Arms | None) -> Paired:
    means = _means(arms, OUTPUT_LENGTH)
    if means is None or min(means.trial_of, means.baseline_of) < FEWEST_REQUESTS:
        return paired.skip()
    return _add_ratio(paired, means)


def _means(arms: Arms | None, pair: Pair) -> Means | None:
    if arms is None:
        return None
    trial, trial_of = pair(arms[0])
    baseline, baseline_of = pair(arms[1])
    if trial is None or trial_of is None or baseline is None or baseline_of is None:
        return None
    return Means(trial, trial_of, baseline, baseline_of)


def _add_ratio(paired: Paired, means: Means) -> Paired:
    ratio = log_ratio(means)
    return paired.skip() if ratio is None else paired.add(ratio, means)
