"""What `lint` answers: lines for people, data for programs. Pure; colour is for the caller to allow."""

from collections.abc import Iterable
from typing import Any

from specdeploy.api.rule import Rule, Severity
from specdeploy.cli.checking import Report
from specdeploy.cli.reading import Located

_COLOURS = {Severity.ERROR: "\033[31m", Severity.WARNING: "\033[33m", Severity.ADVICE: "\033[36m"}
_BOLD, _PLAIN = "\033[1m", "\033[0m"


def line(each: Located, *, colour: bool = False) -> str:
    """`file:line:column: error SD310 field: reason; fix`, as editors and CI systems read it."""
    finding = each.finding
    place, severity = (
        printable(f"{each.file}:{each.line}:{each.column}:"),
        f"{finding.severity} {finding.code}",
    )
    if colour:
        place = f"{_BOLD}{place}{_PLAIN}"
        severity = f"{_COLOURS[finding.severity]}{severity}{_PLAIN}"
    field = f"{finding.field}: " if finding.field else ""
    return f"{place} {severity} {printable(f'{field}{finding.reason}; {finding.fix}')}"


def printable(text: str) -> str:
    """One line that no terminal takes for a command, whatever was in the file."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def summary(report: Report) -> str:
    """The closing line."""
    counts = [
        _counted(report.count(Severity.ERROR), "error"),
        _counted(report.count(Severity.WARNING), "warning"),
        f"{report.count(Severity.ADVICE)} advice",
    ]
    skipped = f", {_counted(report.others, 'other document')} skipped" if report.others else ""
    versions = ", ".join(
        words if times == 1 or len(report.versions) == 1 else f"{words} x {times}"
        for words, times in report.versions.items()
    )
    checked = f"; checked for vLLM {versions}" if versions else ""
    unchecked = (
        f"; {report.unchecked} not checked for vLLM: correct what is wrong" if report.unchecked else ""
    )
    seen = f"{_counted(report.files, 'file')}, {_counted(report.objects, 'SpecDeployment')}{skipped}"
    return f"{seen}: {', '.join(counts)}{checked}{unchecked}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def as_dicts(shown: Iterable[Located], rules: dict[str, Rule]) -> list[dict[str, Any]]:
    """One object a finding, in the order of the lines."""
    return [_as_dict(each, rules) for each in shown]


def _as_dict(each: Located, rules: dict[str, Rule]) -> dict[str, Any]:
    finding = each.finding
    return {
        "file": each.file,
        "line": each.line,
        "column": each.column,
        "document": each.document,
        "code": finding.code,
        "rule": rules[finding.code].name,
        "severity": finding.severity.value,
        "field": finding.field,
        "reason": finding.reason,
        "fix": finding.fix,
    }
