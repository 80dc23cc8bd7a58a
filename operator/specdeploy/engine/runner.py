"""Which of vLLM's two model runners an arm gets, and what each of them cannot do.

From 0.29 on V2 is the default for every model, and an arm that needs what V2 lacks falls back to V1 with a
line in the log. Source: VllmConfig of vLLM 0.28 to 0.33, `use_v2_model_runner` and what it asks.
"""

from .kinds import as_switch
from .methods import METHODS, Drafts, Runner
from .serving import is_on, size_of
from .setting import Candidate, Setting
from .together import routed_experts
from .versions import LATELY, Span, between, since

# From here on V2 runs every model, but for some on ROCm in the first releases.
V2_DEFAULT = since("0.29")
V1_ON_ROCM = between("0.29", "0.32")
# Targets that have V1 by default on ROCm: family, attention (None: any), releases.
_V1_BY_DEFAULT: tuple[tuple[str, str | None, Span], ...] = (
    ("deepseek-v4", None, V1_ON_ROCM),
    ("deepseek-v3", "sparse-mla", V1_ON_ROCM),
    ("glm", "sparse-mla", between("0.30", "0.32")),
)
# From here on that default yields to what V1 lacks; before, the engine refuses to start.
_V1_YIELDS = since("0.31")
# Up to here V2 lacked ngram, and eagle3 in a pipeline.
_V2_WITHOUT_NGRAM = between(None, "0.30")
# From here on V1 refuses a pipeline with async scheduling.
_V1_PIPELINE_BEHIND = since("0.31")
# From here on --ubatch-size is to the runners what --enable-dbo is.
_SIZED_MICROBATCHES = since("0.30")
# Watermarks run on V2 alone, whatever the variable says.
_WATERMARKS = "--watermark-config"
# From here on only V1 can't schedule ahead of what drafts on the CPU.
_BEHIND_ON_V1_ALONE = since("0.33")
# Switches for what only V2 gives.
_V2_OUTPUTS = ("--enable-trace-replay", "--return-sampling-mask")
# Checkpoints of dflash that only V2 runs, and why.
_V2_DRAFTS = {
    "meta-models/Muse-Glimmer-30B-assistant": "a drafter that mixes sliding and full attention",
    "z-lab/Qwen3.8-27B-DFlash2": "a drafter with a candidate head",
}
VARIABLE = "VLLM_USE_V2_MODEL_RUNNER"
_CHOICES = {"1": Runner.V2, "0": Runner.V1}


def forced(setting: Setting) -> Runner | None:
    """The runner that the spec's arguments or variables ask for, if they do."""
    return Runner.V2 if setting.flag(_WATERMARKS) else _CHOICES.get(setting.variable(VARIABLE) or "")


def forced_by(setting: Setting) -> str:
    """What asks for it, as a fix names it."""
    return _WATERMARKS if setting.flag(_WATERMARKS) else f"{VARIABLE} from spec.engine.env"


def microbatches(setting: Setting) -> str | None:
    """The argument that splits batches into micro-batches, which V2 does for no drafter; None: none."""
    if is_on(setting, "--enable-dbo"):
        return "--enable-dbo"
    sized = _SIZED_MICROBATCHES.holds(setting.version) and (size_of(setting, "--ubatch-size") or 0) > 1
    return "--ubatch-size" if sized else None


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
    """What this drafter's arm uses and V1 lacks: the drafter's own needs first."""
    found = ["method dspark"] if candidate.drafter.method == "dspark" else []
    if as_switch(candidate.options.get("enable_adaptive_verification")):
        found.append("enable_adaptive_verification")
    if candidate.options.get("draft_lm_head_quantization") is not None:
        found.append("draft_lm_head_quantization")
    return (*found, *_engine_beyond_v1(candidate.setting))


def _engine_beyond_v1(setting: Setting) -> tuple[str, ...]:
    """What every arm uses and V1 lacks."""
    pipeline = setting.parallel.pipeline > 1 and _V1_PIPELINE_BEHIND.holds(setting.version)
    lacking = {
        "pipeline parallelism with --async-scheduling": pipeline and is_on(setting, "--async-scheduling"),
        "prefill context parallelism": setting.parallel.prefill_context > 1,
        "--enable-batch-sharded-sampling": is_on(setting, "--enable-batch-sharded-sampling"),
    }
    return tuple(what for what, is_used in lacking.items() if is_used)


def refused_by_v1(candidate: Candidate) -> tuple[str, ...]:
    """What this drafter's arm uses and V1 refuses, where it gets V1: some of it never leads to V2."""
    draft = _V2_DRAFTS.get(candidate.drafter.model or "") if LATELY.holds(candidate.setting.version) else None
    return (*beyond_v1(candidate), *((draft,) if draft else ()), *_outputs_of_v2(candidate.setting))


def refused_by_v1_in_baseline(setting: Setting) -> tuple[str, ...]:
    """The same of the arm without a drafter."""
    return (*_engine_beyond_v1(setting), *_outputs_of_v2(setting))


def _outputs_of_v2(setting: Setting) -> tuple[str, ...]:
    """What an engine is asked to give with its answers, and gives on V2 alone."""
    if not LATELY.holds(setting.version):
        return ()
    found = [switch for switch in _V2_OUTPUTS if is_on(setting, switch)]
    return (*found, *(["routed experts"] if routed_experts(setting) else []))


def runner_of(candidate: Candidate) -> Runner:
    """The runner that this drafter's arm gets on 0.29 or newer."""
    return _runner(candidate.setting, beyond_v1(candidate), beyond_v2(candidate))


def runner_of_baseline(setting: Setting) -> Runner:
    """The runner that the arm without a drafter gets on 0.29 or newer."""
    return _runner(setting, _engine_beyond_v1(setting), ())


def _runner(setting: Setting, beyond_v1: tuple[str, ...], beyond_v2: tuple[str, ...]) -> Runner:
    choice = forced(setting)
    if choice is not None:
        return choice
    yields = beyond_v1 and _V1_YIELDS.holds(setting.version)
    on_v1 = (defaults_to_v1(setting) and not yields) or beyond_v2 or microbatches(setting)
    return Runner.V1 if on_v1 else Runner.V2


def defaults_to_v1(setting: Setting) -> bool:
    """Whether the target runs on V1 on ROCm unless V2 is asked for, or something that V1 lacks."""
    target = setting.target
    return target is not None and any(
        target.family == family and attention in (None, target.attention) and span.holds(setting.version)
        for family, attention, span in _V1_BY_DEFAULT
    )


def behind(candidate: Candidate) -> str | None:
    """What keeps its steps from being scheduled before the one before has ended; None: nothing."""
    if _BEHIND_ON_V1_ALONE.holds(candidate.setting.version) and runner_of(candidate) is not Runner.V1:
        return None
    if candidate.drafter.method in ("ngram", "suffix"):
        return f"method {candidate.drafter.method}"
    key = "disable_padded_drafter_batch"
    return key if as_switch(candidate.options.get(key)) else None
