"""Which of vLLM's two model runners an arm gets, and what each of them cannot do.

From 0.29 on V2 is the default for every model, and an arm that needs what V2 lacks falls back to V1 with a
line in the log. Source: VllmConfig of vLLM 0.32, `use_v2_model_runner` and the two lists that it asks.
"""

from .kinds import as_switch
from .methods import METHODS, Drafts, Runner
from .serving import is_on
from .setting import Candidate, Setting
from .versions import since

# From here on V2 runs every model.
V2_DEFAULT = since("0.29")
VARIABLE = "VLLM_USE_V2_MODEL_RUNNER"
_CHOICES = {"1": Runner.V2, "0": Runner.V1}


def forced(setting: Setting) -> Runner | None:
    """The runner that spec.engine.env asks for, if it does."""
    return _CHOICES.get(setting.variable(VARIABLE) or "")


def beyond_v2(candidate: Candidate) -> tuple[str, ...]:
    """What this drafter uses and V2 lacks."""
    method = METHODS[candidate.drafter.method]
    found = [f"method {method.name}"] if method.runner is Runner.V1 else []
    if as_switch(candidate.options.get("parallel_drafting")) and method.drafts is not Drafts.BLOCK:
        found.append("parallel_drafting")
    if as_switch(candidate.options.get("use_heterogeneous_vocab")):
        found.append("use_heterogeneous_vocab")
    return tuple(found)


def beyond_v1(candidate: Candidate) -> tuple[str, ...]:
    """What this drafter uses and V1 lacks."""
    setting = candidate.setting
    found = ["method dspark"] if candidate.drafter.method == "dspark" else []
    if as_switch(candidate.options.get("enable_adaptive_verification")):
        found.append("enable_adaptive_verification")
    if candidate.options.get("draft_lm_head_quantization") is not None:
        found.append("draft_lm_head_quantization")
    if setting.parallel.pipeline > 1 and is_on(setting, "--async-scheduling"):
        found.append("pipeline parallelism with --async-scheduling")
    return tuple(found)


def runner_of(candidate: Candidate) -> Runner:
    """The runner that this drafter's arm gets on 0.29 or newer."""
    choice = forced(candidate.setting)
    if choice is not None:
        return choice
    return Runner.V1 if beyond_v2(candidate) or is_on(candidate.setting, "--enable-dbo") else Runner.V2
