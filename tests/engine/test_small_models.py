"""A small model that drafts has the target's vocabulary, as far as the catalogue knows both."""

from __future__ import annotations

from typing import Any

import pytest

from specdeploy.api.rule import Finding
from specdeploy.api.spec import Spec
from specdeploy.engine.catalogue.entries import Checkpoint, Target, Tokens
from specdeploy.engine.catalogue.load import targets
from specdeploy.engine.checks import on_drafters
from specdeploy.engine.setting import setting_of

QWEN, LLAMA = "Qwen/Qwen3-8B", "meta-llama/Llama-3.1-8B-Instruct"
OWN = "our/target"


def found(
    target: str,
    draft: str,
    *,
    method: str = "draft_model",
    args: tuple[str, ...] = (),
    version: str = "0.32.0",
    extra: tuple[Target, ...] = (),
    **options: Any,
) -> list[Finding]:
    drafter = {"name": "d", "method": method, "model": draft, "numSpeculativeTokens": 3, "options": options}
    engine = {"vllmVersion": version, "args": list(args)}
    spec = Spec.model_validate(
        {"model": target, "accelerator": {"count": 1}, "engine": engine, "drafters": [drafter]}
    )
    told = on_drafters(setting_of(spec, extra=extra)).get("d", ())
    return [each for each in told if each.code in ("SD314", "SD315", "SD316", "SD820")]


def codes(target: str, draft: str, **how: Any) -> list[str]:
    return [each.code for each in found(target, draft, **how) if each.code != "SD820"]


@pytest.mark.parametrize(
    ("target", "draft", "expected"),
    [
        (QWEN, "Qwen/Qwen3-30B-A3B", []),
        (QWEN, LLAMA, ["SD314"]),
        (QWEN, "openai/gpt-oss-20b", ["SD314"]),
        (QWEN, QWEN, []),
        # Not read from a config.json, or a build by its name: a doubt.
        ("Qwen/Qwen3-14B", LLAMA, ["SD315"]),
        (LLAMA, "Qwen/Qwen3-4B", ["SD315"]),
        ("team/Qwen3-8B-FP8", LLAMA, ["SD315"]),
        (QWEN, "team/Llama-3.1-8B-Instruct-FP8-dynamic", ["SD315"]),
        (QWEN, "team/Qwen3-4B-AWQ", []),
        # Not known on one side.
        (QWEN, "google/gemma-3-270m", []),
        ("/models/target", LLAMA, []),
        (LLAMA, "Qwen/Qwen3-30B-A3B-Instruct-2507", []),
        # vLLM drafts with their mtp layers, and compares nothing.
        (QWEN, "Qwen/Qwen3.5-35B-A3B", ["SD316"]),
        (QWEN, "deepseek-ai/DeepSeek-V3", ["SD316"]),
        (QWEN, "MiniMaxAI/MiniMax-M3", []),
        # It takes the path for another method's.
        (QWEN, "/models/eagle3/Llama-3.1-8B-Instruct", []),
    ],
)
def test_a_small_model_has_the_targets_vocabulary(target: str, draft: str, expected: list[str]) -> None:
    assert codes(target, draft) == expected


@pytest.mark.parametrize(
    ("target", "draft", "version", "taken"),
    [
        ("Qwen/Qwen3.5-27B", "Qwen/Qwen3.5-4B", "0.32.0", True),
        (QWEN, "deepseek-ai/DeepSeek-V3", "0.18.0", True),
        (QWEN, "team/Qwen3.5-4B-FP8", "0.32.0", True),
        (QWEN, "tencent/Hy3", "0.20.0", True),
        (QWEN, "tencent/Hy3", "0.19.0", False),
        (QWEN, "Qwen/Qwen3-4B", "0.32.0", False),
        (QWEN, "/models/small", "0.32.0", False),
    ],
)
def test_of_a_family_with_mtp_layers_vllm_takes_those(
    target: str, draft: str, version: str, taken: bool
) -> None:
    assert ("SD316" in codes(target, draft, version=version)) is taken
    assert ("SD316" in codes(target, draft, version=version, use_heterogeneous_vocab=True)) is taken
    assert "SD316" not in codes(target, draft, version=version, method="eagle3")


def test_parallel_drafting_changes_nothing_of_it_and_a_map_of_vocabularies_ends_it() -> None:
    assert codes(QWEN, LLAMA, parallel_drafting=True) == ["SD314"]
    assert codes(QWEN, LLAMA, use_heterogeneous_vocab=False) == ["SD314"]
    assert codes(QWEN, LLAMA, use_heterogeneous_vocab=True) == []


@pytest.mark.parametrize(("version", "offered"), [("0.18.0", False), ("0.24.0", False), ("0.25.0", True)])
def test_the_map_is_offered_by_releases_that_have_it(version: str, offered: bool) -> None:
    (refused,) = (each for each in found(QWEN, LLAMA, version=version) if each.code == "SD314")
    assert ("use_heterogeneous_vocab" in refused.fix) is offered
    assert "128256" in refused.reason
    assert "151936" in refused.fix


def test_another_config_of_the_target_makes_it_a_doubt() -> None:
    assert codes(QWEN, LLAMA, args=("--hf-config-path", "/models/other")) == ["SD315"]


def test_heads_are_not_compared() -> None:
    assert codes(QWEN, LLAMA, method="eagle3") == []


@pytest.mark.parametrize(
    ("drafted", "config", "expected"),
    [
        (1024, "config.json", []),
        (512, "config.json", ["SD314"]),
        (512, None, ["SD315"]),
        (None, "config.json", []),
    ],
)
def test_an_entry_of_ones_own_tells_the_vocabulary_of_a_drafter(
    drafted: int | None, config: str | None, expected: list[str]
) -> None:
    draft = Checkpoint(
        "draft_model", Tokens(1, 8, 3), "ours", model="our/draft", vocabulary=drafted, config=config
    )
    own = Target(OWN, family="ours", source="ours", vocabulary=1024, config="config.json", drafters=(draft,))
    assert codes(OWN, "our/draft", extra=(own,)) == expected


def test_what_is_compared_is_not_called_unchecked() -> None:
    (known,) = found(QWEN, "Qwen/Qwen3-4B")
    (unknown,) = found(QWEN, "google/gemma-3-270m")
    assert "vocabulary" not in known.reason
    assert "vocabulary and sizes are not checked" in unknown.reason


def test_every_target_whose_config_was_read_has_its_vocabulary() -> None:
    assert [each.model for each in targets() if each.config and not each.vocabulary] == []
