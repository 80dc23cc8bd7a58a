"""How sure it is that a release lacks what a table says came later.

The tables (`methods`, `options`) give the first release in which a thing was *seen*. Not every release was
looked at, so one between the last that lacked it and that first one may have it: no reason to refuse.
"""

from enum import StrEnum

from .versions import Span, Version

# The minor releases of vLLM whose source the tables were read from.
LOOKED_AT: tuple[Version, ...] = tuple(Version(0, minor) for minor in (20, 22, 24, *range(26, 34)))


class Missing(StrEnum):
    """SURELY: a release as old as this one was looked at, and lacks it. PERHAPS: nobody looked."""

    SURELY = "surely"
    PERHAPS = "perhaps"


def missing(span: Span, version: Version | None, seen: Version | None = None) -> Missing | None:
    """Whether `version` is too old for what holds in `span`; None: it is not, or it is unknown.

    `seen`: an older build that is known to have had it, such as a development build that somebody measured.
    """
    if version is None or span.since is None or not span.is_ahead_of(version):
        return None
    return Missing.PERHAPS if version >= (seen or _first_unsure(span.since)) else Missing.SURELY


def _first_unsure(since: Version) -> Version:
    """The first release that nobody looked at before `since`."""
    before = [release for release in LOOKED_AT if release < since]
    return before[-1]._replace(minor=before[-1].minor + 1) if before else Version(0, 0)
