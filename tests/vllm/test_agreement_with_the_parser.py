"""The rules against the real parser: what vLLM refuses is an error to `lint`, and what it accepts is none.

Every entry of the catalogue, and the configurations of `cases`, are put to both, the rules as for the
engine's version; what only the sizes of the tiny models make wrong once more, with a catalogue that describes
them. Where they differ, the configuration is listed with the reason in `expected`, one by one; a row that no
longer differs fails as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from specdeploy.api.rule import Finding, errors
from specdeploy.api.spec import Spec
from specdeploy.cli.engine_word import EngineWord
from specdeploy.cli.engine_word.verdict import UNSEEN, ask, is_decided, policy, refusal
from specdeploy.engine.catalogue import Checkpoint, Target
from specdeploy.engine.catalogue.entries import Method, Tokens
from specdeploy.engine.catalogue.load import targets
from specdeploy.engine.checks import on_drafters, on_spec
from specdeploy.engine.setting import setting_of
from specdeploy.engine.versions import parse_version
from tests.vllm.cases import STOCK, VERSION, Case, cases
from tests.vllm.expected import (
    ACCEPTED_ERRORS,
    DOUBTS,
    REFUSED_ENTRIES,
    REFUSED_THOUGH_DESCRIBED,
    REFUSED_THOUGH_GOOD,
)

pytestmark = pytest.mark.vllm

# The tiny drafts by what they are.
TINY_DRAFTS: dict[Method, str] = {
    "draft_model": "draft",
    "eagle": "eagle-head",
    "eagle3": "eagle3-head",
    "dflash": "dflash-head",
}
# By the schema of the resource itself, before any rule.
SCHEMA = Finding("spec", "the schema refuses it", "", "SD001")


@dataclass(frozen=True)
class Answered:
    """One configuration, what vLLM has against it (empty: nothing), and what the rules find."""

    name: str
    refusal: str
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        return errors(self.findings)

    @property
    def contradicted(self) -> tuple[Finding, ...]:
        """The errors that the parser would know of, of a configuration that it accepts."""
        return () if self.refusal else tuple(filter(is_decided, self.errors))


@pytest.fixture(scope="module")
def answers(engine_word: EngineWord) -> tuple[Answered, ...]:
    return tuple(_ask(engine_word, case) for case in cases())


def _ask(engine: EngineWord, case: Case) -> Answered:
    answer = ask(engine, setting_of(case.spec()), case.unchecked_drafter())
    assert not answer.unasked, (case.name, answer.unasked)
    method = str(case.drafter["method"]) if case.drafter else ""
    return Answered(case.name, refusal(answer, method), _findings(case))


def _findings(case: Case, described: tuple[Target, ...] = ()) -> tuple[Finding, ...]:
    drafters = [case.drafter] if case.drafter else []
    try:
        spec = Spec.model_validate({**case.spec().model_dump(by_alias=True), "drafters": drafters})
    except ValidationError:
        return (SCHEMA,)
    setting = setting_of(spec, extra=described)
    return (*on_spec(setting), *on_drafters(setting).get("d", ()))


def test_the_engine_that_is_asked_is_the_one_that_the_rules_are_asked_for(engine_word: EngineWord) -> None:
    assert parse_version(engine_word.version()) == parse_version(VERSION)


def test_hundreds_are_asked_and_both_answers_are_common(answers: tuple[Answered, ...]) -> None:
    refused = sum(bool(each.refusal) for each in answers)
    assert refused >= 300
    assert len(answers) - refused >= 300


def test_nothing_that_the_engine_refuses_is_called_good(answers: tuple[Answered, ...]) -> None:
    missed = {each.name: each.refusal for each in answers if each.refusal and not each.errors}
    assert _unlike(missed, REFUSED_THOUGH_GOOD) == {}


def test_where_an_error_is_missed_the_rules_say_what_they_do_not_know(answers: tuple[Answered, ...]) -> None:
    silent = [
        each.name
        for each in answers
        if each.refusal and not each.errors and not {f.code for f in each.findings} & DOUBTS
    ]
    assert silent == []


@pytest.fixture(scope="module")
def described(models_folder: Path) -> tuple[Target, ...]:
    """The tiny models in a catalogue of one's own, with the numbers of their config.json."""
    return tuple(_described(models_folder, name) for name in ("tiny/target", "tiny/mtp"))


