"""The guards together: what each says, its switch, and what no window can do to them."""

from collections.abc import Callable
from itertools import repeat
from random import Random
from typing import Any

import pytest

from specdeploy.api.reasons import VerdictReason
from specdeploy.judge.guards import (
    FirstTokenLimit,
    Guard,
    Guards,
    Limits,
    RoomLimit,
    unseen,
    veto,
    warnings,
    watch,
)
from tests.judge.guards_streams import LIMITS, Engine, Pair, counted, engine_windows, pod, watched

Fields = dict[str, Any]

NORMAL: Fields = {
    "requests_waiting": 0.0,
    "ttft_seconds": 12.0,
    "finished_requests": 60.0,
    "finished_tokens": 12000.0,
    "aborted_requests": 0.0,
    "errored_requests": 0.0,
    "http_requests": 60.0,
    "client_errors": 0.0,
    "server_errors": 0.0,
    "preemptions": 0.0,
    "prefix_queries": 30000.0,
    "prefix_hits": 18000.0,
    "kv_tokens": 100000.0,
    "max_model_len": 8192.0,
}

# What the trial tells instead, the guard that ends it, and what its sentence must contain.
HARM: list[tuple[Fields, Guard, tuple[str, ...]]] = [
    (
        {"requests_waiting": 2.0},
        Guard.LESS_CAPACITY,
        ("in 3 of the last 5 windows (2 a pod in the newest)",),
    ),
    ({"max_model_len": 4096.0}, Guard.MAX_MODEL_LEN, ("4096", "8192", "2 windows")),
    ({"kv_tokens": 40000.0}, Guard.KV_BLOCKS, ("40000", "40%", "100000", "limit of 50%")),
    ({"server_errors": 6.0}, Guard.SERVER_ERRORS, ("HTTP 5xx", "1.5x", "0.2%")),
    ({"client_errors": 6.0}, Guard.CLIENT_ERRORS, ("HTTP 4xx", "min_p")),
    (
        {"errored_requests": 6.0},
        Guard.ERRORED_REQUESTS,
        ("requests ended in error on its pods", "1.5x"),
    ),
    ({"aborted_requests": 6.0}, Guard.ABORTED_REQUESTS, ("aborted", "0.5%")),
    ({"preemptions": 30.0}, Guard.PREEMPTIONS, ("preemptions", "2x", "5%")),
    (
        {"ttft_seconds": 24.0},
        Guard.TIME_TO_FIRST_TOKEN,
        ("400 ms", "200 ms", "2.00x", "15 windows", "1.5x", "50 ms"),
    ),
    ({"prefix_hits": 6000.0}, Guard.PREFIX_HITS, ("20%", "60%", "40.0", "15 windows", "5.0 points")),
    ({"finished_tokens": 18000.0}, Guard.OUTPUT_LENGTH, ("300.0", "200.0", "1.50x", "1.2 apart")),
    ({"finished_tokens": 8000.0}, Guard.OUTPUT_LENGTH, ("133.3", "200.0", "0.67x")),
]
IDS = [f"{guard}-{next(iter(fields))}" for fields, guard, _ in HARM]

SWITCHED_OFF: dict[Guard, Limits] = {
    Guard.LESS_CAPACITY: Limits(less_capacity=False),
    Guard.MAX_MODEL_LEN: Limits(max_model_len=False),
    Guard.KV_BLOCKS: Limits(kv_blocks=None),
    Guard.SERVER_ERRORS: Limits(server_errors=None),
    Guard.CLIENT_ERRORS: Limits(client_errors=None),
    Guard.ERRORED_REQUESTS: Limits(errored_requests=None),
    Guard.ABORTED_REQUESTS: Limits(aborted_requests=None),
    Guard.PREEMPTIONS: Limits(preemptions=None),
    Guard.TIME_TO_FIRST_TOKEN: Limits(time_to_first_token=None),
    Guard.PREFIX_HITS: Limits(prefix_hits=None),
    Guard.OUTPUT_LENGTH: Limits(output_length=None),
}


def window(**harm: Any) -> Pair:
    return pod(**{**NORMAL, **harm}), pod(**NORMAL)


def without(field: str) -> Pair:
    """A window of trouble everywhere, of which the baseline does not tell one field."""
    return window()[0], pod(**{key: value for key, value in NORMAL.items() if key != field})


