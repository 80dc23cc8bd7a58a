"""Versions of vLLM, and the span of releases in which something holds. Tables by version are made of these.

A new release of vLLM is a change of data: `NEWEST` here, and rows in the tables.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

# The patch of a version that names none: the newest of its minor release.
_ANY_PATCH = 999


class Version(NamedTuple):
    """A release, told apart by its three numbers: 0.23.1rc1.dev1120 counts as 0.23.1."""

    major: int
    minor: int
    patch: int = 0

    @property
    def is_exact(self) -> bool:
        """Whether its text named the patch."""
        return self.patch != _ANY_PATCH

    def __str__(self) -> str:
        patch = f".{self.patch}" if self.is_exact and self.patch else ""
        return f"{self.major}.{self.minor}{patch}"


# `--shutdown-timeout`, without which a rollout would cut running requests.
OLDEST = Version(0, 18)
# The newest release that the tables know. On a newer one, what they don't know may be right.
NEWEST = Version(0, 33)

# Minor releases whose configuration was read whole for the tables of keys, words and bounds. What differs
# between two of them came or went with them, or with a release between.
READ_WHOLE = frozenset(((0, 18), (0, 32), (0, 33)))

_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?:\D|$)")


def parse_version(text: str) -> Version | None:
    """`0.33.0`, `v0.27`, `0.23.1rc1.dev1120+g0f0f28b53`; None where no version begins the text."""
    found = _VERSION.match(text)
    if found is None:
        return None
    major, minor, patch = found.groups()
    return Version(int(major), int(minor), int(patch) if patch is not None else _ANY_PATCH)


@dataclass(frozen=True)
class Span:
    """The releases in which something holds: from `since` on, and before `until`; None: no bound is known.

    `now`: what it is called from `until` on, where it was renamed.
    """

    since: Version | None = None
    until: Version | None = None
    now: str = ""

    def holds(self, version: Version | None) -> bool:
        """Whether it holds in `version`; of an unknown one, whether it holds in the newest that is known."""
        version = version or NEWEST
        return not self.is_ahead_of(version) and not self.is_over_in(version)

    def is_ahead_of(self, version: Version | None) -> bool:
        """Whether `version` is older than all of it."""
        return self.since is not None and (version or NEWEST) < self.since

    def is_over_in(self, version: Version | None) -> bool:
        """Whether `version` is newer than all of it."""
        return self.until is not None and (version or NEWEST) >= self.until


ALWAYS = Span()


def since(text: str) -> Span:
    """From this release on: `since("0.26")`."""
    return between(text, None)


@cache
def between(first: str | None, until: str | None, now: str = "") -> Span:
    """From `first` on and before `until`: `between("0.29", "0.31")`.

    Raises:
        ValueError: one of them is no version.
    """
    return Span(_bound(first), _bound(until), now)


def _bound(text: str | None) -> Version | None:
    if text is None:
        return None
    found = parse_version(text)
    if found is None:
        raise ValueError(f"{text!r} is no version")
    return found if found.is_exact else found._replace(patch=0)


# Since 0.32 or a release after 0.18, which was not looked for.
LATELY = since("0.32")


def beyond_tables(version: Version | None) -> bool:
    """Whether it is a minor release newer than the tables: what they don't know may be right there."""
    return version is not None and version[:2] > NEWEST[:2]


def is_read_whole(version: Version | None) -> bool:
    """Whether it is a release whose configuration was read whole."""
    return version is not None and version[:2] in READ_WHOLE


def timeline(oldest: str, added: Mapping[str, str], gone: Mapping[str, str]) -> dict[str, Span]:
    """When each name held: `oldest`, names that were there from the start; by release, those that it brought
    and those that it no longer had. Names are words, apart by white space."""
    first = {name: release for release, names in added.items() for name in names.split()}
    until = {name: release for release, names in gone.items() for name in names.split()}
    return {name: between(first.get(name), until.get(name)) for name in (*oldest.split(), *first)}


def words(text: str) -> frozenset[str]:
    """The words of a table's cell, apart by white space."""
    return frozenset(text.split())
