"""`lint -o sarif`: SARIF 2.1.0, as GitHub's code scanning and other CI systems take it. Pure."""

from collections.abc import Iterable
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from specdeploy.api.rule import Rule, Severity
from specdeploy.cli.reading import Located

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.ADVICE: "note"}


def log(found: Iterable[Located], rules: Iterable[Rule], version: str) -> dict[str, Any]:
    """The whole log, of one run of this tool. `version`: SpecDeploy's own."""
    known = list(rules)
    places = {rule.code: index for index, rule in enumerate(known)}
    driver = {
        "name": "specdeploy lint",
        "version": version,
        "rules": [_descriptor(rule) for rule in known],
    }
    results = [_result(each, places[each.finding.code]) for each in found]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _descriptor(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{rule.why} Source: {rule.source}", "markdown": _page(rule)},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _page(rule: Rule) -> str:
    """What a reader of code scanning opens beside a finding."""
    example = f"Found in\n\n```yaml\n{rule.refused.strip()}\n```\n" if rule.refused.strip() else ""
    return f"{rule.why}\n\n{example}\nSource: {rule.source}\n"


def _result(each: Located, place: int) -> dict[str, Any]:
    finding = each.finding
    field = f"{finding.field}: " if finding.field else ""
    return {
        "ruleId": finding.code,
        "ruleIndex": place,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{field}{finding.reason}; {finding.fix}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {
                        "uri": quote(PurePath(each.file).as_posix(), errors="surrogateescape")
                    },
                    "region": {"startLine": each.line, "startColumn": each.column},
                }
            }
        ],
    }
