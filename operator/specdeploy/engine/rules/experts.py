"""A rule on balancing experts over the GPUs (--enable-eplb) beside a drafter that has experts itself."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.serving import is_on
from specdeploy.engine.setting import Candidate, Setting

ELASTIC = Rule(
    code="SD513",
    name="elastic-experts-and-a-drafter-with-experts",
    severity=Severity.ERROR,
    title="--enable-elastic-ep with a drafter that has experts itself",
    why="The layers that mtp drafts with have experts where the target's have. vLLM adds them to those that "
    "it balances, and ends as it loads them where the number of GPUs may change.",
    source="vLLM 0.18 to 0.33: what loads the drafter, in both model runners",
    refused="""
model: Qwen/Qwen3.5-122B-A10B
accelerator: {type: MI325X, count: 4}
engine:
  args: [-tp, '1', -dp, '4', --enable-expert-parallel, --enable-eplb, --enable-elastic-ep]
drafters: [{name: d, method: mtp, numSpeculativeTokens: 4}]
""",
    passed="""
model: Qwen/Qwen3.5-122B-A10B
accelerator: {type: MI325X, count: 4}
engine: {args: [-tp, '4', --enable-expert-parallel, --enable-eplb]}
drafters: [{name: d, method: mtp, numSpeculativeTokens: 4}]
""",
    decided_by=Decider.LATER,
)
_BALANCED, _ELASTIC = "--enable-eplb", "--enable-elastic-ep"
# Families whose mtp layers vLLM balances in every release, where the target has experts.
_BALANCED_MTP = ("deepseek-v3", "glm", "qwen3-next", "qwen3.5", "qwen3.6", "qwen3.8")


def _check_experts(candidate: Candidate) -> Iterator[Finding]:
    setting, target = candidate.setting, candidate.setting.as_published
    if target is None or not target.experts or not is_on(setting, _BALANCED):
        return
    mtp = candidate.drafter.method == "mtp" and target.family in _BALANCED_MTP
    if mtp and is_on(setting, _ELASTIC):
        reason = f"the mtp layers of {target.model} have experts, which {_ELASTIC} does not go with"
        yield ELASTIC.at(candidate.path, reason, f"remove {_ELASTIC}, or the drafter")


RULES: tuple[Rule, ...] = (ELASTIC,)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = ()
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (_check_experts,)
