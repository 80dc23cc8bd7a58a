"""Combinations that people have seen go wrong, as tables: what, when, until which release, what to do.

`rules.known` finds them in a spec, one code for each kind of effect; a new report is a new row in `backends`,
`heads`, `formats`, `targets` or `features`. What ended before the oldest release that SpecDeploy accepts has
no row and is named in `engine.not_checkable`. Numbers are issues and pull requests of vllm-project/vllm
where no other project is named.
"""

from .formats import OF_FLAVOURS
from .match import ABOUT_BACKENDS, KNOWN_BAD, of_drafter, of_spec
from .row import Effect, KnownBad

__all__ = [
    "ABOUT_BACKENDS",
    "KNOWN_BAD",
    "OF_FLAVOURS",
    "Effect",
    "KnownBad",
    "of_drafter",
    "of_spec",
]
