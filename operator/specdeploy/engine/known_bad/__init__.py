"""Combinations that people have seen go wrong, as tables: what, when, until which release, what to do.

`rules.known` finds them in a spec, one code for each kind of effect; a new report is a new row in `backends`,
`targets` or `features`. What ended before the oldest release that SpecDeploy accepts has no row: wrong
answers of ROCM_AITER_FA with EAGLE-3 (#31625, by #32877), AITER refusing more than one token (#28222, by
#30430), gpt-oss on one MI355X (#32895). Numbers are issues and pull requests of vllm-project/vllm where no
other project is named.
"""

from .match import KNOWN_BAD, of_drafter, of_spec
from .not_checkable import NOT_CHECKABLE
from .row import Effect, KnownBad

__all__ = ["KNOWN_BAD", "NOT_CHECKABLE", "Effect", "KnownBad", "of_drafter", "of_spec"]
