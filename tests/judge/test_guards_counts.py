"""Rare events: found when they are the trial's, in time, and never from one window or a handful of events."""

from itertools import repeat

import pytest

from specdeploy.judge.guards import CountLimit, Guard, Guards, Limits, watch
from tests.judge.guards_streams import Pair, counted, pod, watched

FIELDS = {
    "client_errors": Guard.CLIENT_ERRORS,
    "server_errors": Guard.SERVER_ERRORS,
    "errored_requests": Guard.ERRORED_REQUESTS,
    "aborted_requests": Guard.ABORTED_REQUESTS,
    "preemptions": Guard.PREEMPTIONS,
}
RARE = [0.0, 1.0, 2.0, 1.0, 0.0, 0.0]


def rare(times: int) -> list[Pair]:
    return [counted("client_errors", count, 0.0) for count in RARE * times]


@pytest.mark.parametrize(("field", "guard"), FIELDS.items())
def test_events_of_the_trial_alone_end_it(field: str, guard: Guard) -> None:
    _, found, looked = watched(counted(field, 30.0, 0.0) for _ in range(20))
    assert found is not None
    assert found.cause == guard
    counted_on = "{} preemptions in {} requests" if field == "preemptions" else "{} of {} requests"
    assert counted_on.format(30 * looked, 60 * looked) in found.message
    assert counted_on.format(0, 60 * looked) in found.message
    assert f"over {looked} windows" in found.message
    assert found.message.endswith("rolled back")


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(("trial", "baseline"), [(30.0, 30.0), (0.0, 30.0), (0.0, 0.0), (60.0, 60.0)])
def test_events_that_the_baseline_has_too_end_nothing(field: str, trial: float, baseline: float) -> None:
    assert watched(repeat(counted(field, trial, baseline), 240))[1] is None


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("events", [60.0, 1e3, 1e9, 1e12])
def test_one_window_never_decides(field: str, events: float) -> None:
    quiet = [counted(field, 0.0, 0.0)] * 20
    assert watched([*quiet, counted(field, events, 0.0, requests=max(60.0, events)), *quiet])[1] is None


@pytest.mark.parametrize(
    ("field", "windows"),
    [
        ("server_errors", 4),
        ("errored_requests", 4),
        ("client_errors", 10),
        ("aborted_requests", 10),
        ("preemptions", 16),
    ],
)
def test_bursts_of_clients_and_schedulers_need_more_windows_than_faults_of_the_engine(
    field: str, windows: int
) -> None:
    assert watched(repeat(counted(field, 60.0, 0.0), 20))[2] == windows


def test_four_errors_in_six_windows_are_not_proof_and_forty_are() -> None:
    """Kayenta 426 (PD-09): ranks cannot tell [0,1,2,1,0,0] from zeros. Here it is proof once it is enough."""
    assert watched(rare(1))[1] is None
    _, found, looked = watched(rare(10))
    assert found is not None
    assert 24 < looked <= 36


def test_one_failed_request_of_two_at_almost_no_traffic_ends_nothing() -> None:
    """suna 3403 (PD-19): one 5xx at night is a huge rate, and no evidence; quiet windows do not clear it."""
    night = [counted("server_errors", float(i == 3), 0.0, requests=2.0) for i in range(240)]
    assert watched(night)[1] is None


def test_a_trial_that_fails_every_request_is_found_at_almost_no_traffic() -> None:
    """The opposite error: passing whatever has few requests."""
    assert watched(repeat(counted("server_errors", 1.0, 0.0, requests=1.0), 60))[1] is not None


def test_errors_below_the_rate_that_matters_end_nothing() -> None:
    windows = [counted("client_errors", float(i % 10 == 0), 0.0) for i in range(240)]  # 0.17 % of requests
    assert watched(windows)[1] is None


def test_trouble_that_begins_late_is_found_whatever_the_baseline_had_before() -> None:
    before = [counted("server_errors", 5.0, 20.0)] * 150
    _, found, looked = watched([*before, *[counted("server_errors", 20.0, 5.0)] * 40])
    assert found is not None
    assert looked <= 160


