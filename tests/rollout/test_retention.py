"""How long baseline pods stay, and when what serves is checked again."""

import pytest

from specdeploy.api.spec import Spec
from specdeploy.api.status import BaselineStatus, Recheck, instant, seconds
from specdeploy.rollout.retention import DAY, forgotten, in_force, may_come_early, next_check, retained

NOW = 1_800_000_000.0
HOUR = 3600.0


def spec(pods: int, **baseline: object) -> Spec:
    return Spec.model_validate({"model": "m", "replicas": pods, "baseline": baseline})


def arm(**fields: object) -> BaselineStatus:
    return BaselineStatus.model_validate({"revision": "r", "template": "t", "since": instant(NOW), **fields})


@pytest.mark.parametrize(
    ("replicas", "baseline", "retention"),
    [
        (7, {}, "Trials"),
        (8, {}, "Always"),
        (15, {"replicas": 2}, "Trials"),
        (16, {"replicas": 2}, "Always"),
        (2, {"retention": "Always"}, "Always"),
        (1000, {"retention": "Trials"}, "Trials"),
    ],
)
def test_auto_keeps_the_baselines_pods_where_they_are_an_eighth_at_most(
    replicas: int, baseline: dict[str, object], retention: str
) -> None:
    assert in_force(spec(replicas, **baseline)) == retention


@pytest.mark.parametrize(
    ("stored", "wanted", "replicas", "kept"),
    [
        ("Trials", "Auto", 100, "Trials"),
        ("Always", "Auto", 2, "Always"),
        ("Trials", "Always", 2, "Always"),
        ("Always", "Trials", 100, "Trials"),
    ],
)
def test_an_autoscaler_makes_nothing_flap_and_the_specs_own_word_holds_at_once(
    stored: str, wanted: str, replicas: int, kept: str
) -> None:
    assert retained(arm(retention=stored), spec(replicas, retention=wanted), NOW).retention == kept


def test_the_first_look_begins_the_probation() -> None:
    fresh = retained(arm(), spec(4, probationSeconds=7200), NOW)
    assert (fresh.retention, fresh.until) == ("Trials", instant(NOW + 7200))
    assert retained(fresh, spec(4, probationSeconds=60), NOW + 10) == fresh


def test_when_another_drafter_serves_probation_and_checks_begin_anew_and_the_rest_stays() -> None:
    check = Recheck(start_time=instant(NOW), reason="it was due")
    known = {"history": "h", "trials": 3, "lastCheck": "Kept", "lastCheckTime": instant(NOW)}
    used = {"retention": "Trials", "until": instant(NOW), "check": check, "earlyChecks": [instant(NOW)]}
    assert forgotten(arm(**known, **used, nextCheckTime=instant(NOW))) == arm(**known)


@pytest.mark.parametrize(
    ("interval", "start", "now", "expected"),
    [
        (HOUR, 0.0, 600.0, HOUR),
        (HOUR, 0.0, HOUR, 2 * HOUR),
        (HOUR, 0.0, 5000.0, 5000.0 + HOUR),
        (DAY, 0.0, 600.0, 17 * HOUR),
        (DAY, 0.0, 20 * HOUR, 37 * HOUR),
        (DAY - 1, 0.0, 600.0, DAY - 1),
        (2 * DAY, 0.0, 600.0, 41 * HOUR),
    ],
)
def test_a_check_follows_the_beginning_of_the_last_one_by_a_day_or_more_7_hours_earlier(
    interval: float, start: float, now: float, expected: float
) -> None:
    assert next_check(start, now, interval) == expected


@pytest.mark.parametrize("days", [1, 2, 3, 7])
def test_24_checks_come_at_every_hour_of_the_day(days: int) -> None:
    moment, hours = NOW, set()
    for _ in range(24):
        hours.add(int(moment // HOUR) % 24)
        moment = next_check(moment, moment + 600, days * DAY)
    assert len(hours) == 24


@pytest.mark.parametrize(
    ("ages", "may"),
    [([], True), ([10.0], True), ([10.0, 20.0], False), ([10.0, DAY - 1], False), ([10.0, DAY], True)],
)
def test_two_checks_a_day_may_come_early(ages: list[float], may: bool) -> None:
    starts = [instant(NOW - age) for age in ages]
    assert may_come_early(arm(earlyChecks=starts or None), NOW) is may
    assert all(seconds(start) <= NOW for start in starts)
