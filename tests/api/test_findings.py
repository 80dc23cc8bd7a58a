"""Reading an object: whatever it holds, nothing raises, and what is wrong is named with a fix."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdeploy.api.findings import read_spec, read_status
from specdeploy.api.reasons import Outcome
from specdeploy.api.spec import Drafter, Spec
from specdeploy.api.status import Status

NGRAM: dict[str, Any] = {"name": "ngram", "method": "ngram", "numSpeculativeTokens": 3}
INSTANT = "2026-01-01T00:00:00Z"
VERDICT = {"drafter": "ngram", "revision": "r1", "outcome": "Slower", "time": INSTANT}
SERVING = {"name": "ngram", "revision": "r1", "template": "t1", "since": INSTANT}


def spec(**fields: Any) -> dict[str, Any]:
    return {"model": "m", "drafters": [NGRAM], **fields}


# (what the object holds, the field that is named, a part of the reason, the fix)
UNREADABLE: list[tuple[Any, str, str, str]] = [
    (None, "spec", "missing", "write a spec"),
    ([], "spec", "no object", "write a spec"),
    ("text", "spec", "no object", "write a spec"),
    ({}, "spec.model", "field required", "add it"),
    (spec(model=7), "spec.model", "valid string (it is 7)", "correct it"),
    (spec(model=""), "spec.model", "at least 1 character", "correct it"),
    (spec(model="--port"), "spec.model", "should match pattern", "correct it"),
    (spec(model="m" * 600), "spec.model", "at most 512 characters", "correct it"),
    (spec(replicas="many"), "spec.replicas", "valid integer", "correct it"),
    (spec(replicas=-1), "spec.replicas", "greater than or equal to 0 (it is -1)", "correct it"),
    (spec(replicas=1.5), "spec.replicas", "integer", "correct it"),
    (spec(accelerator={"type": "H100"}), "spec.accelerator.type", "'MI300X'", "use one of these"),
    (spec(accelerator=[]), "spec.accelerator", "(it is [])", "correct it"),
    (spec(engine={"args": "--x"}), "spec.engine.args", "valid list", "correct it"),
    (spec(engine={"args": [1]}), "spec.engine.args[0]", "valid string", "correct it"),
    (spec(engine={"env": [{"value": "x"}]}), "spec.engine.env[0].name", "field required", "add it"),
    (spec(engine={"drain": []}), "spec.engine.drain", "an object (it is [])", "correct it"),
    (spec(trial={"windowSeconds": 1}), "spec.trial.windowSeconds", "or equal to 5", "correct it"),
    (spec(service={"type": "Other"}), "spec.service.type", "'ClusterIP'", "use one of these"),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "field", "reason", "fix"), UNREADABLE)
def test_what_can_not_be_read_is_named_with_reason_and_fix(
    raw: Any, field: str, reason: str, fix: str
) -> None:
    reading = read_spec(raw)
    assert reading.spec is None
    finding = reading.findings[0]
    assert finding.field == field
    assert reason in finding.reason
    assert finding.fix == fix
    assert str(finding) == f"{finding.field}: {finding.reason}; {finding.fix}"


def test_every_wrong_field_is_named_not_only_the_first() -> None:
    reading = read_spec(spec(replicas=-1, trial={"windowSeconds": 1}))
    assert [f.field for f in reading.findings] == ["spec.replicas", "spec.trial.windowSeconds"]


@pytest.mark.parametrize(
    ("replicas", "kept"), [(3, 3), (0, 0), (1000, 1000), (1001, None), (-1, None), ("3", None), (True, None)]
)
def test_replicas_are_honoured_where_nothing_else_can_be_read(replicas: Any, kept: int | None) -> None:
    assert read_spec({"replicas": replicas}).replicas == kept


# (a drafter, the name it is told under, the field, a part of the reason)
BROKEN: list[tuple[Any, str, str, str]] = [
    ("text", "spec.drafters[1]", "spec.drafters[1]", "object"),
    (None, "spec.drafters[1]", "spec.drafters[1]", "object"),
    ({}, "spec.drafters[1]", "spec.drafters[1].name", "required"),
    ({**NGRAM, "name": 7}, "spec.drafters[1]", "spec.drafters[1].name", "string"),
    ({**NGRAM, "name": ""}, "spec.drafters[1]", "spec.drafters[1].name", "at least 1"),
    ({**NGRAM, "name": "Loud"}, "Loud", "spec.drafters[1].name", "pattern"),
    ({**NGRAM, "name": "x" * 21}, "spec.drafters[1]", "spec.drafters[1].name", "at most 20"),
    ({**NGRAM, "name": "baseline"}, "spec.drafters[1]", "spec.drafters[1].name", "arm without a drafter"),
    ({**NGRAM}, "spec.drafters[1]", "spec.drafters[1].name", "a drafter before this one"),
    ({**NGRAM, "name": "b", "method": "medusa"}, "b", "spec.drafters[1].method", "'eagle3'"),
    ({**NGRAM, "name": "b", "numSpeculativeTokens": 0}, "b", "spec.drafters[1].numSpeculativeTokens", "to 1"),
    ({"name": "b", "method": "ngram"}, "b", "spec.drafters[1].numSpeculativeTokens", "required"),
    ({**NGRAM, "name": "b", "options": []}, "b", "spec.drafters[1].options", "an object (it is [])"),
]  # fmt: skip


@pytest.mark.parametrize(("drafter", "name", "field", "reason"), BROKEN)
def test_a_drafter_that_can_not_be_read_leaves_the_rest_as_it_is(
    drafter: Any, name: str, field: str, reason: str
) -> None:
    reading = read_spec({"model": "m", "drafters": [NGRAM, drafter, {**NGRAM, "name": "last"}]})
    assert reading.spec is not None
    assert reading.spec.names() == ["ngram", "last"]
    assert not reading.findings
    [(told, finding)] = reading.drafters
    assert (told, finding.field) == (name, field)
    assert reason in finding.reason


@pytest.mark.parametrize("listed", ["text", {"name": "x"}, 7, True])
def test_drafters_that_are_no_list_are_a_finding_and_the_target_is_read(listed: Any) -> None:
    reading = read_spec({"model": "m", "drafters": listed})
    assert reading.spec == Spec(model="m", drafters=[])
    assert [f.field for f in reading.findings] == ["spec.drafters"]


def test_fields_of_a_newer_schema_are_named_at_every_depth_and_stop_nothing() -> None:
    newer = {
        "model": "m",
        "speculation": "Off",
        "trial": {"capacity": "Surge"},
        "engine": {
            "env": [{"name": "A", "value": "1", "secret": True}],
            "podTemplate": {"affinity": {"anything": 1}, "labels": {"any/label": "x"}},
        },
        "drafters": [{**NGRAM, "sweep": [1, 2], "options": {"prompt_lookup_max": 4}}],
    }
    reading = read_spec(newer)
    assert reading.spec is not None
    assert not reading.findings
    assert reading.unknown == (
        "spec.speculation",
        "spec.trial.capacity",
        "spec.engine.env[0].secret",
        "spec.drafters[0].sweep",
    )


# (what status holds, the parts that are lost)
MALFORMED: list[tuple[Any, tuple[str, ...]]] = [
    (None, ()),
    ({}, ()),
    ("text", ("status",)),
    ([], ("status",)),
    ({"serving": SERVING, "trial": "text"}, ("status.trial",)),
    ({"serving": {**SERVING, "since": "yesterday"}}, ("status.serving",)),
    ({"serving": {**SERVING, "since": "2026-01-01T00:00:00"}}, ("status.serving",)),
    ({"serving": {**SERVING, "speedup": "fast"}}, ("status.serving",)),
    ({"serving": {"name": "x"}}, ("status.serving",)),
    ({"replicas": -1, "selector": 7}, ("status.replicas", "status.selector")),
    ({"verdicts": "text"}, ("status.verdicts",)),
    ({"verdicts": [VERDICT, {**VERDICT, "outcome": "New"}, 7]}, ("status.verdicts[1]", "status.verdicts[2]")),
    ({"conditions": [{"type": "Ready"}]}, ("status.conditions[0]",)),
    ({"requests": [{"verb": "new", "value": "", "time": INSTANT, "result": ""}]}, ("status.requests[0]",)),
    ({"ofANewerSchema": {"a": 1}}, ()),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "lost"), MALFORMED)
def test_a_malformed_part_of_status_is_dropped_and_named(raw: Any, lost: tuple[str, ...]) -> None:
    status, named = read_status(raw)
    assert named == lost
    assert read_status(status.wire()) == (status, ())


def test_the_rest_of_a_malformed_status_is_kept() -> None:
    status, _ = read_status({"serving": SERVING, "trial": {"state": "?"}, "verdicts": [7, VERDICT]})
    assert status.serving is not None
    assert status.serving.name == "ngram"
    verdict = status.verdict("r1")
    assert verdict is not None
    assert verdict.outcome is Outcome.SLOWER, "one bad verdict must not lift a quarantine"


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30)
KEYS = st.text(max_size=8)
for model in (Spec, Status, Drafter):
    KEYS |= st.sampled_from([field.alias or "" for field in model.model_fields.values()])
JSON = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(KEYS, below, max_size=5),
    max_leaves=25,
)


def shaped(model: type[Spec | Status]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects that have the right names and any values."""
    fields = {str(field.alias): JSON for field in model.model_fields.values()}
    return st.fixed_dictionaries({}, optional=fields)


@settings(max_examples=100, deadline=None)
@given(JSON | shaped(Spec) | shaped(Spec).map(lambda body: {**body, "model": "m"}))
def test_no_json_value_makes_reading_a_spec_raise(raw: Any) -> None:
    reading = read_spec(raw)
    assert reading.spec is not None or reading.findings
    for finding in (*reading.findings, *(found for _, found in reading.drafters)):
        assert finding.field.startswith("spec")
        assert finding.reason
        assert finding.fix
        assert len(str(finding)) < 1000


@settings(max_examples=100, deadline=None)
@given(JSON | shaped(Status))
def test_no_json_value_makes_reading_a_status_raise(raw: Any) -> None:
    status, lost = read_status(raw)
    assert all(part.startswith("status") for part in lost)
    assert read_status(status.wire()) == (status, ())
