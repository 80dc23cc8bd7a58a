"""--use-replayssm: the targets, arguments and drafters that vLLM refuses it with, by release."""

from __future__ import annotations

from typing import Any

import pytest

from specdeploy.api.spec import Spec
from specdeploy.engine.checks import on_drafters, on_spec
from specdeploy.engine.setting import setting_of

NEMOTRON, DENSE, KIMI = "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16", "Qwen/Qwen3-8B", "moonshotai/Kimi-K3"
MTP = {"name": "d", "method": "mtp", "numSpeculativeTokens": 3}
CODES = {"SD245", "SD246", "SD515", "SD227"}
FLASHINFER = "--mamba-backend flashinfer --no-enable-prefix-caching"


def codes(
    model: str,
    words: str = "",
    *,
    version: str | None = "0.32.0",
    runner: str | None = "0",
    flag: str = "--use-replayssm",
    drafter: dict[str, Any] | None = None,
) -> list[str]:
    env = [{"name": "VLLM_USE_V2_MODEL_RUNNER", "value": runner}] if runner else []
    engine = {"vllmVersion": version, "args": [flag, *words.split()], "env": env}
    body = {
        "model": model,
        "accelerator": {"type": "MI355X", "count": 8},
        "engine": {key: value for key, value in engine.items() if value is not None},
        "drafters": [drafter] if drafter else [],
    }
    setting = setting_of(Spec.model_validate(body))
    found = (*on_spec(setting), *on_drafters(setting).get("d", ()))
    return [each.code for each in found if each.code in CODES]


@pytest.mark.parametrize(
    ("model", "version", "expected"),
    [
        (NEMOTRON, "0.27.0", []),
        (NEMOTRON, "0.33.0", []),
        (DENSE, "0.27.0", ["SD245"]),
        (DENSE, "0.33.0", ["SD245"]),
        ("Qwen/Qwen3.5-27B", "0.32.0", ["SD245"]),  # its states are no Mamba's
        (KIMI, "0.28.0", ["SD246"]),
        (KIMI, "0.33.0", ["SD246"]),
        (DENSE, "0.26.0", []),  # has no such flag, which another rule tells
        (DENSE, "0.99.0", ["SD227"]),
        ("/models/target", "0.32.0", []),
        ("team/Qwen3-8B-FP8", "0.32.0", []),  # by its name alone
    ],
)
def test_it_is_for_nemotron_alone(model: str, version: str, expected: list[str]) -> None:
    assert codes(model, version=version) == expected


def test_off_it_is_nothing() -> None:
    assert codes(DENSE, flag="--no-use-replayssm", drafter=MTP) == []


@pytest.mark.parametrize(
    ("version", "runner", "words", "expected"),
    [
        ("0.29.0", None, "", []),
        ("0.30.0", None, "", ["SD245"]),  # Triton on the V2 runner
        ("0.33.0", None, "", ["SD245"]),
        ("0.33.0", "1", "", ["SD245"]),
        ("0.33.0", "0", "", []),
        ("0.33.0", None, FLASHINFER, []),
        ("0.29.0", None, FLASHINFER, ["SD245"]),
        ("0.31.0", "0", "--mamba-cache-mode all", ["SD245"]),
        ("0.31.0", "0", "--mamba-cache-mode all --no-enable-prefix-caching", []),
        ("0.31.0", "0", "--mamba-cache-mode align", []),
        ("0.27.0", "0", "--mamba-cache-mode all", []),  # caches no prefixes
        ("0.27.0", "0", "--enable-prefix-caching", ["SD245"]),
        ("0.27.0", "0", "--enable-prefix-caching --mamba-cache-mode align", []),
        ("0.28.0", "0", "--enable-prefix-caching", []),
        ("0.30.0", None, "--mamba-backend flashinfer", ["SD245"]),
        ("0.32.0", None, f"{FLASHINFER} --replayssm-buffer-len 17", ["SD245"]),
        ("0.31.0", None, f"{FLASHINFER} --replayssm-buffer-len 17", []),
        ("0.32.0", "0", "--replayssm-buffer-len 17", []),
        (
            "0.32.0",
            "0",
            '--kv-transfer-config {"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}',
            ["SD245"],
        ),
    ],
)
def test_some_arguments_do_not_go_with_it(
    version: str, runner: str | None, words: str, expected: list[str]
) -> None:
    assert codes(NEMOTRON, words, version=version, runner=runner) == expected


@pytest.mark.parametrize(
    ("version", "words", "tokens", "expected"),
    [
        ("0.27.0", "", 3, ["SD515"]),
        ("0.31.0", FLASHINFER, 3, ["SD515"]),
        ("0.32.0", FLASHINFER, 3, []),
        ("0.33.0", FLASHINFER, 15, []),
        ("0.33.0", FLASHINFER, 16, ["SD515"]),
        ("0.32.0", f"{FLASHINFER} --replayssm-buffer-len 4", 3, []),
        ("0.32.0", f"{FLASHINFER} --replayssm-buffer-len 3", 3, ["SD515"]),
        ("0.32.0", "--mamba-backend flashinfer", 3, ["SD245"]),  # which the baseline needs, too
        ("0.32.0", "--no-enable-prefix-caching", 3, ["SD515"]),
        ("0.32.0", "", 3, ["SD515"]),
    ],
)
def test_beside_a_drafter_it_needs_more(version: str, words: str, tokens: int, expected: list[str]) -> None:
    drafter = {**MTP, "numSpeculativeTokens": tokens}
    assert codes(NEMOTRON, words, version=version, drafter=drafter) == expected


def test_of_kimi_one_thing_is_said_and_of_an_unknown_target_none() -> None:
    assert codes(KIMI, drafter={**MTP, "numSpeculativeTokens": 1}) == ["SD246"]
    ngram = {"name": "d", "method": "ngram", "numSpeculativeTokens": 3}
    assert codes("/models/target", drafter=ngram) == []
