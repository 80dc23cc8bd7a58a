"""How sure a rule of the tables can be: an error, a warning that names the doubt, or nothing."""

from specdeploy.api.rule import Rule, Severity
from specdeploy.engine.image import parse_image
from specdeploy.engine.parser import options
from specdeploy.engine.setting import Setting
from specdeploy.engine.versions import ALWAYS, LATELY, Span, beyond_tables, is_read_whole

DOUBTFUL = Rule(
    code="SD227",
    name="flag-doubtful",
    severity=Severity.WARNING,
    title="The vLLM that the rules know would refuse this argument or variable",
    why="Which vLLM is in the image is not known, or it is newer than the rules, or one whose source was not "
    "read for this, or the image is another maker's and may have flags of its own. If it is as the rules "
    "know it, the engine ends at once.",
    source="the argument parser in vLLM's released sources, 0.18 to 0.33",
    refused="engine: {image: 'registry.example/team/server:prod', args: [--max-model-length, '8192']}",
    passed="engine: {image: 'registry.example/team/server:prod', args: [--max-model-len, '8192']}",
)


def known(setting: Setting, rule: Rule) -> Rule:
    """`rule`, where the release is one that the tables know; else the doubt."""
    return rule if setting.version and not beyond_tables(setting.version) else DOUBTFUL


def read(setting: Setting, rule: Rule) -> Rule:
    """`rule`, where the release is one whose configuration was read whole; else the doubt."""
    return rule if is_read_whole(setting.version) else DOUBTFUL


def graded(setting: Setting, rule: Rule, span: Span = ALWAYS) -> Rule | None:
    """`rule` where `span` holds, the doubt where that is not known, None where it does not hold."""
    if span is LATELY and not is_read_whole(setting.version):
        return DOUBTFUL
    return known(setting, rule) if span.holds(setting.version) else None


def knows(setting: Setting, flag: str) -> bool:
    """Whether this release has the flag; that it has not is another rule's to tell."""
    return flag in options(setting.version)


def is_of_the_project(setting: Setting) -> bool:
    """Whether it is the vLLM project's own image or a mirror of it: others may have flags of their own."""
    return parse_image(setting.image).project.endswith("/vllm-openai-rocm")
