"""Which of vLLM's two model runners an arm gets, and what each of them cannot do.

From 0.29 on V2 is the default for every model, and an arm that needs what V2 lacks falls back to V1 with a
line in the log. Source: VllmConfig of vLLM 0.32, `use_v2_model_runner` and the two lists that it asks.
"""

from .kinds import as_switch
from .methods import METHODS, Drafts, Runner
from .serving import is_on
from .setting import Candidate, Setting
from .versions import between, since

# From here on V2 runs every model, but for some on ROCm in the first releases.
V2_DEFAULT = since("0.29")
V1_ON_ROCM = between("0.29", "0.32")
_V1_FAMILIES = ("deepseek-v4",)
# Up to here V2 lacked ngram, and eagle3 in a pipeline.
_V2_WITHOUT_NGRAM = between(None, "0.30")
# From here on V1 refuses a pipeline with async scheduling.
_V1_PIPELINE_BEHIND = since("0.31")
VARIABLE = "VLLM_USE_V2_MODEL_RUNNER"
_CHOICES = {"1": Runner.V2, "0": Runner.V1}


def forced(setting: Setting) -> Runner | None:
    """The runner that spec.engine.env asks for, if it does."""
    return _CHOICES.get(setting.variable(VARIABLE) or "")


def beyond_v2(candidate: Candidate) -> tuple[str, ...]:
    """What this drafter uses and V2 lacks."""
    method = METHODS[candidate.drafter.method]
    early = _V2_WITHOUT_NGRAM.holds(candidate.setting.version)
    behind = method.runner is Runner.V1 or (early and method.name == "ngram")
    found = [f"method {method.name}"] if behind else []
    if early and method.name == "eagle3" and candidate.setting.parallel.pipeline > 1:
        found.append("eagle3 with pipeline parallelism")
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
    pipeline = setting.parallel.pipeline > 1 and _V1_PIPELINE_BEHIND.holds(setting.version)
    if pipeline and is_on(setting, "--async-scheduling"):
        found.append("pipeline parallelism with --async-scheduling")
    return tuple(found)


def runner_of(candidate: Candidate) -> Runner:
    """The runner that this drafter's arm gets on 0.29 or newer."""
    setting = candidate.setting
    choice = forced(setting)
    if choice is not None:
        return choice
    falls_back = beyond_v2(candidate) or is_on(setting, "--enable-dbo") or stays_on_v1(setting)
    return Runner.V1 if falls_back else Runner.V2


def stays_on_v1(setting: Setting) -> bool:
    """Whether the target itself runs on V1 on ROCm unless V2 is asked for."""
    family = setting.target.family if setting.target else ""
    return family in _V1_FAMILIES and V1_ON_ROCM.holds(setting.version)
