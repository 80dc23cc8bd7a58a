"""Rules on vLLM's two model runners: what keeps a drafter from the one that it would get."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine import runner
from specdeploy.engine.methods import Runner
from specdeploy.engine.setting import Candidate, Setting

_PEAGLE = (
    "drafters: [{name: d, method: eagle3, model: org/draft, numSpeculativeTokens: 7, "
    "options: {parallel_drafting: true}}]"
)
_DSPARK = "drafters: [{name: d, method: dspark, model: org/draft, numSpeculativeTokens: 7}]"


def _env(value: str) -> str:
    return f"engine: {{env: [{{name: {runner.VARIABLE}, value: '{value}'}}]}}\n"


V2_FORCED = Rule(
    code="SD530",
    name="runner-v2-forced",
    severity=Severity.ERROR,
    title="The V2 runner is forced, and lacks what the drafter needs",
    why="Left alone vLLM would fall back to V1; forced, the engine refuses to start.",
    source="VllmConfig of vLLM 0.29 to 0.33",
    refused=_env("1") + _PEAGLE,
    passed=_env("1") + _DSPARK,
    decided_by=Decider.PARSER,
)
V1_LACKS = Rule(
    code="SD531",
    name="runner-v1-lacks-it",
    severity=Severity.ERROR,
    title="An arm gets the V1 runner, which lacks what it needs",
    why="Variables, micro-batches, another option of the drafter, or on ROCm DeepSeek-V3.2 and V4 in 0.29 "
    "and 0.30, GLM-5 in 0.30, lead to V1; the engine refuses to start.",
    source="VllmConfig of vLLM 0.29 to 0.33",
    refused=_env("0") + _DSPARK,
    passed=_env("0") + _PEAGLE,
    decided_by=Decider.PARSER,
)
OTHER_RUNNER = Rule(
    code="SD532",
    name="runner-differs-from-the-baseline",
    severity=Severity.ADVICE,
    title="The drafter and the baseline run on different model runners",
    why="A trial then compares two runners along with the drafter. That is what users would get, so it "
    "counts; but a loss may be the runner's, and V1 is no longer developed.",
    source="VllmConfig of vLLM 0.29 to 0.33",
    refused=_PEAGLE,
    passed=_env("0") + _PEAGLE,
)


def _check_runner(candidate: Candidate) -> Iterator[Finding]:
    if not runner.V2_DEFAULT.holds(candidate.setting.version):
        return
    refused = tuple(_refused(candidate))
    yield from refused
    own, others = runner.runner_of(candidate), runner.runner_of_baseline(candidate.setting)
    if not refused and own is not others:
        needs = runner.beyond_v2(candidate) if own is Runner.V1 else runner.beyond_v1(candidate)
        reason = f"{needs[0]} needs the {own} model runner, the baseline runs on {others}"
        yield OTHER_RUNNER.at(candidate.path, reason, "know it when you read the verdict")


def _refused(candidate: Candidate) -> Iterator[Finding]:
    """What the runner that it gets can't run."""
    setting, which = candidate.setting, runner.runner_of(candidate)
    if which is Runner.V1:
        told = runner.refused_by_v1_in_baseline(setting) if _baseline_is_on_v1(setting) else ()
        lacking = tuple(what for what in runner.refused_by_v1(candidate) if what not in told)
        rule, fix = V1_LACKS, _remedy(candidate)
    else:
        split = runner.microbatches(setting)
        rule, fix = V2_FORCED, f"remove {runner.forced_by(setting)}"
        lacking = (*runner.beyond_v2(candidate), *((split,) if split else ()))
    for what in lacking:
        yield rule.at(candidate.path, f"the {which} model runner can't run {what}", fix)


def _baseline_is_on_v1(setting: Setting) -> bool:
    return runner.runner_of_baseline(setting) is Runner.V1


def _check_baseline(setting: Setting) -> Iterator[Finding]:
    """What every arm uses, where the one without a drafter gets V1."""
    if not runner.V2_DEFAULT.holds(setting.version) or not _baseline_is_on_v1(setting):
        return
    cause = runner.forced_by(setting) if runner.forced(setting) else runner.microbatches(setting)
    field = "spec.engine.env" if runner.forced(setting) else "spec.engine.args"
    for what in runner.refused_by_v1_in_baseline(setting):
        fix = f"remove {cause}" if cause else f"set {runner.VARIABLE} to 1 in spec.engine.env"
        yield V1_LACKS.at(field, f"the {Runner.V1} model runner can't run {what}", fix)


def _remedy(candidate: Candidate) -> str:
    """How to get away from what leads this drafter to V1."""
    setting, causes = candidate.setting, runner.beyond_v2(candidate)
    if runner.forced(setting) is Runner.V1:
        return f"remove {runner.forced_by(setting)}"
    if causes:
        return f"remove {causes[0]}"
    split = runner.microbatches(setting)
    return f"remove {split}" if split else f"set {runner.VARIABLE} to 1 in spec.engine.env, for every arm"


RULES: tuple[Rule, ...] = (V2_FORCED, V1_LACKS, OTHER_RUNNER)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (_check_baseline,)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (_check_runner,)
