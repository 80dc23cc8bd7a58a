"""Rules on methods: what the image has, and what vLLM takes a drafter for. `checkpoints` has the rest."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.belonging import drafter_as_target
from specdeploy.engine.image import is_stock
from specdeploy.engine.methods import METHODS, MTP_ALIASES
from specdeploy.engine.options import FIELDS, PATH_METHODS
from specdeploy.engine.setting import Candidate, Setting

METHOD_TOO_YOUNG = Rule(
    code="SD301",
    name="method-too-young",
    severity=Severity.ERROR,
    title="The method came after the image's vLLM",
    why="An engine that does not know the method refuses to start.",
    source="SpeculativeConfig of vLLM 0.18 to 0.33",
    refused="""
engine: {vllmVersion: "0.24.0"}
drafters: [{name: d, method: dspark, model: org/draft, numSpeculativeTokens: 7}]
""",
    passed="""
engine: {vllmVersion: "0.25.0"}
drafters: [{name: d, method: dspark, model: org/draft, numSpeculativeTokens: 7}]
""",
    decided_by=Decider.PARSER,
)
METHOD_IN_SOME_BUILDS = Rule(
    code="SD302",
    name="method-in-some-builds",
    severity=Severity.WARNING,
    title="Only some development builds of this version have the method",
    why="0.23.1 was never released; what calls itself so may be from weeks before dspark or after it. "
    "Where it is missing the engine refuses to start.",
    source="AMD's measurements of 2026-08-20, made on vLLM 0.23.1rc1.dev1120",
    refused="""
engine: {vllmVersion: "0.23.1"}
drafters: [{name: d, method: dspark, model: org/draft, numSpeculativeTokens: 7}]
""",
    passed="""
engine: {vllmVersion: "0.25.0"}
drafters: [{name: d, method: dspark, model: org/draft, numSpeculativeTokens: 7}]
""",
)


def _check_release(candidate: Candidate) -> Iterator[Finding]:
    method, version = METHODS[candidate.drafter.method], candidate.setting.version
    if version is None or not method.span.is_ahead_of(version):
        return
    rule = METHOD_IN_SOME_BUILDS if version in method.builds else METHOD_TOO_YOUNG
    reason = f"{method.name} came with vLLM {method.span.since}, the image has {version}"
    yield rule.at(f"{candidate.path}.method", reason, "use a newer spec.engine.image or another method")


FIELD_TOO_YOUNG = Rule(
    code="SD303",
    name="backend-of-drafter-too-young",
    severity=Severity.ERROR,
    title="The image's vLLM gives drafters no attention backend of their own",
    why="vLLM refuses keys that it does not know, this one before 0.21.",
    source="SpeculativeConfig of vLLM 0.20.2 and 0.21.0",
    refused="""
engine: {vllmVersion: "0.20.2"}
drafters: [{name: d, method: eagle3, model: org/draft, numSpeculativeTokens: 4,
  attentionBackend: TRITON_ATTN}]
""",
    passed="""
engine: {vllmVersion: "0.21.0"}
drafters: [{name: d, method: eagle3, model: org/draft, numSpeculativeTokens: 4,
  attentionBackend: TRITON_ATTN}]
""",
    decided_by=Decider.PARSER,
)


def _check_backend_field(candidate: Candidate) -> Iterator[Finding]:
    field, version = FIELDS["attention_backend"], candidate.setting.version
    if candidate.drafter.attention_backend and field.span.is_ahead_of(version):
        reason = f"it came with vLLM {field.span.since}, the image has {version}"
        yield FIELD_TOO_YOUNG.at(f"{candidate.path}.{field.name}", reason, "remove it or use a newer image")


PACKAGE_MISSING = Rule(
    code="SD304",
    name="package-missing",
    severity=Severity.ERROR,
    title="The stock image lacks a package that the method imports",
    why="vLLM imports it when it reads its arguments and ends with an ImportError.",
    source="SpeculativeConfig of vLLM 0.33; requirements of vllm/vllm-openai-rocm",
    refused="""
drafters: [{name: d, method: suffix, numSpeculativeTokens: 16}]
""",
    passed="""
engine: {image: "registry.example/team/vllm:v0.33.0"}
drafters: [{name: d, method: suffix, numSpeculativeTokens: 16}]
""",
    decided_by=Decider.PARSER,
)


def _check_package(candidate: Candidate) -> Iterator[Finding]:
    method = METHODS[candidate.drafter.method]
    if method.package and is_stock(candidate.setting.image):
        reason = f"method {method.name} needs {method.package}, which the stock image does not have"
        fix = "use an image that has it (spec.engine.image)"
        yield PACKAGE_MISSING.at(f"{candidate.path}.method", reason, fix)


PATH_TRAP = Rule(
    code="SD308",
    name="path-changes-the-method",
    severity=Severity.ERROR,
    title="vLLM takes the checkpoint's path for the name of another method",
    why="Refused by policy: with draft_model and mtp vLLM looks for eagle-, eagle3, dflash and dspark in "
    "the path and changes the method; what would be measured is not what the drafter says.",
    source="SpeculativeConfig of vLLM 0.32, where it detects the method",
    refused="""
