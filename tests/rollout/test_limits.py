"""spec.guards becomes the judge's limits: the same defaults, each switch, each number."""

from dataclasses import replace
from typing import Any

import pytest

from specdeploy.api.guards_spec import Guards
from specdeploy.judge.guards.limits import CountLimit, FirstTokenLimit, Limits, RoomLimit
from specdeploy.rollout.limits import limits_of


def limits(guards: dict[str, Any], warmup: float = 300.0) -> Limits:
    return limits_of(Guards.model_validate(guards), warmup)


def test_the_defaults_of_the_spec_are_those_of_the_judge() -> None:
    assert limits({}) == Limits()


@pytest.mark.parametrize(
    ("name", "field", "off"),
    [
        ("timeToFirstToken", "time_to_first_token", None),
        ("clientErrors", "client_errors", None),
        ("serverErrors", "server_errors", None),
        ("abortedRequests", "aborted_requests", None),
        ("erroredRequests", "errored_requests", None),
        ("preemptions", "preemptions", None),
        ("lessCapacity", "less_capacity", False),
        ("kvBlocks", "kv_blocks", None),
        ("maxModelLen", "max_model_len", False),
        ("prefixHits", "prefix_hits", None),
        ("outputLength", "output_length", None),
    ],
)
def test_each_guard_has_a_switch_of_its_own(name: str, field: str, off: object) -> None:
    assert limits({name: {"enabled": False}}) == replace(Limits(), **{field: off})


@pytest.mark.parametrize(
    ("guards", "field", "limit"),
    [
        (
            {"timeToFirstToken": {"allowedIncreasePercent": 20, "allowedMilliseconds": 5}},
            "time_to_first_token",
            FirstTokenLimit(0.2, 0.005),
        ),
        (
            {"serverErrors": {"allowedIncreasePercent": 0, "allowedPerThousand": 1}},
            "server_errors",
            CountLimit(0.0, 0.001),
        ),
        ({"kvBlocks": {"minimumPercent": 70, "warnPercent": 90}}, "kv_blocks", RoomLimit(0.7, 0.9)),
        ({"kvBlocks": {"minimumPercent": 70, "warnPercent": 10}}, "kv_blocks", RoomLimit(0.7, 0.7)),
        ({"prefixHits": {"allowedLossPoints": 12}}, "prefix_hits", 0.12),
        ({"outputLength": {"allowedChangePercent": 150}}, "output_length", 1.5),
    ],
)
def test_numbers_become_fractions(guards: dict[str, Any], field: str, limit: object) -> None:
    assert getattr(limits(guards), field) == limit


def test_young_pods_are_left_aside_as_long_as_the_trial_warms_up() -> None:
    assert limits({}, warmup=20.0).warmup_seconds == 20.0
