"""spec.guards -> the judge's Limits: per cent and per thousand are fractions, a switch that is off None."""

from specdeploy.api.guards_spec import CountGuard, FirstTokenGuard, Guards, RoomGuard
from specdeploy.judge.guards.limits import CountLimit, FirstTokenLimit, Limits, RoomLimit


def limits_of(guards: Guards, warmup_seconds: float) -> Limits:
    """The limits that a spec asks for; `warmup_seconds` is the trial's."""
    return Limits(
        time_to_first_token=_first_token(guards.time_to_first_token),
        client_errors=_count(guards.client_errors),
        server_errors=_count(guards.server_errors),
        aborted_requests=_count(guards.aborted_requests),
        errored_requests=_count(guards.errored_requests),
        preemptions=_count(guards.preemptions),
        less_capacity=guards.less_capacity.enabled,
        kv_blocks=_room(guards.kv_blocks),
        max_model_len=guards.max_model_len.enabled,
        prefix_hits=guards.prefix_hits.allowed_loss_points / 100 if guards.prefix_hits.enabled else None,
        output_length=(
            guards.output_length.allowed_change_percent / 100 if guards.output_length.enabled else None
        ),
        warmup_seconds=warmup_seconds,
    )


def _first_token(guard: FirstTokenGuard) -> FirstTokenLimit | None:
    if not guard.enabled:
        return None
    return FirstTokenLimit(guard.allowed_increase_percent / 100, guard.allowed_milliseconds / 1000)


def _count(guard: CountGuard) -> CountLimit | None:
    if not guard.enabled:
        return None
    return CountLimit(guard.allowed_increase_percent / 100, guard.allowed_per_thousand / 1000)


def _room(guard: RoomGuard) -> RoomLimit | None:
    """An old object may hold a warning below the minimum, which a rule refuses today."""
    if not guard.enabled:
        return None
    least = guard.minimum_percent / 100
    return RoomLimit(least, max(least, guard.warn_percent / 100))
