"""The rules themselves: well named, explained, each with an example that it refuses and one that passes."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
import yaml

from specdeploy.api.findings import read_spec
from specdeploy.api.rule import Decider, Finding, Rule, Severity, errors
from specdeploy.engine.catalogue.load import targets
from specdeploy.engine.checks import on_drafters, on_spec
from specdeploy.engine.rules import RULES
from specdeploy.engine.setting import setting_of
from tools.rules import BASE

# What an example is laid over, key by key.
AROUND: dict[str, Any] = yaml.safe_load(BASE)["spec"]
SENTENCES = ("title", "why", "source")

pytestmark = pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.code}-{rule.name}")


def findings(example: str) -> tuple[Finding, ...]:
    """All that is found in an example, of every severity."""
    keys = yaml.safe_load(example)
    assert isinstance(keys, dict), "an example is keys of a spec"
    reading = read_spec({**AROUND, **keys})
    assert reading.spec is not None, reading.findings
    assert (reading.findings, reading.drafters, reading.unknown) == ((), (), ()), "an example can be read"
    setting = setting_of(reading.spec, targets=targets())
    return (*on_spec(setting), *(each for found in on_drafters(setting).values() for each in found))


def test_its_code_and_its_name_are_well_formed_and_its_own(rule: Rule) -> None:
    assert re.fullmatch(r"SD\d{3}", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert Counter(each.code for each in RULES)[rule.code] == 1
    assert Counter(each.name for each in RULES)[rule.name] == 1


def test_it_says_what_it_is_why_and_who_says_so(rule: Rule) -> None:
    assert isinstance(rule.severity, Severity)
    for field in SENTENCES:
        text = getattr(rule, field)
        assert text, field
        assert text == text.strip(), field
        assert ".md" not in text, f"{field} names what a reader can open"
    assert not rule.title.endswith("."), "a title is no sentence"


def test_policy_is_said_in_its_words_and_only_errors_are_anybodys_decision(rule: Rule) -> None:
    assert not rule.why.startswith("Refused by policy") or rule.decided_by is Decider.POLICY
    assert rule.severity is Severity.ERROR or rule.decided_by is None


def test_it_finds_its_example(rule: Rule) -> None:
    found = findings(rule.refused)
    own = [each for each in found if each.code == rule.code]
    assert own, f"found only {found}"
    assert {each.severity for each in own} == {rule.severity}
    assert [each for each in errors(found) if each.code != rule.code] == []


def test_it_lets_its_other_example_pass(rule: Rule) -> None:
    found = findings(rule.passed)
    assert [each for each in found if each.code == rule.code] == []
    assert errors(found) == ()


def test_its_findings_are_read_as_clauses(rule: Rule) -> None:
    for each in findings(rule.refused):
        for text in (each.reason, each.fix):
            assert text
            assert text == text.strip()
            assert not text.endswith("."), text
