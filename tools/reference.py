"""Writes docs/reference.md from the types: `PYTHONPATH=operator:. python tools/reference.py`.

The fields come from the schema that the CRD carries, the words from `specdeploy.api.reasons`, the metrics
from `specdeploy.telemetry`; a test fails when the committed page is another.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from specdeploy.api import names, reasons
from specdeploy.api.crd import COLUMNS, object_schema
from specdeploy.judge.assess import ADVICE
from specdeploy.telemetry import Telemetry
from tools.markdown import code, table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference.md"
Schema = dict[str, Any]
# Field, type, default, bounds, description.
Row = tuple[str, str, str, str, str]

INTRODUCTION = f"""# Reference

Generated from the types by `tools/reference.py`; don't edit.

`{names.API_VERSION}`, kind `{names.KIND}`, namespaced; short name `sd`, category `inference`; subresources
`status` and `scale`. `metadata.name` is a DNS label that begins with a letter, at most 40 characters long.
`kubectl explain sd.spec` shows the same text. Core objects (an affinity, a volume ...) are handed on as they
are; the API server checks them when a Deployment is made.
"""
WORDS: tuple[tuple[str, type[reasons.Word], str], ...] = (
    ("Conditions", reasons.Condition, "`status.conditions[].type`, all set at first sight."),
    ("Reasons of conditions", reasons.Reason, "`status.conditions[].reason`."),
    ("States of a trial", reasons.TrialState, "`status.trial.state`, and the reason of `Trialing`."),
    ("Reasons of a trial's waiting", reasons.TrialReason, "`status.trial.reason`."),
    ("Outcomes", reasons.Outcome, "`status.verdicts[].outcome`, and the reason of the Event that tells it."),
    (
        "Reasons of verdicts",
        reasons.VerdictReason,
        "`status.verdicts[].reason`; or the kubelet's where a container can't start, as `ErrImageNeverPull`.",
    ),
    ("Events", reasons.EventReason, "Beside the outcomes."),
)  # fmt: skip


def page() -> str:
    """The whole page."""
    schema = object_schema()["properties"]
    parts = [INTRODUCTION, *_fields("spec", schema["spec"]), *_rules(), *_columns(), _annotations()]
    parts += _fields("status", schema["status"])
    parts += [_words(title, kind, where) for title, kind, where in WORDS]
    return "\n".join([*parts, _quarantine(), _skipped(), _metrics()])


def _fields(root: str, schema: Schema) -> Iterator[str]:
    """A table of what is plain, then one for each part that has fields of its own."""
    yield f"## {root}\n\n{schema['description']}\n"
    plain = list(_rows(root, schema, depth=0))
    yield table(("Field", "Type", "Default", "Bounds", "Meaning"), plain)
    for name, below in schema["properties"].items():
        if _inner(below):
            path = f"{root}.{name}{_suffix(below)}"
            yield f"### {path}\n\n{below['description']}\n"
            rows = _rows(path, _inner(below), depth=9)
            yield table(("Field", "Type", "Default", "Bounds", "Meaning"), rows)


def _rows(path: str, schema: Schema, *, depth: int) -> Iterator[Row]:
    """A row for each field of an object; the fields of objects in it too, `depth` levels down."""
    required = schema.get("required", [])
    for name, below in schema["properties"].items():
        here = f"{path}.{name}"
        default = "**required**" if name in required else _default(below)
        yield f"`{here}`", _type(below), default, _bounds(below), below["description"]
        if depth and _inner(below):
            yield from _rows(here + _suffix(below), _inner(below), depth=depth - 1)


def _inner(schema: Schema) -> Schema:
    """The object with fields that a field holds, or holds a list of; empty where there is none."""
    held = schema.get("items", schema)
    return held if "properties" in held else {}


def _suffix(schema: Schema) -> str:
    return "[]" if schema["type"] == "array" else ""


def _type(schema: Schema) -> str:
    if schema["type"] == "array":
        return f"list of {_type(schema['items'])}"
    if "additionalProperties" in schema:
        return f"map to {_type(schema['additionalProperties'])}"
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return "core object"
    return str(schema["type"])


def _default(schema: Schema) -> str:
    """What is stored where the field is absent; of an object, its fields say so themselves."""
    if "default" not in schema or schema["type"] == "object":
        return ""
    return f"`{json.dumps(schema['default'])}`"


def _bounds(schema: Schema) -> str:
    held = [
        code(schema.get("enum", ())),
        _range(schema, "minimum", "maximum", ""),
        _range(schema, "minLength", "maxLength", " characters"),
        _range(schema, "minItems", "maxItems", " items"),
        _range(schema, "minProperties", "maxProperties", " keys"),
        f"`{schema['pattern']}`" if "pattern" in schema else "",
        schema.get("format", ""),
    ]
    return "; ".join(bound for bound in held if bound)


def _range(schema: Schema, least: str, most: str, unit: str) -> str:
    low, high = schema.get(least), schema.get(most)
    if low is None and high is None:
        return ""
    if low is None:
        return f"at most {high}{unit}"
    return f"at least {low}{unit}" if high is None else f"{low} to {high}{unit}"


def _rules() -> Iterator[str]:
    yield "## Rules at admission\n\nBeside the bounds, the API server refuses what breaks one of these.\n"
    yield table(("Where", "Rule", "What it says"), _all_rules("", object_schema()))


def _all_rules(path: str, schema: Schema) -> Iterator[tuple[str, str, str]]:
    for rule in schema.get("x-kubernetes-validations", ()):
        where = f"{path}{rule.get('fieldPath', '')}" or "metadata.name"
        yield f"`{where}`", f"`{rule['rule']}`", rule["message"]
    for name, below in schema.get("properties", {}).items():
        yield from _all_rules(f"{path}.{name}".removeprefix("."), below)
    if "items" in schema:
        yield from _all_rules(f"{path}[]", schema["items"])


def _columns() -> Iterator[str]:
    yield "## Columns\n\nWhat `kubectl get sd` prints; those marked wide with `-o wide`.\n"
    rows = [
        (
            column["name"].upper() + (" (wide)" if column.get("priority") else ""),
            f"`{column['jsonPath']}`",
            column["description"],
        )
        for column in COLUMNS
    ]
    yield table(("Column", "From", "Meaning"), rows)


def _annotations() -> str:
    rows = [(f"`{name}`", meaning) for name, meaning in names.ANNOTATIONS.items()]
    return "## Annotations\n\nWhat may be written on a SpecDeployment.\n\n" + table(
        ("Annotation", "Value"), rows
    )


def _words(title: str, kind: type[reasons.Word], where: str) -> str:
    rows = [(f"`{word.value}`", word.meaning) for word in kind]
    return f"## {title}\n\n{where}\n\n" + table(("Word", "Meaning"), rows)


def _quarantine() -> str:
    listed = ", ".join(f"`{outcome.value}`" for outcome in reasons.Outcome if outcome in reasons.QUARANTINED)
    return (
        "## Quarantine\n\n"
        f"After {listed} a revision is not tried again until its configuration changes, its "
        f"`retryTime` has come or the annotation `{names.ANNOTATION_RETRY}` says so.\n"
    )


def _skipped() -> str:
    rows = [(f"`{reason.value}`", advice) for reason, advice in ADVICE.items()]
    text = "## Windows that do not count\n\nKeys of `status.trial.skipped`. None is good or bad evidence.\n\n"
    return text + table(("Reason", "What to do"), rows)


def _metrics() -> str:
    """Every metric that the operator exports."""
    rows = [
        (f"`{metric.name}`", metric.kind, code(metric.labels), metric.text)
        for metric in Telemetry().described
    ]
    text = (
        "## Metrics\n\nWhat the operator exports on `/metrics`. `arm` is baseline, trial or serving. What "
        "can't be told (an idle arm, no drafter) has no series; the series of an object go with it.\n\n"
    )
    return text + table(("Metric", "Type", "Labels", "Meaning"), rows)


if __name__ == "__main__":
    PAGE.write_text(page())