@pytest.mark.parametrize(("harm", "guard", "words"), HARM, ids=IDS)
def test_harm_beside_speed_ends_a_trial_with_its_numbers(
    harm: Fields, guard: Guard, words: tuple[str, ...]
) -> None:
    _, found, looked = watched(repeat(window(**harm), 60))
    assert found is not None
    assert found.cause == guard
    assert looked >= 2
    for word in words:
        assert word in found.message
    assert found.message.endswith(", rolled back")


@pytest.mark.parametrize(("harm", "guard"), [each[:2] for each in HARM], ids=IDS)
def test_one_window_of_harm_ends_nothing(harm: Fields, guard: Guard) -> None:
    calm = [window()] * 30
    assert watched([*calm, window(**harm), *calm])[1] is None


@pytest.mark.parametrize(("harm", "guard"), [each[:2] for each in HARM], ids=IDS)
def test_a_guard_that_is_off_ends_nothing(harm: Fields, guard: Guard) -> None:
    assert watched(repeat(window(**harm), 60), SWITCHED_OFF[guard])[1] is None


@pytest.mark.parametrize(("harm", "guard"), [each[:2] for each in HARM], ids=IDS)
def test_a_guard_switched_off_under_an_alarm_falls_silent(harm: Fields, guard: Guard) -> None:
    guards, found, _ = watched(repeat(window(**harm), 60))
    assert found is not None
    assert veto(guards, SWITCHED_OFF[guard]) is None


@pytest.mark.parametrize("arm", ["trial", "baseline"])
@pytest.mark.parametrize(("harm", "guard"), [each[:2] for each in HARM], ids=IDS)
@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), -1.0, 1e300])
def test_a_field_that_one_arm_does_not_tell_is_no_evidence_and_is_shown(
    arm: str, harm: Fields, guard: Guard, value: float | None
) -> None:
    field = next(iter(harm))
    trial, baseline = window(**harm)
    hidden = (
        (trial._replace(**{field: value}), baseline)
        if arm == "trial"
        else (trial, baseline._replace(**{field: value}))
    )
    guards, found, _ = watched(repeat(hidden, 60))
    assert found is None
    assert unseen(guards, LIMITS) == (guard.value,)
    assert guard.value not in unseen(guards, SWITCHED_OFF[guard])


def test_nothing_is_unseen_where_all_is_told_and_all_where_nothing_is() -> None:
    assert unseen(watched([window()])[0], LIMITS) == ()
    assert unseen(watched([(pod(), pod())])[0], LIMITS) == tuple(
        guard for guard in Guard if guard is not Guard.OUTPUT_AGREEMENT
    )


def test_people_are_told_which_guards_have_seen_nothing() -> None:
    assert warnings(watched([window()])[0], LIMITS) == ()
    guards, _, _ = watched([window(prefix_queries=None, kv_tokens=None)] * 20)
    said = "guards that have seen nothing yet, as both arms must tell what they look at: KvBlocks, PrefixHits"
    assert warnings(guards, LIMITS) == (said,)
    assert warnings(guards, Limits(kv_blocks=None, prefix_hits=None)) == ()


def test_pods_that_tell_only_their_speed_leave_the_guards_as_they_are() -> None:
    guards = Guards()
    assert watch(guards, (pod(),), (pod(),), LIMITS) is guards
    assert watch(guards, (), (pod(**NORMAL),), LIMITS) is guards


@pytest.mark.parametrize(
    ("room", "warned"), [(100000.0, False), (80000.0, False), (79000.0, True), (50000.0, True)]
)
def test_a_smaller_kv_cache_is_warned_of(room: float, warned: bool) -> None:
    guards, found, _ = watched([window(kv_tokens=room)] * 3)
    assert found is None
    told = warnings(guards, LIMITS)
    assert bool(told) == warned
    assert all(f"{room:.0f} tokens a pod" in each and "below 80%" in each for each in told)
    assert warnings(guards, Limits(kv_blocks=None)) == ()


def test_below_the_limit_a_smaller_kv_cache_is_a_veto_and_no_warning() -> None:
    guards, found, _ = watched([window(kv_tokens=40000.0)] * 3)
    assert found is not None
    assert warnings(guards, LIMITS) == ()
    assert warnings(guards, Limits(kv_blocks=RoomLimit(0.3, 0.8))) != ()


