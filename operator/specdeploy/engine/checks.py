"""Everything that can be found wrong with a spec without a cluster; the reconciler and the CLI ask here.

An error on the spec makes it `InvalidSpec`; one on a drafter makes only that drafter `Invalid`. What is no
error is for `lint`. The rules are in `rules`; what they look at is gathered by `setting`.
"""

from specdeploy.api.rule import Finding, errors
from specdeploy.api.spec import Spec

from .catalogue.entries import Target
from .rules import DRAFTER_CHECKS, SPEC_CHECKS
from .setting import Setting, candidates_of, setting_of
from .versions import Version


def check_spec(
    spec: Spec, image: str | None = None, version: Version | None = None, extra: tuple[Target, ...] = ()
) -> tuple[Finding, ...]:
    """What keeps the spec as a whole from serving; empty when it can.

    `image`: the pinned one, if any. `version`: vLLM's, as an engine in this image has told it. `extra`: a
    user's own entries of the catalogue.
    """
    return errors(on_spec(setting_of(spec, image=image, version=version, extra=extra)))


def check_drafters(
    spec: Spec, image: str | None = None, version: Version | None = None, extra: tuple[Target, ...] = ()
) -> dict[str, tuple[Finding, ...]]:
    """What keeps each drafter that can't run from it, by its name. The rest as for `check_spec`."""
    setting = setting_of(spec, image=image, version=version, extra=extra)
    wrong = {name: errors(findings) for name, findings in on_drafters(setting).items()}
    return {name: findings for name, findings in wrong.items() if findings}


def on_spec(setting: Setting) -> tuple[Finding, ...]:
    """All findings on the spec as a whole, of every severity."""
    return tuple(finding for check in SPEC_CHECKS for finding in check(setting))


def on_drafters(setting: Setting) -> dict[str, tuple[Finding, ...]]:
    """All findings on each drafter in which there are any, by its name."""
    found = {
        candidate.drafter.name: tuple(finding for check in DRAFTER_CHECKS for finding in check(candidate))
        for candidate in candidates_of(setting)
    }
    return {name: findings for name, findings in found.items() if findings}
