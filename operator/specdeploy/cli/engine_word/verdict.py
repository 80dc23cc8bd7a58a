"""Compares what an installed vLLM says of each arm of a spec with what the rules say: `lint --engine`.

The rules are asked as for the installed release, whatever the spec's image has: like is compared with like.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from specdeploy.api.rule import Decider, Finding, Severity
from specdeploy.api.spec import Drafter, Spec
from specdeploy.engine.arguments import serve_arguments
from specdeploy.engine.catalogue.entries import Target
from specdeploy.engine.checks import on_drafters, on_spec
from specdeploy.engine.rules import RULES
from specdeploy.engine.setting import Setting, setting_of
from specdeploy.engine.versions import parse_version

from .asking import Answer, EngineWord
from .rules import ENGINE_ACCEPTS, ENGINE_REFUSES, NOT_ASKED, OTHER_VERSION

WORDS = 300

# Codes of the rules on what vLLM's own validation decides. It knows nothing of the rest: the pod, the image,
# the hardware and its kernels, memory. The first two do not say it of themselves yet.
DECIDED = frozenset(("SD601", "SD811", *(rule.code for rule in RULES if rule.decided_by is Decider.PARSER)))
# Errors that it does not see all the same, and why: the code, the end of the field, the reason.
UNSEEN: tuple[tuple[str, str, str], ...] = (
    ("SD304", "", "the packages of the image are not those of the engine that is asked"),
    (
        "SD403",
        "num_speculative_tokens_per_batch_size",
        "the scheduler reads the rows as it starts",
    ),
    ("SD425", "", "the runner refuses it as it loads the drafter"),
    ("SD507", "", "the runner refuses it as it starts"),
    ("SD531", "", "a CPU build turns --async-scheduling off, which the V1 runner refuses in a pipeline"),
)


@dataclass(frozen=True)
class Arm:
    """One arm: where it stands in the spec, its method, and the errors that the rules find in it."""

    field: str
    method: str
    errors: tuple[Finding, ...]


def findings_of(spec: Spec, engine: EngineWord, extra: tuple[Target, ...] = ()) -> tuple[Finding, ...]:
    """What the engine's own word adds to the rules' findings on `spec`. `extra`: beside the catalogue.

    Raises:
        EngineWordError: the engine could not be asked at all.
    """
    declared = setting_of(spec, extra=extra)
    setting = replace(declared, version=parse_version(engine.version()))
    found = [*_on_version(declared, setting, engine), *_on_arm(_baseline(setting), setting, None, engine)]
    if any(finding.code != OTHER_VERSION.code for finding in found):
        return tuple(found)  # every other arm would say the same
    return (*found, *_on_drafters(setting, engine))


def _on_version(declared: Setting, setting: Setting, engine: EngineWord) -> Iterator[Finding]:
    named, installed = declared.version, setting.version
    if named is None or installed is None or named[:2] == installed[:2]:
        return
    field = "spec.engine.vllmVersion" if declared.spec.engine.vllm_version else "spec.engine.image"
    reason = f"it stands for vLLM {named}, the one that was asked is {engine.version()}"
    yield OTHER_VERSION.at(field, reason, "name a Python with that release (--engine-python)")


def _baseline(setting: Setting) -> Arm:
    return Arm("spec.engine.args", "", _errors(on_spec(setting)))


def _on_drafters(setting: Setting, engine: EngineWord) -> Iterator[Finding]:
    found = on_drafters(setting)
    for index, drafter in enumerate(setting.spec.drafters or []):
        arm = Arm(f"spec.drafters[{index}]", drafter.method, _errors(found.get(drafter.name, ())))
        yield from _on_arm(arm, setting, drafter, engine)


def ask(engine: EngineWord, setting: Setting, drafter: Drafter | None) -> Answer:
    """What the engine says to one arm: its words, the variables that the spec writes out, its kind of GPU."""
    written = {each.name: each.value for each in setting.spec.engine.env or [] if each.value is not None}
    return engine.accepts(serve_arguments(setting.spec, drafter), written, setting.device_gib)


def _on_arm(arm: Arm, setting: Setting, drafter: Drafter | None, engine: EngineWord) -> Iterator[Finding]:
    answer = ask(engine, setting, drafter)
    said = f"vLLM {engine.version()}"
    if answer.unasked:
        fix = "give a folder with <org>/<name>/config.json (--models)"
        yield NOT_ASKED.at(arm.field, f"{said} could not be asked: {answer.unasked}", fix)
    elif (words := refusal(answer, arm.method)) and not arm.errors:
        yield ENGINE_REFUSES.at(arm.field, f"{said} refuses it: {words}", "change what it names")
    elif not words:
        for error in filter(is_decided, arm.errors):
            reason = f"{said} accepts it, {error.code} does not: {error.reason}"
            yield ENGINE_ACCEPTS.at(error.field, reason, "report it as a bug of SpecDeploy or of vLLM")


def refusal(answer: Answer, method: str) -> str:
    """Why an engine would not serve as asked, in vLLM's own words and short; empty when it would.

    `method`: of speculation, as asked for. That vLLM makes another one of it is a refusal of what was asked.
    """
    if not answer.ok:
        return in_short(answer.error)
    return "" if answer.method == method else f"it takes {method} for {answer.method or 'no speculation'}"


def in_short(error: str) -> str:
    """vLLM's text without pydantic's frame around it, on one line."""
    text = re.sub(r"^\d+ validation errors? for \w+\s*", "", error.strip())
    text = re.sub(r"\s*\[type=.*?, input_value=.*?, input_type=.*?\]", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*For further information visit \S+", "", text)
    text = " ".join(text.removeprefix("Value error, ").split()).rstrip(".")
    return text if len(text) <= WORDS else f"{text[: WORDS - 3]}..."


def is_decided(error: Finding) -> bool:
    """Whether vLLM's validation would know of this error: then its acceptance contradicts the rule."""
    unseen = any(error.code == code and error.field.endswith(end) for code, end, _ in UNSEEN)
    return error.code in DECIDED and not unseen


def policy() -> frozenset[str]:
    """Codes of the rules that refuse by policy what an engine would take."""
    return frozenset(rule.code for rule in RULES if rule.decided_by is Decider.POLICY)


def _errors(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    return tuple(finding for finding in findings if finding.severity is Severity.ERROR)
