"""What the guards say: the first one whose limit is proven to be broken, and what is shown without a veto."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from specdeploy.judge.guards.counts import Counts
from specdeploy.judge.guards.limits import CountLimit, Guard, Limits
from specdeploy.judge.guards.paired import Paired
from specdeploy.judge.guards.queue import WATCHED_WINDOWS
from specdeploy.judge.guards.watching import Guards
from specdeploy.judge.words import percent


class Veto(NamedTuple):
    """Why a trial must end, whatever its speed: a word of `Guard` and a sentence with the numbers."""

    cause: str
    message: str


def veto(guards: Guards, limits: Limits) -> Veto | None:
    """The first guard, in the order of `Guard`, whose limit is proven to be broken; None if all are quiet."""
    for guard, check in _CHECKS.items():
        found = check(guards, limits)
        if found is not None:
            return Veto(guard.value, f"{found}, rolled back")
    return None


def warnings(guards: Guards, limits: Limits) -> tuple[str, ...]:
    """Sentences on what is shown but vetoes nothing."""
    return tuple(each for each in (_warn_of_room(guards, limits), _warn_of_unseen(guards, limits)) if each)


def _warn_of_room(guards: Guards, limits: Limits) -> str | None:
    room, limit = guards.kv_blocks, limits.kv_blocks
    if limit is None or not room.below(limit.warn) or room.below(limit.least):
        return None
    return f"{_room(guards)}: it will queue sooner (warned of below {percent(limit.warn)})"


def _warn_of_unseen(guards: Guards, limits: Limits) -> str | None:
    names = unseen(guards, limits)
    if not names:
        return None
    return f"guards that have seen nothing yet, as both arms must tell what they look at: {', '.join(names)}"


def unseen(guards: Guards, limits: Limits) -> tuple[str, ...]:
    """The guards that are on and have seen no window yet: both arms must tell what they look at."""
    return tuple(guard.value for guard, on, windows in _seen(guards, limits) if on and not windows)


def _seen(guards: Guards, limits: Limits) -> tuple[tuple[Guard, bool, int], ...]:
    """Each guard, whether it is on, and in how many windows both arms told it something."""
    return (
        (Guard.LESS_CAPACITY, limits.less_capacity, guards.queue_told),
        (Guard.MAX_MODEL_LEN, limits.max_model_len, guards.max_model_len.windows),
        (Guard.KV_BLOCKS, limits.kv_blocks is not None, guards.kv_blocks.windows),
        (Guard.SERVER_ERRORS, limits.server_errors is not None, guards.server_errors.windows),
        (Guard.CLIENT_ERRORS, limits.client_errors is not None, guards.client_errors.windows),
        (Guard.ERRORED_REQUESTS, limits.errored_requests is not None, guards.errored_requests.windows),
        (Guard.ABORTED_REQUESTS, limits.aborted_requests is not None, guards.aborted_requests.windows),
        (Guard.PREEMPTIONS, limits.preemptions is not None, guards.preemptions.windows),
        (
            Guard.TIME_TO_FIRST_TOKEN,
            limits.time_to_first_token is not None,
            guards.time_to_first_token.sums.n,
        ),
        (Guard.PREFIX_HITS, limits.prefix_hits is not None, guards.prefix_hits.sums.n),
        (Guard.OUTPUT_LENGTH, limits.output_length is not None, guards.output_length.sums.n),
    )


def _check_capacity(guards: Guards, limits: Limits) -> str | None:
    if not limits.less_capacity or not guards.queue.alarmed:
        return None
    return (
        f"requests waited on its pods in {guards.queue.windows} of the last {WATCHED_WINDOWS} windows "
        f"({guards.queue.length:.3g} a pod in the newest) and not on the baseline's, "
        "which gave as many tokens: the drafter leaves less room for requests"
    )


def _check_context(guards: Guards, limits: Limits) -> str | None:
    lengths = guards.max_model_len
    if not limits.max_model_len or not lengths.below(1.0):
        return None
    return (
        f"it takes requests of up to {lengths.trial:.0f} tokens and the baseline of up to "
        f"{lengths.baseline:.0f}, in {lengths.windows} windows: longer ones fail on it"
    )


def _check_room(guards: Guards, limits: Limits) -> str | None:
    if limits.kv_blocks is None or not guards.kv_blocks.below(limits.kv_blocks.least):
        return None
    return f"{_room(guards)}: less than the limit of {percent(limits.kv_blocks.least)}"


def _room(guards: Guards) -> str:
    room = guards.kv_blocks
    return (
        f"its KV cache holds {room.trial:.0f} tokens a pod, {percent(room.trial / room.baseline)} "
        f"of the baseline's {room.baseline:.0f}, in {room.windows} windows"
    )


def _check_server_errors(guards: Guards, limits: Limits) -> str | None:
    found = _too_many(guards.server_errors, limits.server_errors, "{} of {} requests")
    return found and f"server errors (HTTP 5xx): {found}"


def _check_client_errors(guards: Guards, limits: Limits) -> str | None:
    found = _too_many(guards.client_errors, limits.client_errors, "{} of {} requests")
    # The one client error that speculation is known to make.
    return found and (
        f"client errors (HTTP 4xx): {found}; vLLM refuses min_p and logit_bias under speculation"
    )


def _check_errored(guards: Guards, limits: Limits) -> str | None:
    return _too_many(guards.errored_requests, limits.errored_requests, "{} of {} requests ended in error")


def _check_aborted(guards: Guards, limits: Limits) -> str | None:
    return _too_many(guards.aborted_requests, limits.aborted_requests, "{} of {} requests were aborted")


def _check_preemptions(guards: Guards, limits: Limits) -> str | None:
    return _too_many(guards.preemptions, limits.preemptions, "{} preemptions in {} requests")


def _too_many(counts: Counts, limit: CountLimit | None, events: str) -> str | None:
    """`events` is a template for a number of events and one of requests."""
    if limit is None or not counts.alarmed:
        return None
    ours = events.format(f"{counts.trial:.0f}", f"{counts.trial_requests:.0f}")
    theirs = events.format(f"{counts.baseline:.0f}", f"{counts.baseline_requests:.0f}")
    return (
        f"{ours} on its pods and {theirs} on the baseline over {counts.windows} windows, "
        f"proven more than {1 + limit.increase:.3g}x the baseline's rate plus {percent(limit.rate)}"
    )


def _check_first_token(guards: Guards, limits: Limits) -> str | None:
    limit, paired = limits.time_to_first_token, guards.time_to_first_token
    if limit is None or not paired.above(math.log1p(limit.increase)):
        return None
    trial, baseline = paired.means
    if trial - baseline <= limit.seconds:
        return None
    return (
        f"time to first token: {_milliseconds(trial)} on its pods and {_milliseconds(baseline)} on the "
        f"baseline, {_times(paired)} over {paired.sums.n} windows, proven more than "
        f"{1 + limit.increase:.3g}x and {_milliseconds(limit.seconds)} longer"
    )


def _check_prefix_hits(guards: Guards, limits: Limits) -> str | None:
    limit, paired = limits.prefix_hits, guards.prefix_hits
    if limit is None or not paired.below(-limit):
        return None
    (trial, baseline), known = paired.means, paired.interval
    return (
        f"prefix cache hits: {percent(trial)} of the prompt tokens on its pods and {percent(baseline)} on "
        f"the baseline, {_points(-known.mean)} fewer [{_points(-known.upper)}, {_points(-known.lower)}] over "
        f"{paired.sums.n} windows, proven more than {_points(limit)} points"
    )


def _check_output_length(guards: Guards, limits: Limits) -> str | None:
    limit, paired = limits.output_length, guards.output_length
    if limit is None:
        return None
    if not paired.above(math.log1p(limit)) and not paired.below(-math.log1p(limit)):
        return None
    trial, baseline = paired.means
    return (
        f"output length: {trial:.1f} tokens a request on its pods and {baseline:.1f} on the baseline, "
        f"{_times(paired)} over {paired.sums.n} windows, proven more than a factor {1 + limit:.3g} apart: "
        "lossless speculation does not change it"
    )


def _times(paired: Paired) -> str:
    mean, lower, upper = (math.exp(value) for value in paired.interval)
    return f"{mean:.2f}x [{lower:.2f}, {upper:.2f}]"


def _points(fraction: float) -> str:
    return f"{100 * fraction:.1f}"


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms"


_CHECKS: dict[Guard, Callable[[Guards, Limits], str | None]] = {
    Guard.LESS_CAPACITY: _check_capacity,
    Guard.MAX_MODEL_LEN: _check_context,
    Guard.KV_BLOCKS: _check_room,
    Guard.SERVER_ERRORS: _check_server_errors,
    Guard.CLIENT_ERRORS: _check_client_errors,
    Guard.ERRORED_REQUESTS: _check_errored,
    Guard.ABORTED_REQUESTS: _check_aborted,
    Guard.PREEMPTIONS: _check_preemptions,
    Guard.TIME_TO_FIRST_TOKEN: _check_first_token,
    Guard.PREFIX_HITS: _check_prefix_hits,
    Guard.OUTPUT_LENGTH: _check_output_length,
}