drafters: [{name: d, method: draft_model, model: /models/dflash-cache/small, numSpeculativeTokens: 4}]
""",
    passed="""
drafters: [{name: d, method: draft_model, model: /models/small, numSpeculativeTokens: 4}]
""",
    decided_by=Decider.POLICY,
)


def _check_path(candidate: Candidate) -> Iterator[Finding]:
    drafter = candidate.drafter
    if drafter.method not in ("draft_model", "mtp"):
        return
    path = (drafter.model or candidate.setting.spec.model).lower()
    taken = next((method for word, method in PATH_METHODS if word in path), None)
    if taken is not None:
        reason = f"by the path {path!r:.80} vLLM takes {drafter.method} for {taken}"
        field, fix = f"{candidate.path}.method", "serve the target from another path"
        if drafter.model:
            field = f"{candidate.path}.model"
            fix = f"use method {taken}, or serve the checkpoint from another path"
        yield PATH_TRAP.at(field, reason, fix)


MTP_TRAP = Rule(
    code="SD316",
    name="small-model-taken-for-mtp",
    severity=Severity.ERROR,
    title="vLLM takes the small model's own mtp layers and the method for mtp",
    why="Refused by policy: of a family with mtp layers vLLM reads those alone, whatever method is asked "
    "for. They are made for their own model's hidden states; on another the engine fails, or they draft what "
    "is not accepted.",
    source="SpeculativeConfig of vLLM 0.18 to 0.33: hf_config_override; its parser of 0.32 was asked",
    refused="""
model: Qwen/Qwen3.5-27B
drafters: [{name: d, method: draft_model, model: Qwen/Qwen3.5-4B, numSpeculativeTokens: 4}]
""",
    passed="""
model: Qwen/Qwen3-8B
drafters: [{name: d, method: draft_model, model: Qwen/Qwen3-4B, numSpeculativeTokens: 4}]
""",
    decided_by=Decider.POLICY,
)
# Families that have such layers in every model, by the name that vLLM gives them.
_MTP_FAMILIES = {
    "deepseek-v3": "deepseek_mtp",
    "ernie": "ernie_mtp",
    "glm": "glm4_moe_mtp",
    "hy3": "hy_v3_mtp",
    "qwen3-next": "qwen3_next_mtp",
    "qwen3.5": "qwen3_5_mtp",
    "qwen3.6": "qwen3_5_mtp",
    "qwen3.8": "qwen3_5_mtp",
    "step": "step3p5_mtp",
}


def _check_mtp_trap(candidate: Candidate) -> Iterator[Finding]:
    drafter, version = candidate.drafter, candidate.setting.version
    model = drafter_as_target(candidate) if drafter.method == "draft_model" else None
    layers = _MTP_FAMILIES.get(model.family) if model else None
    if model is not None and layers is not None and MTP_ALIASES[layers].holds(version):
        reason = f"of {model.model} vLLM takes the mtp layers alone, and draft_model for mtp"
        yield MTP_TRAP.at(f"{candidate.path}.model", reason, "name a model of a family without such layers")


TWIN = Rule(
    code="SD312",
    name="same-drafter-twice",
    severity=Severity.ERROR,
    title="Two drafters are one configuration",
    why="Refused by policy: a verdict belongs to the configuration, so the second would never be tried.",
    source="SpecDeploy's own: verdicts belong to a revision",
    refused="""
drafters:
  - {name: a, method: ngram, numSpeculativeTokens: 4}
  - {name: b, method: ngram, numSpeculativeTokens: 4}
""",
    passed="""
drafters:
  - {name: a, method: ngram, numSpeculativeTokens: 4}
  - {name: b, method: ngram, numSpeculativeTokens: 6}
""",
    decided_by=Decider.POLICY,
)


def _check_twin(candidate: Candidate) -> Iterator[Finding]:
    if candidate.same_as is not None:
        yield TWIN.at(candidate.path, f"same as {candidate.same_as}", "remove one of the two")


RULES: tuple[Rule, ...] = (
    METHOD_TOO_YOUNG,
    METHOD_IN_SOME_BUILDS,
    FIELD_TOO_YOUNG,
    PACKAGE_MISSING,
    PATH_TRAP,
    MTP_TRAP,
    TWIN,
)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = ()
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (
    _check_release,
    _check_backend_field,
    _check_package,
    _check_path,
    _check_mtp_trap,
    _check_twin,
)
