"""The guards in the spec and the judge's limits are the same guards with the same defaults."""

import pytest
from pydantic import ValidationError

from specdeploy.api import guards_spec
from specdeploy.api.schema import structural
from specdeploy.engine.questions import QUESTIONS
from specdeploy.judge.guards import CountLimit, FirstTokenLimit, Guard, Limits, RoomLimit

DEFAULT = guards_spec.Guards.model_validate({})
LIMITS = Limits()


def test_the_spec_has_every_guard_and_no_other() -> None:
    assert {name[0].upper() + name[1:] for name in DEFAULT.wire()} == {guard.value for guard in Guard}


def test_every_guard_has_a_switch_that_is_on() -> None:
    assert all(guard["enabled"] is True for guard in DEFAULT.wire().values())


@pytest.mark.parametrize(
    "name", ["client_errors", "server_errors", "aborted_requests", "errored_requests", "preemptions"]
)
def test_counted_guards_have_the_judges_defaults(name: str) -> None:
    guard = getattr(DEFAULT, name)
    limit = CountLimit(guard.allowed_increase_percent / 100, guard.allowed_per_thousand / 1000)
    assert limit == getattr(LIMITS, name)


def test_the_other_guards_have_the_judges_defaults() -> None:
    first, room = DEFAULT.time_to_first_token, DEFAULT.kv_blocks
    assert LIMITS.time_to_first_token == FirstTokenLimit(
        first.allowed_increase_percent / 100, first.allowed_milliseconds / 1000
    )
    assert LIMITS.kv_blocks == RoomLimit(room.minimum_percent / 100, room.warn_percent / 100)
    assert LIMITS.prefix_hits == DEFAULT.prefix_hits.allowed_loss_points / 100
    assert LIMITS.output_length == DEFAULT.output_length.allowed_change_percent / 100
    assert LIMITS.less_capacity is DEFAULT.less_capacity.enabled
    assert LIMITS.max_model_len is DEFAULT.max_model_len.enabled


def test_one_different_answer_of_all_is_allowed_and_two_are_not() -> None:
    allowed = DEFAULT.output_agreement.allowed_percent / 100
    assert 1 <= allowed * len(QUESTIONS) < 2


@pytest.mark.parametrize(
    "written",
    [
        {"clientErrors": {"allowedPerThousand": -1}},
        {"prefixHits": {"allowedLossPoints": 101}},
        {"outputLength": {"allowedChangePercent": 0}},
        {"kvBlocks": {"minimumPercent": 101}},
        {"lessCapacity": {"enabled": "perhaps"}},
    ],
)
def test_a_limit_out_of_range_is_refused(written: dict[str, dict[str, object]]) -> None:
    with pytest.raises(ValidationError):
        guards_spec.Guards.model_validate(written)


def test_the_schema_says_what_everything_means() -> None:
    for name, guard in structural(guards_spec.Guards)["properties"].items():
        assert guard["description"], name
        assert all(field["description"] for field in guard["properties"].values()), name
