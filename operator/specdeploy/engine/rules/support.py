"""Rules on accelerators that a target's recipe names. Of a drafter's own see `hardware`."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule, Severity
from specdeploy.engine.setting import Candidate, Setting

NOT_SUPPORTED = Rule(
    code="SD634",
    name="target-not-supported-here",
    severity=Severity.WARNING,
    title="The target's recipe says that it does not run on this GPU",
    why="The engine then fails as it loads the model or at the first request, in every arm. A recipe tells "
    "of the releases that it was tried with, so this is no proof.",
    source="the catalogue, by vllm-project/recipes (meta.hardware); vLLM issue 41961 (e8m0 scales on gfx942)",
    refused="model: deepseek-ai/DeepSeek-V4-Pro\naccelerator: {type: MI325X, count: 8}",
    passed="model: deepseek-ai/DeepSeek-V4-Pro\naccelerator: {type: MI355X, count: 8}",
)


def _check_target(setting: Setting) -> Iterator[Finding]:
    gpu, target = setting.gpu, setting.target
    if gpu is None or target is None or gpu.name not in target.unsupported:
        return
    reason = f"the recipe of {setting.taken_for or target.model} says that it does not run on {gpu.name}"
    runs = " or ".join(target.verified)
    fix = f"use {runs}, on which it says that it runs" if runs else "use another GPU"
    yield NOT_SUPPORTED.at("spec.accelerator.type", reason, fix)


RULES: tuple[Rule, ...] = (NOT_SUPPORTED,)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (_check_target,)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = ()
