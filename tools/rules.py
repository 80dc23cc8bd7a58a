"""Writes docs/rules/ from the rules: `PYTHONPATH=operator:. python tools/rules.py`.

A page for each code, a table of all of them, and what no rule can know; a test fails when the committed pages
are others.
"""

from collections.abc import Iterator
from pathlib import Path

from specdeploy.api.rule import Decider, Rule, Severity
from specdeploy.cli.engine_word import RULES as OF_THE_ENGINE
from specdeploy.cli.reading import RULES as OF_THE_FILE
from specdeploy.engine import known_bad, not_checkable
from specdeploy.engine.rules import RULES
from specdeploy.engine.rules.known import rule_of
from tools.markdown import capital, releases, table

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "rules"
INDEX, NOT_KNOWN = "README.md", "not-checkable.md"

ALL: tuple[Rule, ...] = tuple(sorted((*OF_THE_FILE, *RULES, *OF_THE_ENGINE), key=lambda rule: rule.code))

# By the first digit of the code.
CONCERNS = {
    "0": "The file",
    "1": "Arguments, environment and pod",
    "2": "Versions",
    "3": "Methods and checkpoints",
    "4": "Options",
    "5": "Combinations",
    "6": "Hardware",
    "7": "Memory",
    "8": "The catalogue",
    "9": "The engine's own word",
}
# What an example stands in, by the first digit of the code; the others are keys of a spec.
WHOLE_FILE = "A whole file."
PART_OF_A_SPEC = "Keys of `spec`; the rest is [the one of all examples](README.md#examples)."
# What an example is laid over, key by key.
BASE = """\
apiVersion: specdeploy.dev/v1alpha1
kind: SpecDeployment
metadata: {name: example}
spec:
  model: google/gemma-4-26B-A4B-it
  replicas: 4
  accelerator: {type: MI300X, count: 2}
  drafters: []
"""
SEVERITIES = {
    Severity.ERROR: "It can't run, or must not; the operator does not start it.",
    Severity.WARNING: "It may fail, or runs and is probably not what was meant.",
    Severity.ADVICE: "Something better is known.",
}
# Of an error, who else refuses it.
DECIDERS = {
    Decider.POLICY: "Decided by SpecDeploy: an engine would start.",
    Decider.PARSER: "Decided by vLLM's parser and configuration, before weights are loaded: `lint --engine` "
    "tells where an installed vLLM disagrees.",
    Decider.LATER: "Not decided by vLLM's parser and configuration: it shows later or elsewhere.",
}

INTRODUCTION = """# Rules

Generated from the rules by `tools/rules.py`; don't edit.

What [`specdeploy lint`](../lint.md) finds, and what the operator finds before a GPU is taken. A code is never
changed and never used again. What no rule can know before the start: [not checkable](not-checkable.md).
"""


EXAMPLES = """## Examples

Where an example is keys of `spec`, each takes the place of the key in this one:
"""


def pages() -> dict[str, str]:
    """File name -> text of every page."""
    return {INDEX: _index(), NOT_KNOWN: _not_known()} | {f"{rule.code}.md": _page(rule) for rule in ALL}


def _index() -> str:
    meanings = table(("Severity", "Meaning"), [(f"`{name}`", text) for name, text in SEVERITIES.items()])
    parts = [INTRODUCTION, meanings, f"{EXAMPLES}\n```yaml\n{BASE}```\n"]
    for digit, concern in CONCERNS.items():
        rules = [rule for rule in ALL if rule.code[2] == digit]
        rows = [
            (f"[{rule.code}]({rule.code}.md)", rule.severity.value, f"`{rule.name}`", capital(rule.title))
            for rule in rules
        ]
        parts += [f"## {concern}\n", table(("Code", "Severity", "Name", "What"), rows)]
    return "\n".join(parts)


def _page(rule: Rule) -> str:
    return "\n".join(_parts(rule))


def _parts(rule: Rule) -> Iterator[str]:
    yield f"# {rule.code}: {capital(rule.title)}\n"
    yield f"`{rule.name}`, {rule.severity.value}. {SEVERITIES[rule.severity]}\n"
    yield f"{rule.why.strip()}\n"
    if rule.decided_by:
        yield f"{DECIDERS[rule.decided_by]}\n"
    yield f"Source: {rule.source}\n"
    rows = [(capital(row.what), releases(row.span), row.fix, row.source) for row in _known(rule)]
    if rows:
        yield table(("What happens", "vLLM", "What to do", "Source"), rows)
    about = WHOLE_FILE if rule.code[2] == "0" else PART_OF_A_SPEC
    yield f"## Found in\n\n{_example(rule.refused, about)}"
    yield f"## Not found in\n\n{_example(rule.passed, about)}"
    yield f"[All rules]({INDEX})\n"


def _known(rule: Rule) -> list[known_bad.KnownBad]:
    """The combinations that are told by a rule."""
    return [row for row in known_bad.KNOWN_BAD if rule_of(row) is rule]


def _example(text: str, about: str) -> str:
    if not text.strip():
        return "No example is known.\n"
    return f"{about}\n\n```yaml\n{text.strip(chr(10))}\n```\n"


def unseen(rows: tuple[not_checkable.NotCheckable, ...]) -> list[tuple[str, str, str]]:
    """Cells of what is not known before the start."""
    return [(capital(each.what), each.why, each.seen_by or "nothing") for each in rows]


def _not_known() -> str:
    head = ("What", "Why it is not known", "Found by")
    return "\n".join(
        [
            "# Not checkable\n",
            "Generated by `tools/rules.py`; don't edit.\n",
            "What is known to go wrong and can't be known from a spec before the start, and what finds it.\n",
            "## Of drafters\n",
            table(head, unseen(not_checkable.OF_DRAFTERS)),
            "## Of engines\n",
            table(head, unseen(not_checkable.OF_ENGINES)),
            "## Ended, or taken care of by SpecDeploy\n",
            table(("What", "Why no rule looks for it"), not_checkable.HANDLED),
            f"[All rules]({INDEX})\n",
        ]
    )


def write() -> None:
    """Bring the folder to the pages: what is there and no page any more goes."""
    FOLDER.mkdir(exist_ok=True)
    wanted = pages()
    for file in FOLDER.glob("*.md"):
        if file.name not in wanted:
            file.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
