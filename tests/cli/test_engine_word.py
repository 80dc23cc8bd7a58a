"""The engine's own word without an engine: the conversation, and what is made of the answers.

The interpreter is a shell script that answers as `child` would; `tests/vllm` has the conversation with vLLM.
"""

from __future__ import annotations

import json
import os
import shlex
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specdeploy.api.rule import Severity
from specdeploy.api.spec import Spec
from specdeploy.cli.engine_word import Answer, EngineWord, EngineWordError, findings_of
from specdeploy.cli.engine_word.verdict import in_short, is_decided, policy, refusal
from specdeploy.engine.catalogue.entries import Target
from specdeploy.engine.rules import RULES as ENGINE_RULES

OK: dict[str, Any] = {"ok": True}
PYDANTIC = """1 validation error for SpeculativeConfig
  Value error, prompt_lookup_min=5 must be <= prompt_lookup_max=2 [type=value_error, \
input_value=ArgsKwargs((), {'model': ...}), input_type=ArgsKwargs]
    For further information visit https://errors.pydantic.dev/2.14/v/value_error"""

Interpreter = Callable[..., Path]


@pytest.fixture
def interpreter(tmp_path: Path) -> Interpreter:
    """Makes an interpreter whose child says its version and then these answers, one a question."""

    def make(*answers: dict[str, Any], version: str = "0.32.0+cpu", ending: str = "") -> Path:
        hello = {"version": version, "platform": "cpu"}
        said = [shlex.quote(json.dumps(answer)) for answer in (hello, *answers)]
        lines = "\nread question\n".join(f"printf '%s\\n' {answer} >&3" for answer in said)
        path = tmp_path / "python"
        path.write_text("\n".join(["#!/bin/sh", 'exec 3>"/dev/fd/$2"', lines, ending or "sleep 60"]))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return make


def _spec(engine: dict[str, Any] | None = None, **drafter: Any) -> Spec:
    written = {"name": "d", "method": "ngram", "numSpeculativeTokens": 3, **drafter}
    keys = {"model": "some/model", "engine": engine or {"vllmVersion": "0.32.0"}, "drafters": [written]}
    return Spec.model_validate({**keys, "accelerator": {"count": 1}})


def _found(interpreter: Path, spec: Spec) -> list[tuple[str, str, str]]:
    with EngineWord(interpreter) as engine:
        return [(each.code, each.field, each.reason) for each in findings_of(spec, engine)]


def test_a_conversation_tells_the_version_and_each_answer_in_turn(interpreter: Interpreter) -> None:
    refused = {"ok": False, "error": "no"}
    with EngineWord(interpreter(OK, refused, {"ok": True, "method": "ngram"})) as engine:
        assert engine.version() == "0.32.0+cpu"
        assert engine.platform() == "cpu"
        answers = [engine.accepts(["some/model"]) for _ in range(3)]
    assert answers == [Answer(True), Answer(False, "no"), Answer(True, method="ngram")]


def test_a_child_that_dies_is_told_with_its_code_and_the_end_of_its_log(interpreter: Interpreter) -> None:
    dying = interpreter(ending="echo 'No module named vllm' >&2; exit 3")
    with EngineWord(dying) as engine, pytest.raises(EngineWordError) as told:
        engine.accepts(["some/model"])
    assert "vLLM ended with code 3" in str(told.value)
    assert str(told.value).endswith("No module named vllm")


def test_an_interpreter_without_vllm_is_told_in_a_few_words(interpreter: Interpreter) -> None:
    there = interpreter(ending="""echo "ModuleNotFoundError: No module named 'vllm'" >&2; exit 1""")
    with EngineWord(there) as engine, pytest.raises(EngineWordError) as told:
        engine.accepts(["some/model"])
    assert str(told.value) == f"{there} has no vLLM; name an interpreter that has it"


def test_a_child_that_does_not_answer_in_time_is_told(interpreter: Interpreter) -> None:
    with EngineWord(interpreter(), answer_seconds=0.2) as engine, pytest.raises(EngineWordError) as told:
        engine.accepts(["some/model"])
    assert "no answer in 0.2 s" in str(told.value)


def test_the_child_and_what_it_started_end_with_the_conversation(interpreter: Interpreter) -> None:
    starts_another = """sleep 60 & read question; echo "{\\"ok\\": false, \\"error\\": \\"$!\\"}" >&3; wait"""
    with EngineWord(interpreter(ending=starts_another)) as engine:
        process = Path("/proc", engine.accepts(["some/model"]).error, "status")
        assert process.exists()
    deadline = time.monotonic() + 60
    while process.exists() and "zombie" not in process.read_text() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not process.exists() or "zombie" in process.read_text()


@pytest.mark.parametrize("given", ["python", "models"])
def test_what_is_not_there_is_told_before_anything_starts(
    interpreter: Interpreter, tmp_path: Path, given: str
) -> None:
    here = interpreter()
    nowhere = tmp_path / "nowhere"
    python, models = (nowhere, None) if given == "python" else (here, nowhere)
    with pytest.raises(EngineWordError, match="nowhere is no"):
        EngineWord(python, models).__enter__()


def test_downloads_are_off_unless_the_user_says_otherwise(interpreter: Interpreter) -> None:
    says_it = 'echo "{\\"ok\\": false, \\"error\\": \\"$HF_HUB_OFFLINE\\"}" >&3; sleep 60'
    for environ, offline in (({}, "1"), ({"HF_HUB_OFFLINE": "0"}, "0")):
        with EngineWord(interpreter(ending=says_it), environ={"PATH": os.defpath, **environ}) as engine:
            assert engine.accepts(["some/model"]).error == offline


