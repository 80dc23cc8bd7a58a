"""Rules on adaptive verification: what it cannot be combined with. Attention backends are in `hardware`."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.graphs import captures_whole_steps, cudagraph_mode
from specdeploy.engine.kinds import as_switch
from specdeploy.engine.serving import is_on
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.versions import between

KEY = "enable_adaptive_verification"
_D = "name: d, method: dspark, model: org/draft, numSpeculativeTokens: 7"
_E = "name: d, method: eagle3, model: org/draft, numSpeculativeTokens: 4"


def _example(before: str = "", more: str = "", drafter: str = _D) -> str:
    return f"{before}\ndrafters: [{{{drafter}, options: {{{KEY}: true{more}}}}}]\n"


WITH_FLAG = Rule(
    code="SD520",
    name="adaptive-verification-and-arguments",
    severity=Severity.ERROR,
    title="vLLM refuses adaptive verification with this argument",
    why="It needs graphs of whole steps and batches whose borders the GPU decides; the engine refuses to "
    "start with LoRA, without such graphs (--enforce-eager, -O0, -O1, cudagraph_mode NONE or PIECEWISE), "
    "with routed experts or sampling masks in the answers, and with sharded sampling.",
    source="VllmConfig of vLLM 0.32",
    refused=_example("engine: {args: [--enforce-eager]}"),
    passed=_example(),
    decided_by=Decider.PARSER,
)
WITH_PIPELINE = Rule(
    code="SD521",
    name="adaptive-verification-and-pipelines",
    severity=Severity.ERROR,
    title="vLLM refuses adaptive verification with pipeline parallelism",
    why="Only the last stage has what it decides by; the engine refuses to start.",
    source="VllmConfig of vLLM 0.32",
    refused=_example("engine: {args: [--pipeline-parallel-size, '2']}"),
    passed=_example("engine: {args: [--tensor-parallel-size, '2']}"),
    decided_by=Decider.PARSER,
)
WITHOUT_LOGITS = Rule(
    code="SD522",
    name="adaptive-verification-without-logits",
    severity=Severity.ERROR,
    title="Adaptive verification needs logits that use_local_argmax_reduction never gathers",
    why="Methods other than dspark estimate acceptance from them; the engine refuses to start.",
    source="SpeculativeConfig of vLLM 0.32",
    refused=_example(
        more=", use_local_argmax_reduction: true",
        drafter="name: d, method: eagle3, model: org/draft, numSpeculativeTokens: 4",
    ),
    passed=_example(more=", use_local_argmax_reduction: true"),
    decided_by=Decider.PARSER,
)
ON_HYBRID = Rule(
    code="SD523",
    name="adaptive-verification-on-hybrid-targets",
    severity=Severity.WARNING,
    title="Adaptive verification on a target that keeps state instead of a cache",
    why="The backends of such layers opt out of it, so no backend should run it; read in the source, not "
    "tried.",
    source="vLLM 0.33: attention backends of state-space layers",
    refused=_example(
        "model: Qwen/Qwen3.5-27B",
        drafter="name: d, method: mtp, numSpeculativeTokens: 4",
    ),
    passed=_example(
        "model: Qwen/Qwen3-8B", drafter="name: d, method: dspark, model: org/draft, numSpeculativeTokens: 7"
    ),
)
DSPARK_ALONE = Rule(
    code="SD524",
    name="adaptive-verification-of-dspark-alone",
    severity=Severity.ERROR,
    title="Up to 0.29 adaptive verification is for dspark alone",
    why="The engine refuses to start; from 0.30 on other drafters with a model have it by an estimate.",
    source="SpeculativeConfig of vLLM 0.28 to 0.30; pull request 52228",
    refused=_example("engine: {vllmVersion: '0.29.0'}", drafter=_E),
    passed=_example("engine: {vllmVersion: '0.30.0'}", drafter=_E),
    decided_by=Decider.PARSER,
)
_DSPARK_ALONE = between("0.28", "0.30")
_FLAGS: dict[str, str] = {
    "--enable-lora": "it does not work with LoRA",
    "--enable-return-routed-experts": "it does not work with --enable-return-routed-experts",
    "--return-sampling-mask": "it does not work with --return-sampling-mask",
    "--enable-batch-sharded-sampling": "it does not work with --enable-batch-sharded-sampling",
}


def _check_adaptive(candidate: Candidate) -> Iterator[Finding]:
    if not as_switch(candidate.options.get(KEY)):
        return
    setting, field = candidate.setting, f"{candidate.path}.options.{KEY}"
    for reason in (reason for flag, reason in _FLAGS.items() if is_on(setting, flag)):
        yield WITH_FLAG.at(field, reason, "remove one of the two")
    if not captures_whole_steps(setting):
        reason = f"it needs graphs of whole steps, the arguments ask for {cudagraph_mode(setting)}"
        yield WITH_FLAG.at(
            field, reason, "use cudagraph_mode FULL_AND_PIECEWISE, vLLM's default, or remove it"
        )
    if setting.parallel.pipeline > 1:
        yield WITH_PIPELINE.at(field, "vLLM refuses it with pipeline parallelism", "remove one of the two")
    if candidate.drafter.method != "dspark" and _DSPARK_ALONE.holds(setting.version):
        yield DSPARK_ALONE.at(field, f"vLLM {setting.version} has it for dspark alone", "remove it")
    argmax = as_switch(candidate.options.get("use_local_argmax_reduction"))
    if argmax and candidate.drafter.method != "dspark":
        reason = "it needs the logits that use_local_argmax_reduction never gathers"
        yield WITHOUT_LOGITS.at(field, reason, "remove one of the two")
    if setting.target is not None and setting.target.attention == "hybrid":
        yield ON_HYBRID.at(field, "no attention backend is known to run it on a hybrid target", "remove it")


RULES: tuple[Rule, ...] = (WITH_FLAG, WITH_PIPELINE, WITHOUT_LOGITS, ON_HYBRID, DSPARK_ALONE)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = ()
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (_check_adaptive,)
