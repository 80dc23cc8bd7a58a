"""What the catalogue knows bounds a drafter; what it does not know is said."""

from __future__ import annotations

from typing import Any

import pytest

from specdeploy.api.spec import Spec
from specdeploy.engine.checks import on_drafters, on_spec
from specdeploy.engine.setting import setting_of

DSPARK = {"method": "dspark", "model": "org/draft", "numSpeculativeTokens": 7}
MTP = {"method": "mtp", "numSpeculativeTokens": 1}


def found(model: str, drafter: dict[str, Any], *args: str) -> set[str]:
    """Codes of what is found on target and drafter."""
    engine = {"args": list(args)}
    spec = Spec.model_validate(
        {
            "model": model,
            "accelerator": {"count": 1},
            "engine": engine,
            "drafters": [{"name": "d", **drafter}],
        }
    )
    setting = setting_of(spec)
    return {each.code for each in (*on_spec(setting), *on_drafters(setting).get("d", ()))}


@pytest.mark.parametrize(
    ("model", "length", "refused"),
    [
        ("Qwen/Qwen3-8B", 40960, False),
        ("Qwen/Qwen3-8B", 40961, True),
        ("team/Qwen3-8B-FP8", 40961, False),  # by its name only: it may have been made longer
        ("/models/target", 40961, False),
    ],
)
def test_a_drafter_is_no_longer_than_the_context_that_is_known(
    model: str, length: int, refused: bool
) -> None:
    assert ("SD442" in found(model, {**DSPARK, "options": {"max_model_len": length}})) is refused


@pytest.mark.parametrize(
    "args",
    [("--hf-overrides", '{"max_position_embeddings": 131072}'), ("--hf-config-path", "/models/longer")],
)
def test_what_the_catalogue_knows_of_a_config_that_is_replaced_bounds_nothing(args: tuple[str, ...]) -> None:
    longer = {**DSPARK, "options": {"max_model_len": 40961, "dspark_draft_topk": 151937}}
    assert {"SD442", "SD450"} <= found("Qwen/Qwen3-8B", longer)
    assert not {"SD442", "SD450"} & found("Qwen/Qwen3-8B", longer, *args)
    assert "SD442" in found("Qwen/Qwen3-8B", longer, *args, "--max-model-len", "40960")


@pytest.mark.parametrize(
    ("model", "kept", "refused"),
    [("Qwen/Qwen3-8B", 151936, False), ("Qwen/Qwen3-8B", 151937, True), ("/models/target", 151937, False)],
)
def test_draft_topk_is_within_the_vocabulary_that_is_known(model: str, kept: int, refused: bool) -> None:
    assert ("SD450" in found(model, {**DSPARK, "options": {"dspark_draft_topk": kept}})) is refused


@pytest.mark.parametrize(
    ("model", "drafter", "doubt"),
    [
        ("/models/target", MTP, {"SD812"}),
        ("Qwen/Qwen3-Coder-Next", MTP, {"SD813"}),
        ("Qwen/Qwen3-Coder-Next", {**MTP, "model": "org/layers"}, set()),
        ("Qwen/Qwen3-Coder-Next", {"method": "ngram", "numSpeculativeTokens": 3}, set()),
        ("Qwen/Qwen3.5-27B", MTP, set()),
        ("Qwen/Qwen3-8B", MTP, set()),  # known to have none, which is an error of its own
    ],
)
def test_what_the_catalogue_does_not_tell_is_said(
    model: str, drafter: dict[str, Any], doubt: set[str]
) -> None:
    assert found(model, drafter) & {"SD812", "SD813"} == doubt
