"""Rules on options."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule
from specdeploy.engine.setting import Candidate, Setting

RULES: tuple[Rule, ...] = ()
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = ()
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = ()