def test_three_milliseconds_instead_of_two_are_nothing() -> None:
    quick = pod(**{**NORMAL, "ttft_seconds": 0.18}), pod(**{**NORMAL, "ttft_seconds": 0.12})
    assert watched(repeat(quick, 60))[1] is None
    assert watched(repeat(quick, 60), Limits(time_to_first_token=FirstTokenLimit(0.4, 0.0005)))[1] is not None


def test_few_first_tokens_on_the_trial_are_no_excuse() -> None:
    """An engine that hangs in prefill has few first tokens, and late ones."""
    starved = window(first_tokens=2.0, ttft_seconds=20.0)
    _, found, _ = watched(repeat(starved, 20))
    assert found is not None
    assert found.cause == Guard.TIME_TO_FIRST_TOKEN


@pytest.mark.parametrize("harm", [{"ttft_seconds": 48.0}, {"prefix_hits": 0.0}, {"finished_tokens": 3000.0}])
def test_a_young_pod_with_cold_caches_is_not_blamed(harm: Fields) -> None:
    """archimedes 1713: probes of a cold cache failed whole deployments."""
    young = [window(**harm, ready_seconds=60.0 * age) for age in range(1, 6)]
    fading = [window(ready_seconds=60.0 * age) for age in range(6, 40)]
    guards, found, _ = watched([*young, *fading])
    assert found is None
    assert guards.time_to_first_token.sums.n == len(fading)


@pytest.mark.parametrize("field", ["ttft_seconds", "finished_tokens", "prefix_hits"])
def test_a_difference_that_has_faded_ends_nothing(field: str) -> None:
    def share(index: int) -> float:
        return {"ttft_seconds": 8.0, "finished_tokens": 0.2, "prefix_hits": 0.1}[field] if index < 13 else 1.0

    fading = (window(**{field: NORMAL[field] * share(index)}) for index in range(120))
    assert watched(fading)[1] is None


def test_what_collapses_after_a_hundred_good_windows_is_found() -> None:
    """sglang 32459 (PD-92): prefix reuse collapses after days, the time to first token is four times as long,
    and no error is told."""
    rng = Random(5)
    good, bad = engine_windows(rng, Engine()), engine_windows(rng, Engine(first_token=0.8, hits=0.1))
    _, found, looked = watched(next(good) if index < 130 else next(bad) for index in range(240))
    assert found is not None
    assert found.cause in {Guard.TIME_TO_FIRST_TOKEN, Guard.PREFIX_HITS}
    assert looked <= 130 + 60


def test_a_gap_parts_two_windows() -> None:
    guards, _, _ = watched([window(), (pod(), pod()), window(), window()])
    assert guards.time_to_first_token.sums.n == 3
    assert guards.time_to_first_token.sums.pairs == 1


def test_a_pod_that_restarted_and_pods_in_any_number() -> None:
    trial = tuple(pod(**NORMAL) for _ in range(40))
    spoilt = pod(**{**NORMAL, "kv_tokens": 1.0, "client_errors": 60.0}, restarts=1.0)
    guards = watch(Guards(), (*trial, spoilt), (pod(**NORMAL),), LIMITS)
    assert guards.client_errors.trial == 0
    assert guards.client_errors.trial_requests == 40 * 60
    assert guards.kv_blocks.trial == guards.kv_blocks.baseline


def test_every_guard_has_a_reason_for_people() -> None:
    assert {guard.value for guard in Guard} <= {reason.value for reason in VerdictReason}


@pytest.mark.parametrize(
    "fields",
    [
        {"prefix_hits": -0.1},
        {"prefix_hits": float("nan")},
        {"output_length": 0.0},
        {"warmup_seconds": float("inf")},
    ],
)
def test_limits_out_of_range_are_refused(fields: Fields) -> None:
    with pytest.raises(ValueError, match=next(iter(fields))):
        Limits(**fields)


@pytest.mark.parametrize(
    "bad",
    [lambda: RoomLimit(0.9, 0.8), lambda: FirstTokenLimit(-1.0), lambda: FirstTokenLimit(0.5, float("nan"))],
)
def test_a_limit_out_of_range_is_refused(bad: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="out of range"):
        bad()


def test_one_guard_is_not_hidden_by_another_that_is_off() -> None:
    both = [window(max_model_len=4096.0, kv_tokens=40000.0)] * 5
    _, found, _ = watched(both, SWITCHED_OFF[Guard.MAX_MODEL_LEN])
    assert found is not None
    assert found.cause == Guard.KV_BLOCKS
    assert watched([counted("client_errors", 0.0, 0.0)] * 5)[1] is None
