"""The rule on accelerators on which a target's recipe says that it does not run."""

from __future__ import annotations

import pytest

from specdeploy.api.rule import Finding, Severity
from specdeploy.api.spec import Spec
from specdeploy.engine.checks import on_spec
from specdeploy.engine.setting import setting_of


def told_of(model: str, gpu: str) -> list[Finding]:
    body = {"model": model, "accelerator": {"type": gpu, "count": 8}, "drafters": []}
    return [each for each in on_spec(setting_of(Spec.model_validate(body))) if each.code == "SD634"]


@pytest.mark.parametrize(
    ("model", "gpu", "told"),
    [
        ("deepseek-ai/DeepSeek-V4-Flash", "MI300X", True),
        ("deepseek-ai/DeepSeek-V4-Flash", "MI325X", False),
        ("deepseek-ai/DeepSeek-V4-Pro-0813", "MI325X", True),
        ("deepseek-ai/DeepSeek-V4-Pro-0813", "MI350X", False),  # not named: nothing is known
        ("/models/DeepSeek-V4-Pro", "MI325X", True),
        ("our/DeepSeek-V4-Pro-BF16", "MI325X", False),
        ("Qwen/Qwen3-8B", "MI300X", False),
    ],
)
def test_a_target_that_its_recipe_does_not_run_here_is_told_once_and_is_no_error(
    model: str, gpu: str, told: bool
) -> None:
    assert [each.severity for each in told_of(model, gpu)] == ([Severity.WARNING] if told else [])


def test_the_gpus_on_which_it_runs_are_named() -> None:
    (told,) = told_of("deepseek-ai/DeepSeek-V4-Flash", "MI300X")
    assert str(told) == (
        "spec.accelerator.type: the recipe of deepseek-ai/DeepSeek-V4-Flash says that it does not run on "
        "MI300X; use MI325X or MI355X, on which it says that it runs"
    )
