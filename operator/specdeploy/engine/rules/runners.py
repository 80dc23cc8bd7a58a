"""Rules on vLLM's two model runners: what keeps a drafter from the one that it would get."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule, Severity
from specdeploy.engine import runner
from specdeploy.engine.methods import Runner
from specdeploy.engine.serving import is_on
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
)
V1_LACKS = Rule(
    code="SD531",
    name="runner-v1-lacks-it",
    severity=Severity.ERROR,
    title="The drafter gets the V1 runner, which lacks what it needs",
    why="Variables, --enable-dbo, another option of the drafter, or on ROCm DeepSeek-V4 from 0.29 to 0.31 "
    "lead to "
    "V1; the engine refuses to start.",
    source="VllmConfig of vLLM 0.29 to 0.33",
    refused=_env("0") + _DSPARK,
    passed=_env("0") + _PEAGLE,
)
OTHER_RUNNER = Rule(
    code="SD532",
    name="runner-differs-from-the-baseline",
    severity=Severity.ADVICE,
    title="The drafter runs on the V1 runner, the baseline on V2",
    why="A trial then compares two runners along with the drafter. That is what users would get, so it "
    "counts; "
    "but a loss may be the runner's, and V1 is no longer developed.",
    source="VllmConfig of vLLM 0.29 to 0.33",
    refused=_PEAGLE,
    passed=_env("0") + _PEAGLE,
)


def _check_runner(candidate: Candidate) -> Iterator[Finding]:
    setting = candidate.setting
    if not runner.V2_DEFAULT.holds(setting.version):
        return
    choice = runner.forced(setting)
    needs_v1, needs_v2 = runner.beyond_v2(candidate), runner.beyond_v1(candidate)
    if choice is Runner.V2:
        dbo = ("--enable-dbo",) if is_on(setting, "--enable-dbo") else ()
        yield from _refused(
            candidate, V2_FORCED, (*needs_v1, *dbo), f"remove {runner.VARIABLE} from spec.engine.env"
        )
    elif runner.runner_of(candidate) is Runner.V1:
        yield from _refused(candidate, V1_LACKS, needs_v2, _remedy(candidate))
    baseline_too = is_on(setting, "--enable-dbo") or runner.stays_on_v1(setting)
    if choice is None and needs_v1 and not needs_v2 and not baseline_too:
        reason = f"{needs_v1[0]} needs the V1 model runner, the baseline runs on V2"
        yield OTHER_RUNNER.at(candidate.path, reason, "know it when you read the verdict")


def _refused(candidate: Candidate, rule: Rule, lacking: tuple[str, ...], fix: str) -> Iterator[Finding]:
    which = Runner.V2 if rule is V2_FORCED else Runner.V1
    for what in lacking:
        yield rule.at(candidate.path, f"the {which} model runner can't run {what}", fix)


def _remedy(candidate: Candidate) -> str:
    """How to get away from what leads this drafter to V1."""
    if runner.forced(candidate.setting) is Runner.V1:
        return f"remove {runner.VARIABLE} from spec.engine.env"
    causes = runner.beyond_v2(candidate)
    if causes:
        return f"remove {causes[0]}"
    on_v1 = runner.stays_on_v1(candidate.setting)
    return f"set {runner.VARIABLE} to 1 in spec.engine.env, for every arm" if on_v1 else "remove --enable-dbo"


RULES: tuple[Rule, ...] = (V2_FORCED, V1_LACKS, OTHER_RUNNER)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = ()
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (_check_runner,)
