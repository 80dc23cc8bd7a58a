"""The rules by which `checks` finds what is wrong: a module for each concern, each an ordered list of checks.

A check is a small function that looks at a `Setting` or a `Candidate` and yields findings of its `Rule`s.
Codes by concern: SD0xx the file, SD1xx arguments, environment and pod, SD2xx versions, SD3xx methods and
checkpoints, SD4xx options, SD5xx combinations, SD6xx hardware, SD7xx memory, SD8xx the catalogue, SD9xx
the engine's own word.
"""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule
from specdeploy.engine.setting import Candidate, Setting

from . import (
    advice,
    arguments,
    belonging,
    bounds,
    catalogue,
    checkpoints,
    choices,
    combinations,
    drafting,
    environment,
    experts,
    flags,
    hardware,
    hybrid,
    keys,
    limits,
    memory,
    methods,
    needs,
    options,
    pod,
    ranks,
    rejection,
    replayssm,
    room,
    runners,
    schedule,
    serving,
    shapes,
    spec,
    support,
    targets,
    unknown,
    variables,
    verification,
    versions,
    vocabulary,
    words,
)

_MODULES = (
    versions,
    spec,
    arguments,
    flags,
    keys,
    bounds,
    choices,
    needs,
    limits,
    serving,
    ranks,
    environment,
    variables,
    pod,
    methods,
    checkpoints,
    vocabulary,
    options,
    words,
    rejection,
    schedule,
    drafting,
    combinations,
    replayssm,
    experts,
    room,
    verification,
    runners,
    hardware,
    support,
    targets,
    memory,
    hybrid,
    shapes,
    belonging,
    catalogue,
    advice,
    unknown,
)

RULES: tuple[Rule, ...] = tuple(rule for module in _MODULES for rule in module.RULES)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = tuple(
    check for module in _MODULES for check in module.SPEC_CHECKS
)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = tuple(
    check for module in _MODULES for check in module.DRAFTER_CHECKS
)

__all__ = ["DRAFTER_CHECKS", "RULES", "SPEC_CHECKS"]
