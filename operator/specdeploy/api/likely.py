"""What was probably meant by a value that is refused, and what to write. Words for `admission`."""

from collections.abc import Iterable

# Patterns of the schema -> what a value is, and one that is right. A test finds those that are missing.
FORMS: dict[str, tuple[str, str]] = {
    r"^[^\s-].*$": ("one line that begins with neither a blank nor a dash", "take away what is before it"),
    r"^\S+$": ("without blanks", "take the blanks away"),
    r"^/": ("an absolute path", "begin it with /"),
    r"^[^/\s]+/[^/\s]+$": ("a domain, / and a name", "write one such as amd.com/gpu"),
    r"^[0-9]+\.[0-9]+(\.[0-9]+)?\S*$": ("a version", "write one such as 0.33.0"),
    r"^[A-Za-z_][A-Za-z0-9_]*$": (
        "letters, digits and _, and no digit first",
        "write one such as VLLM_LOGGING_LEVEL",
    ),
    r"^[0-9]+(\.[0-9]+)?(k|[MGTPE]|[KMGTPE]i)?$": (
        "a number of bytes with its unit",
        "write one such as 200Gi",
    ),
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$": (
        "lower-case letters, digits and dashes, with no dash at either end",
        "write one such as eagle3-7",
    ),
}


def field(name: str, known: Iterable[str]) -> str:
    """What to do about a field that is not among the `known`."""
    near = _nearest(name, known)
    return f"did you mean {near}?" if near else "remove it"


def value(text: str, known: Iterable[str]) -> str:
    """What to do about a value that is not among the `known`."""
    listed = ", ".join(known)
    near = _nearest(text, known)
    return f"did you mean {near}? Its values are {listed}" if near else f"use one of {listed}"


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """The known word that is most like it; capitals and signs are often wrong."""
    from difflib import get_close_matches  # noqa: PLC0415  (only for what is wrong)

    plain = {_plain(each): each for each in known}
    close = get_close_matches(_plain(name[:64]), plain, n=1)
    return plain[close[0]] if close else None


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