def test_an_arm_that_is_refused_and_has_no_error_is_one(interpreter: Interpreter) -> None:
    answers = interpreter(OK, {"ok": False, "error": PYDANTIC})
    reason = "vLLM 0.32.0+cpu refuses it: prompt_lookup_min=5 must be <= prompt_lookup_max=2"
    assert _found(answers, _spec()) == [("SD901", "spec.drafters[0]", reason)]


def test_a_baseline_that_is_refused_is_told_once_and_no_drafter_is_asked(interpreter: Interpreter) -> None:
    found = _found(interpreter({"ok": False, "error": "no"}), _spec())
    assert found == [("SD901", "spec.engine.args", "vLLM 0.32.0+cpu refuses it: no")]


def test_a_refusal_that_a_rule_foresees_is_agreement(interpreter: Interpreter) -> None:
    answers = interpreter(OK, {"ok": False, "error": "no such key"})
    assert _found(answers, _spec(options={"no_such_key": 1})) == []


def test_an_error_that_the_engine_does_not_have_names_the_rule(interpreter: Interpreter) -> None:
    answers = interpreter(OK, {"ok": True, "method": "ngram"})
    [(code, field, reason)] = _found(answers, _spec(options={"no_such_key": 1}))
    assert (code, field) == ("SD902", "spec.drafters[0].options.no_such_key")
    assert "accepts it, SD402 does not" in reason


def test_entries_of_ones_own_count_as_the_catalogue_does(interpreter: Interpreter) -> None:
    own = Target(model="some/model", family="gemma4", source="ours")
    spec = _spec(method="mtp")
    with EngineWord(interpreter(OK, {"ok": True, "method": "mtp"})) as engine:
        [found] = findings_of(spec, engine, (own,))
    assert "some/model has no layers for mtp in it" in found.reason
    assert _found(interpreter(OK, {"ok": True, "method": "mtp"}), spec) == []


def test_what_is_refused_by_policy_is_not_held_against_the_engine(interpreter: Interpreter) -> None:
    answers = interpreter(OK, {"ok": True, "method": "ngram"})
    options = {"rejection_sample_method": "synthetic", "synthetic_acceptance_length": 2}
    assert _found(answers, _spec(options=options)) == []


def test_another_method_than_the_one_asked_for_is_a_refusal() -> None:
    assert refusal(Answer(True, method="eagle3"), "draft_model") == "it takes draft_model for eagle3"
    assert refusal(Answer(True), "") == ""


def test_an_arm_that_could_not_be_asked_is_a_warning_with_the_reason(interpreter: Interpreter) -> None:
    answers = interpreter(
        OK, {"ok": False, "error": "long", "unasked": "the configuration of x/y is not here"}
    )
    with EngineWord(answers) as engine:
        [found] = findings_of(_spec(), engine)
    assert (found.code, found.severity, found.field) == ("SD903", Severity.WARNING, "spec.drafters[0]")
    assert "the configuration of x/y is not here" in found.reason


@pytest.mark.parametrize(
    ("engine", "field"),
    [
        ({"vllmVersion": "0.30.0"}, "spec.engine.vllmVersion"),
        ({"image": "vllm/vllm-openai-rocm:v0.30.1"}, "spec.engine.image"),
    ],
)
def test_another_release_is_told_once_and_the_rules_are_those_of_the_engine(
    interpreter: Interpreter, engine: dict[str, Any], field: str
) -> None:
    answers = interpreter(OK, {"ok": False, "error": "a key of 0.33"})
    found = _found(answers, _spec(engine, options={"disable_lookahead_block_hashes": True}))
    assert [each[:2] for each in found] == [("SD904", field)]


def test_a_patch_of_the_same_release_is_no_other_release(interpreter: Interpreter) -> None:
    answers = interpreter(OK, {"ok": True, "method": "ngram"}, version="0.32.1")
    assert _found(answers, _spec()) == []


def test_the_words_of_vllm_are_cut_to_a_line() -> None:
    assert in_short("x" * 1000) == f"{'x' * 297}..."
    assert in_short("Value error, one\n  two. ") == "one two"


def test_rules_of_policy_and_of_hardware_are_none_that_the_parser_decides() -> None:
    decided = {rule.code for rule in ENGINE_RULES if is_decided(rule.at("spec", "", ""))}
    assert {"SD402", "SD411", "SD220", "SD601", "SD119", "SD168", "SD811", "SD816", "SD818"} <= decided
    assert not decided & policy()
    assert not {code for code in decided if code.startswith(("SD0", "SD7")) or code == "SD604"}


def test_a_question_tells_what_the_spec_says_of_the_engines_surroundings(
    interpreter: Interpreter, tmp_path: Path
) -> None:
    asked = tmp_path / "asked"
    writes_it = f'read -r question; echo "$question" > {asked}; echo \'{{"ok": true}}\' >&3; sleep 60'
    env = [
        {"name": "VLLM_ALLOW_LONG_MAX_MODEL_LEN", "value": "1"},
        {"name": "VLLM_ASSETS_CACHE", "value": "/somewhere"},
        {"name": "VLLM_API_KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "vllm"}}},
        {"name": "PATH", "value": "/somewhere"},
    ]
    keys = {"model": "some/model", "engine": {"vllmVersion": "0.32.0", "env": env}, "drafters": []}
    spec = Spec.model_validate({**keys, "accelerator": {"type": "MI300X", "count": 1}})
    assert _found(interpreter(ending=writes_it), spec) == []
    question = json.loads(asked.read_text())
    assert question["variables"] == {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"}
    assert question["memory_gib"] == 192