def test_what_was_long_ago_is_forgotten_and_the_counts_shown_are_recent() -> None:
    quiet = [counted("client_errors", 0.0, 0.0)] * 250
    _, found, _ = watched([*quiet, *[counted("client_errors", 30.0, 0.0)] * 20])
    assert found is not None
    assert "over 20 windows" in found.message  # 10 of them quiet, not 250


def test_fewer_requests_on_the_trial_are_allowed_for() -> None:
    """6 of 20 requests are as bad as 18 of 60, and 18 of 60 as good as 6 of 20."""
    fair = pod(http_requests=60.0, client_errors=18.0), pod(http_requests=20.0, client_errors=6.0)
    worse = pod(http_requests=20.0, client_errors=18.0), pod(http_requests=60.0, client_errors=18.0)
    assert watched(repeat(fair, 240))[1] is None
    assert watched(repeat(worse, 40))[1] is not None


@pytest.mark.parametrize("idle", [0, 1])
def test_an_arm_without_requests_is_no_evidence(idle: int) -> None:
    busy, empty = (
        pod(http_requests=60.0, client_errors=60.0),
        pod(http_requests=0.0, client_errors=0.0, first_tokens=0.0),
    )
    pair = (empty, busy) if idle == 0 else (busy, empty)
    guards, found, _ = watched(repeat(pair, 50))
    assert found is None
    assert guards.client_errors.windows == 0


@pytest.mark.parametrize(
    "limit", [CountLimit(0.5, 0.002), CountLimit(0.0, 0.0), CountLimit(1.0, 0.05)], ids=str
)
@pytest.mark.parametrize(
    ("rate", "requests", "excess", "windows"),
    [
        (0.10, 1000.0, 1.2, 60),
        (0.10, 1000.0, 1.4, 40),
        (0.01, 1000.0, 1.3, 120),
        (0.10, 1000.0, 1.0, None),
        (0.10, 1000.0, 0.9, None),
        (0.01, 60.0, 1.0, None),
    ],
)
def test_a_lasting_excess_over_the_limit_is_found_and_the_limit_itself_is_allowed(
    limit: CountLimit, rate: float, requests: float, excess: float, windows: int | None
) -> None:
    """In the counts that are expected: no limit may be passed for ever by a fifth."""
    events = requests * excess * ((1 + limit.increase) * rate + limit.rate)
    trial = pod(http_requests=requests, client_errors=events)
    baseline = pod(http_requests=3 * requests, client_errors=3 * requests * rate)
    _, found, looked = watched(repeat((trial, baseline), 240), Limits(client_errors=limit))
    if windows is None:
        assert found is None
    else:
        assert found is not None
        assert looked <= windows


def test_the_limit_is_the_users() -> None:
    generous = Limits(client_errors=CountLimit(increase=0.0, rate=0.6))
    assert watched(repeat(counted("client_errors", 30.0, 0.0), 60))[1] is not None
    assert watched(repeat(counted("client_errors", 30.0, 0.0), 60), generous)[1] is None


def test_an_alarm_stays() -> None:
    guards, found, _ = watched(repeat(counted("server_errors", 60.0, 0.0), 10))
    trial, baseline = counted("server_errors", 0.0, 60.0)
    for _ in range(50):
        guards = watch(guards, (trial,), (baseline,), Limits())
    assert found is not None
    assert guards.server_errors.alarmed


def test_events_are_added_up_over_any_number_of_pods() -> None:
    one = watch(
        Guards(),
        (pod(http_requests=60.0, client_errors=6.0),),
        (pod(http_requests=60.0, client_errors=2.0),),
        Limits(),
    )
    trial = tuple(pod(http_requests=10.0, client_errors=1.0) for _ in range(6))
    baseline = tuple(pod(http_requests=30.0, client_errors=1.0) for _ in range(2))
    assert watch(Guards(), trial, baseline, Limits()).client_errors == one.client_errors
