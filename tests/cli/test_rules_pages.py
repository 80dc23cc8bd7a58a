"""docs/rules/ is what the rules say, with a page for each code that a finding can have."""

import re

import pytest

from specdeploy.cli.checking import rules_by_code
from specdeploy.cli.engine_word import RULES as OF_THE_ENGINE
from tools.rules import ALL, CONCERNS, FOLDER, INDEX, pages

PAGES = pages()


def test_the_committed_pages_are_what_the_rules_say() -> None:
    committed = {file.name: file.read_text(encoding="utf-8") for file in FOLDER.iterdir()}
    assert sorted(committed) == sorted(PAGES), "run `PYTHONPATH=operator:. python tools/rules.py`"
    changed = [name for name, text in PAGES.items() if committed[name] != text]
    assert changed == [], "run `PYTHONPATH=operator:. python tools/rules.py`"


def test_every_rule_has_a_page_and_a_row() -> None:
    codes = set(rules_by_code(OF_THE_ENGINE))
    assert codes == {rule.code for rule in ALL}
    assert {name.removesuffix(".md") for name in PAGES if name.startswith("SD")} == codes
    assert set(re.findall(r"^\| \[(SD\d{3})\]\(SD\d{3}\.md\) \|", PAGES[INDEX], re.MULTILINE)) == codes


def test_no_two_rules_have_the_same_code_or_name() -> None:
    assert len({rule.code for rule in ALL}) == len(ALL)
    assert len({rule.name for rule in ALL}) == len(ALL)


@pytest.mark.parametrize("digit", CONCERNS)
def test_every_concern_has_its_rules(digit: str) -> None:
    assert any(rule.code[2] == digit for rule in ALL)


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.code)
def test_a_page_has_the_reason_the_source_and_both_examples(rule: object) -> None:
    code, why, source = (getattr(rule, name) for name in ("code", "why", "source"))
    text = PAGES[f"{code}.md"]
    assert why.strip() in text
    assert f"Source: {source}" in text
    assert text.count("```yaml") + text.count("No example is known.") == 2
    assert text.count("```") % 2 == 0


def test_every_link_leads_somewhere() -> None:
    for name, text in PAGES.items():
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            assert "://" in target or (FOLDER / target).exists(), f"{name}: {target}"
