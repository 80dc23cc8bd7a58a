"""Instants, and a status that holds all it may."""

import json

import pytest

from specdeploy.api.crd import object_schema
from specdeploy.api.findings import read_status
from specdeploy.api.reasons import Condition as Kind
from specdeploy.api.reasons import Outcome
from specdeploy.api.status import (
    MAX_PICTURES,
    MAX_RECENT,
    MAX_REQUESTS,
    MAX_SENTENCES,
    MAX_VERDICTS,
    Condition,
    Status,
    Verdict,
    instant,
    seconds,
)

TIME = "2026-11-29T21:24:36Z"


@pytest.mark.parametrize(
    ("moment", "text"),
    [(0, "1970-01-01T00:00:00Z"), (0.999, "1970-01-01T00:00:00Z"), (1_796_000_000, "2026-11-30T00:53:20Z")],
)
def test_an_instant_is_utc_to_the_second_and_reads_back(moment: float, text: str) -> None:
    assert instant(moment) == text
    assert seconds(text) == int(moment)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:10Z", 10),
        ("1970-01-01T01:00:10+01:00", 10),
        ("1970-01-01T00:00:10.250Z", 10.25),
    ],
)
def test_an_instant_may_have_any_zone_and_a_fraction(text: str, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize(
    "text", ["", "now", "2026-11-29", "2026-11-29T21:24:36", "2026-13-01T00:00:00Z", "1796000000"]
)
def test_what_is_no_instant_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        seconds(text)


def test_the_newest_verdict_of_a_revision_is_found() -> None:
    old = Verdict(drafter="a", revision="r", outcome=Outcome.ABORTED, time=TIME)
    new = old.model_copy(update={"outcome": Outcome.SLOWER, "attempt": 2})
    status = Status(verdicts=[new, old])
    assert status.verdict("r") == new
    assert status.verdict("other") is None


def test_a_condition_is_found_by_its_type() -> None:
    ready = Condition(type="Ready", status="True", last_transition_time=TIME, reason="Serving", message="")
    assert Status(conditions=[ready]).condition(Kind.READY) == ready
    assert Status().condition(Kind.READY) is None


def test_the_ledger_holds_every_drafter_that_a_spec_may_list() -> None:
    drafters = object_schema()["properties"]["spec"]["properties"]["drafters"]
    assert drafters["maxItems"] < MAX_VERDICTS


def test_a_status_with_verdicts_on_a_dozen_drafters_and_a_trial_stays_below_16_kib_as_it_is() -> None:
    figures = {"ratio": "1.234", "lower": "1.111", "upper": "1.333", "windows": 240}
    arm = {"revision": "0123456789", "template": "0123456789"}
    named = {"drafter": "dflash-block7", "revision": "0123456789", "attempt": 2}
    verdict = {**named, **figures, "outcome": "Slower", "reason": "SlowerThanBaseline", "time": TIME}
    told = {**verdict, "message": "m" * 200}
    pictured = {**told, "recent": [1234] * MAX_RECENT}
    serving = {"name": "dflash-block7", **arm, "since": TIME, "summary": "1.87x [1.79,1.95]"}
    watched = {**serving, "comparedTime": TIME, "guard": "g" * 1728}
    checks = {"until": TIME, "lastCheckTime": TIME, "nextCheckTime": TIME, "lastCheck": "Undecided"}
    condition = {
        "status": "False",
        "observedGeneration": 12,
        "lastTransitionTime": TIME,
        "message": "m" * 150,
    }
    whole = {
        "conditions": [{"type": kind.value, "reason": "MetricsUnavailable", **condition} for kind in Kind],
        "message": "m" * 300,
        "serving": watched,
        "baseline": {**arm, **checks, "since": TIME, "retention": "Trials", "history": "h" * 844},
        "trial": {
            **named,
            **figures,
            "template": "0123456789",
            "state": "Measuring",
            "startTime": TIME,
            "stateTime": TIME,
            "evidence": "e" * 2936,
            "recent": [1234] * MAX_RECENT,
            "fallback": serving,
        },
        "verdicts": [pictured] * MAX_PICTURES
        + [told] * (MAX_SENTENCES - MAX_PICTURES)
        + [verdict] * (12 - MAX_SENTENCES),
        "requests": [{"verb": "retry", "value": TIME, "time": TIME, "result": "r" * 60}] * MAX_REQUESTS,
    }
    status, lost = read_status(whole)
    assert not lost
    assert len(json.dumps(status.wire(), separators=(",", ":"))) < 16384
