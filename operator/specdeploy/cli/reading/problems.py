"""What makes a file unreadable as a whole, in plain words and with its place."""

import re
from dataclasses import dataclass
from itertools import islice

import yaml

from specdeploy.api.rule import Rule

from .rules import NOT_YAML, TAB, TEMPLATE, TOO_DEEP, UNCLOSED


@dataclass(eq=False)
class Broken(Exception):  # noqa: N818  (it is what the file is)
    """The rest of a file can't be read. Line and column are counted from 1."""

    rule: Rule
    line: int
    column: int
    reason: str
    fix: str
    field: str = ""


FILLED_IN = "check what it becomes: helm template . | specdeploy lint -"

# What libyaml says -> what is wrong, and what to do.
_WORDS: tuple[tuple[str, str, str], ...] = (
    (
        "mapping values are not allowed",
        "a ':' that can't stand here",
        "correct the indentation, or quote text that holds ': '",
    ),
    ("expected key", "this line does not fit the indentation of those before it", "align it with them"),
    ("expected '-' indicator", "this line does not fit the list before it", "align it with the other '-'"),
    ("could not find expected ':'", "a key without ':'", "add ': ' and a value, or correct the indentation"),
    ("document start", "text after the end of a document", "correct the indentation, or begin it with ---"),
    ("cannot start any token", "a character that no value can begin with", "quote the value"),
    (
        "expected node content",
        "a value is missing before this",
        "write it, or close what is open",
    ),
    (
        "character escape code",
        "an escape that is no character",
        "write the character itself",
    ),
    (
        "unknown escape",
        "an escape that double quotes do not know",
        "double the \\, or use single quotes",
    ),
)
_OPENED = re.compile(r"expected ',' or '(.)'")
_ACTION = re.compile(
    r"^[ \t]*\{\{-?[ \t]*(?:/\*|(?:if|else|end|with|range|define|include|template)\b)", re.MULTILINE
)
_LEADING_TAB = re.compile(r"[ ]*\t")


def in_plain_words(error: yaml.YAMLError, text: str) -> Broken:
    """What the parser says, so that its reader need not know how a parser works."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return _unreadable(text)
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    return (
        _of_template(line, text)
        or _of_tab(line, text)
        or _of_what_opens(error, line)
        or _of_words(error.problem or "", line, column)
    )


def template(line: int, column: int) -> Broken:
    """What stands there waits to be filled in."""
    return Broken(TEMPLATE, line, column, "a Helm template, which is not filled in", FILLED_IN)


def _of_template(line: int, text: str) -> Broken | None:
    """Whether the line, or an action of Helm's anywhere, tells why it is no YAML."""
    if "{{" not in text:
        return None
    column = _line(line, text).find("{{") + 1
    if column:
        return template(line, column)
    action = _ACTION.search(text)
    return template(text.count("\n", 0, action.end()) + 1, 1) if action else None


def _line(line: int, text: str) -> str:
    return next(islice(text.splitlines(), line - 1, None), "")


def _of_tab(line: int, text: str) -> Broken | None:
    tab = _LEADING_TAB.match(_line(line, text))
    return Broken(TAB, line, tab.end(), "a tab; YAML is indented with spaces", "use spaces") if tab else None


def _of_what_opens(error: yaml.MarkedYAMLError, line: int) -> Broken | None:
    """A quote or a bracket that has no end: what is to be corrected is where it opens."""
    opened, problem = error.context_mark, error.problem or ""
    if opened is None:
        return None
    if "quoted scalar" in (error.context or "") and "end of stream" in problem:
        return Broken(UNCLOSED, opened.line + 1, opened.column + 1, "this quote is not closed", "close it")
    if wanted := _OPENED.search(problem):
        fix = f"add ',' or '{wanted[1]}' before the text in line {line}"
        return Broken(UNCLOSED, opened.line + 1, opened.column + 1, "this bracket is not closed", fix)
    return None


def _of_words(problem: str, line: int, column: int) -> Broken:
    if "nesting depth" in problem:
        return Broken(TOO_DEEP, line, column, "is nested far too deep", "make it flatter")
    for said, reason, fix in _WORDS:
        if said in problem:
            return Broken(NOT_YAML, line, column, reason, fix)
    return Broken(NOT_YAML, line, column, problem or "is no YAML", "correct it")


def _unreadable(text: str) -> Broken:
    """A character that YAML does not allow at all."""
    found = re.search(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)
    if found is None:
        return Broken(NOT_YAML, 1, 1, "is no YAML", "correct it")
    before = text[: found.start()]
    line, column = before.count("\n") + 1, found.start() - (before.rfind("\n") + 1) + 1
    reason = f"the control character U+{ord(found[0]):04X}, which YAML does not allow"
    return Broken(NOT_YAML, line, column, reason, "remove it, or escape it in double quotes")
