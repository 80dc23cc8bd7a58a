"""The engine's own word: it accepts what an engine would start with, and refuses with vLLM's own words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import specdeploy
from specdeploy.api.rule import Rule
from specdeploy.api.spec import Spec
from specdeploy.cli.engine_word import RULES, EngineWord, EngineWordError, findings_of
from specdeploy.cli.engine_word.rules import ENGINE_REFUSES
from tests.engine.specs import SMALLEST
from tests.vllm.server import LEAN_ARGS, speculative_args
from tools.vllm.environment import VllmEnvironment

pytestmark = pytest.mark.vllm

# The model, and the speculative config.
GOOD: dict[str, tuple[str, dict[str, Any]]] = {
    "baseline": ("tiny/target", {}),
    "ngram": ("tiny/target", {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4}),
    "draft_model": ("tiny/target", {"method": "draft_model", "model": "tiny/draft"}),
    "eagle3": ("tiny/target", {"method": "eagle3", "model": "tiny/eagle3-head"}),
    "dflash": ("tiny/target", {"method": "dflash", "model": "tiny/dflash-head"}),
    "mtp": ("tiny/mtp", {"method": "mtp", "num_speculative_tokens": 1}),
}
BAD = {
    "unknown key": (
        speculative_args(method="ngram", num_speculative_tokens=3, no_such_key=1),
        "Unexpected keyword argument",
    ),
    "nothing to draft": (speculative_args(method="ngram", num_speculative_tokens=0), "greater than 0"),
    "bounds crossed": (
        speculative_args(method="ngram", num_speculative_tokens=3, prompt_lookup_min=5, prompt_lookup_max=2),
        "prompt_lookup_min=5 must be <= prompt_lookup_max=2",
    ),
    "no such flag": (("--no-such-flag", "1"), "unrecognized arguments"),
    "what the API server looks at": (
        ("--enable-auto-tool-choice", "--tool-call-parser", "qwen3_codr"),
        "invalid tool call parser: qwen3_codr",
    ),
    "broken JSON": (("--speculative-config", "{"), "argument --speculative-config"),
}

UNASKED = {
    "no such target": (("nobody/has-this-one",), "the configuration of nobody/has-this-one is not here"),
    "no such draft": (
        ("tiny/target", *speculative_args(method="eagle3", model="/no/where", num_speculative_tokens=3)),
        "the configuration of /no/where is not here",
    ),
    "no tokenizer": (("Qwen/Qwen3-8B", "--reasoning-parser", "qwen3"), "the tokenizer of the model"),
    "for GPUs": (("tiny/target", "--enable-sleep-mode"), "this is vLLM's CPU build"),
    "no such package": (("tiny/target", "--distributed-executor-backend", "ray"), "is missing here"),
}


@pytest.mark.parametrize(("model", "config"), GOOD.values(), ids=GOOD)
def test_the_engine_accepts_what_it_would_start_with(
    engine_word: EngineWord, model: str, config: dict[str, Any]
) -> None:
    speculative = speculative_args(**{"num_speculative_tokens": 3, **config}) if config else ()
    answer = engine_word.accepts([model, *LEAN_ARGS, *speculative])
    assert (answer.ok, answer.error, answer.method) == (True, "", config.get("method", ""))


@pytest.mark.parametrize(("args", "error"), BAD.values(), ids=BAD)
def test_the_engine_refuses_in_the_words_of_vllm(
    engine_word: EngineWord, args: tuple[str, ...], error: str
) -> None:
    answer = engine_word.accepts(["tiny/target", *LEAN_ARGS, *args])
    assert not answer.ok
    assert error in answer.error
    assert not answer.unasked


@pytest.mark.parametrize(("args", "reason"), UNASKED.values(), ids=UNASKED)
def test_a_refusal_that_is_about_this_installation_says_so(
    engine_word: EngineWord, args: tuple[str, ...], reason: str
) -> None:
    answer = engine_word.accepts(args)
    assert not answer.ok
    assert reason in answer.unasked


def test_no_question_changes_what_is_said_to_the_next(engine_word: EngineWord) -> None:
    assert engine_word.accepts(["Qwen/Qwen3-30B-A3B", "--enable-return-routed-experts"]).ok
    assert engine_word.accepts(["Qwen/Qwen3-8B"]).ok


def test_the_variables_of_the_engine_are_part_of_the_question_and_end_with_it(
    engine_word: EngineWord,
) -> None:
    longer = ["tiny/target", "--max-model-len", "1000"]
    assert engine_word.accepts(longer, {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"}).ok
    assert not engine_word.accepts(longer).ok


@pytest.mark.parametrize(("memory_gib", "ok"), [(192, True), (64, False), (None, True)])
def test_defaults_are_those_of_the_gpu_that_the_engine_gets(
    engine_word: EngineWord, memory_gib: float | None, ok: bool
) -> None:
    draft = speculative_args(method="eagle3", model="tiny/eagle3-head", num_speculative_tokens=8)
    arguments = ["tiny/target", "--enable-lora", "--max-num-seqs", "256", *draft]
    assert engine_word.accepts(arguments, memory_gib=memory_gib).ok is ok


def test_a_path_that_makes_another_method_of_it_shows_in_the_answer(
    engine_word: EngineWord, models_folder: Path
) -> None:
    trap = models_folder / "tiny" / "eagle3-named-draft"
    trap.mkdir()
    (trap / "config.json").write_text((models_folder / "tiny/eagle3-head/config.json").read_text())
    config = {"method": "draft_model", "model": "tiny/eagle3-named-draft", "num_speculative_tokens": 3}
    assert engine_word.accepts(["tiny/target", *speculative_args(**config)]).method == "eagle3"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_each_rule_finds_something_in_its_example_and_nothing_in_the_other(
    engine_word: EngineWord, rule: Rule
) -> None:
    if rule.refused:
        assert rule.code in _codes(engine_word, rule.refused)
    assert rule.code not in _codes(engine_word, rule.passed)


def _codes(engine: EngineWord, keys: str) -> set[str]:
    spec = Spec.model_validate({**SMALLEST, **yaml.safe_load(keys)})
    return {finding.code for finding in findings_of(spec, engine)}


def test_a_refusal_is_told_for_the_arm_that_it_is_about_in_one_line(engine_word: EngineWord) -> None:
    drafters = [
        {"name": "good", "method": "draft_model", "model": "tiny/draft", "numSpeculativeTokens": 3},
        {"name": "wrong", "method": "eagle", "model": "tiny/draft", "numSpeculativeTokens": 3},
    ]
    spec = Spec.model_validate({"model": "tiny/target", "accelerator": {"count": 1}, "drafters": drafters})
    found = [each for each in findings_of(spec, engine_word) if each.code == ENGINE_REFUSES.code]
    assert [each.field for each in found] == ["spec.drafters[1]"]
    assert "['EagleQwen3ForCausalLM'] are not supported" in found[0].reason
    assert "\n" not in found[0].reason


def test_an_interpreter_without_vllm_is_told_in_one_line() -> None:
    with EngineWord(Path(sys.executable)) as engine, pytest.raises(EngineWordError) as told:
        engine.version()
    assert str(told.value) == f"{sys.executable} has no vLLM; name an interpreter that has it"


def test_a_file_that_is_no_interpreter_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(EngineWordError, match="is no interpreter"):
        EngineWord(tmp_path / "python").__enter__()


def test_lint_asks_the_engine_when_it_is_told_to(
    vllm_environment: VllmEnvironment, models_folder: Path, parser_environ: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "three-gpus.yaml"
    spec = {**SMALLEST, "accelerator": {"count": 3}, "engine": {"vllmVersion": "0.32.0"}}
    document = {"apiVersion": "specdeploy.dev/v1alpha1", "kind": "SpecDeployment", "spec": spec}
    file.write_text(yaml.safe_dump({**document, "metadata": {"name": "gemma"}}))
    lint = [sys.executable, "-m", "specdeploy", "lint", "-o", "json", "--engine"]
    where = ["--engine-python", str(vllm_environment.python), "--models", str(models_folder), str(file)]
    source = str(Path(specdeploy.__file__).parents[1])
    environ = {**parser_environ, "PYTHONPATH": os.pathsep.join((source, parser_environ["PYTHONPATH"]))}
    done = subprocess.run(
        [*lint, *where], env=environ, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "must be divisible by tensor parallel size (3)" in done.stdout
    assert ENGINE_REFUSES.code in json.dumps(json.loads(done.stdout))
