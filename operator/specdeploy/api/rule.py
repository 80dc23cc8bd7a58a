"""Rules and findings: what can be wrong with a spec, and where one is.

A rule is written once, beside the check that applies it, with all that a person wants to know of it: `lint`
prints its findings, `docs/rules/` its words, and a test runs its two examples.
"""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """What a finding means for what it is found on.

    ERROR: it can't run, or must not; the operator does not start it. WARNING: it may fail, or runs and is
    probably not what was meant. ADVICE: something better is known. `lint` fails on errors alone.
    """

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"


class Decider(StrEnum):
    """Who refuses what an error is about, where the rules did not.

    POLICY: nobody; SpecDeploy refuses what an engine would take. PARSER: vLLM's parser and its configuration,
    before it loads anything. LATER: what comes after them (the pod's admission or start, the loading of
    weights, a model runner), or nobody, and it goes wrong.
    """

    POLICY = "policy"
    PARSER = "parser"
    LATER = "later"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: the field's path, why, and the fix; by which rule, and how bad it is."""

    field: str
    reason: str
    fix: str
    code: str = "SD001"
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        return f"{self.field}: {self.reason}; {self.fix}"


@dataclass(frozen=True)
class Rule:
    """One rule.

    Attributes:
        code: `SD` and three digits. Never changed, never used again.
        name: a few words in kebab-case, for people.
        severity: of every finding by this rule.
        title: what it says, in one line.
        why: what happens without it, in a sentence or a few.
        source: where the fact is from: vLLM's source or documentation, an issue, a measurement.
        refused: YAML of the keys of a spec in which the rule finds something; the rest is a small valid one.
        passed: the like in which it finds nothing.
        decided_by: of an error, who else refuses it; None: not said, and of what is no error.
    """

    code: str
    name: str
    severity: Severity
    title: str
    why: str
    source: str
    refused: str
    passed: str
    decided_by: Decider | None = None

    def at(self, field: str, reason: str, fix: str) -> Finding:
        """A finding by this rule: the field's path, what is wrong there, what to do."""
        return Finding(field, reason, fix, self.code, self.severity)


def errors(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Those that keep something from running."""
    return tuple(finding for finding in findings if finding.severity is Severity.ERROR)