def _described(models: Path, name: str) -> Target:
    config = json.loads((models / name / "config.json").read_text())
    return Target(
        name,
        family="tiny",
        source="its config.json",
        attention="gqa",
        heads=config["num_attention_heads"],
        kv_heads=config["num_key_value_heads"],
        experts=0,
        context=config["max_position_embeddings"],
        config="config.json",
        drafters=tuple(
            Checkpoint(method, Tokens(1, 15, 3), "its config.json", model=f"tiny/{draft}")
            for method, draft in TINY_DRAFTS.items()
        ),
    )


def test_described_in_a_catalogue_of_ones_own_they_are_errors(
    answers: tuple[Answered, ...], described: tuple[Target, ...]
) -> None:
    missed = {each.name: each.refusal for each in answers if each.refusal and not each.errors}
    asked = [case for case in cases() if case.name in missed]
    still = {case.name: missed[case.name] for case in asked if not errors(_findings(case, described))}
    assert _unlike(still, REFUSED_THOUGH_DESCRIBED) == {}


def test_described_so_nothing_that_the_engine_accepts_is_called_an_error(
    answers: tuple[Answered, ...], described: tuple[Target, ...]
) -> None:
    good = {each.name for each in answers if not each.refusal and not each.errors}
    wrong = {case.name: str(errors(_findings(case, described))) for case in cases() if case.name in good}
    assert {name: found for name, found in wrong.items() if found != "()"} == {}


def test_nothing_that_the_engine_accepts_is_called_an_error(answers: tuple[Answered, ...]) -> None:
    wrong = {each.name: str(each.contradicted) for each in answers if each.contradicted}
    assert wrong == {}


def test_what_is_refused_beyond_the_parser_is_policy_or_seen_later_and_listed(
    answers: tuple[Answered, ...],
) -> None:
    codes = {error.code for each in answers if not each.refusal for error in each.errors}
    assert codes - {SCHEMA.code} == set(ACCEPTED_ERRORS)
    assert codes - {SCHEMA.code} <= policy() | {code for code, _, _ in UNSEEN}


def test_every_entry_of_the_catalogue_is_good_to_the_rules_and_to_the_engine(engine_word: EngineWord) -> None:
    refused = {}
    for name, spec in _entries():
        setting = setting_of(spec)
        found = (*on_spec(setting), *(each for some in on_drafters(setting).values() for each in some))
        assert errors(found) == (), name
        drafter = spec.drafters[0] if spec.drafters else None
        answer = ask(engine_word, setting, drafter)
        if words := refusal(answer, drafter.method if drafter else ""):
            refused[name] = words
    assert _unlike(refused, REFUSED_ENTRIES) == {}


def _entries() -> Iterator[tuple[str, Spec]]:
    """Each target alone, and each of its drafters with the fewest, the suggested and the most tokens."""
    for target in targets():
        yield target.model, _spec_of(target, [])
        for checkpoint in target.drafters:
            tokens = checkpoint.tokens
            for number in sorted({tokens.least, tokens.suggested, tokens.most}):
                name = f"{target.model}: {checkpoint.method} {checkpoint.model} {number} tokens"
                yield name, _spec_of(target, [_drafter_of(checkpoint, number)])


def _drafter_of(checkpoint: Checkpoint, tokens: int) -> dict[str, Any]:
    wanted = {
        "name": "d",
        "method": checkpoint.method,
        "model": checkpoint.model,
        "numSpeculativeTokens": tokens,
        "attentionBackend": next(iter(checkpoint.backends.values()), None),
        "options": checkpoint.options or None,
    }
    return {key: value for key, value in wanted.items() if value is not None}


def _spec_of(target: Target, drafters: list[dict[str, Any]]) -> Spec:
    """A spec that serves the target on four GPUs."""
    serving = {"model": target.model, "accelerator": {"count": 4}, "engine": {"image": STOCK}}
    return Spec.model_validate({**serving, "drafters": drafters})


def _unlike(found: dict[str, str], expected: dict[str, str]) -> dict[str, str]:
    """What is found and not listed, with vLLM's words; and what is listed and no longer found."""
    new = {name: words for name, words in found.items() if name not in expected}
    return new | {name: "no longer so; remove the row" for name in expected if name not in found}
