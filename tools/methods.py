"""Writes docs/methods.md from the engine's tables: `PYTHONPATH=operator python -m tools.methods`.

A test fails when the committed page is another.
"""

from pathlib import Path

from specdeploy.engine.methods import CHANGES, METHODS, MTP_ALIASES, NOT_TAKEN, Method
from specdeploy.engine.options import FIELDS, LOSSY, MODELS, OPTIONS, REFUSED, SYNTHETIC, VALUES, Option
from tools.markdown import code, releases, table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "methods.md"

INTRODUCTION = """# Methods of speculation

Generated from `operator/specdeploy/engine/methods.py` and `options.py` by `tools/methods.py`; don't edit.

Which checkpoints there are for a target, and what was measured of them: [catalogue.md](catalogue.md). What
`lint` says of a drafter: [rules](rules/README.md).
"""
OTHERS = """
## Methods of vLLM that are not taken

"""
CHANGED = """
## What a drafter changes beside the speed

vLLM says these in its log at most. Guards watch those that reach clients.

Every method:

"""
KEYS = """
## Keys of `drafters[].options`

In vLLM's own spelling; they go into `--speculative-config` as they are. A key that the engine's release does
not have keeps it from starting, so it is an error here.

"""
REJECTING = """
Values of `rejection_sample_method`:

"""


def page() -> str:
    """The whole page."""
    return "".join(
        (
            INTRODUCTION,
            "\n",
            table(("Method", "What it is", "vLLM", "`model`", "Drafts"), map(_method, METHODS.values())),
            "\n",
            table(("Method", "`numSpeculativeTokens`", "Runner", "Also"), map(_meaning, METHODS.values())),
            OTHERS,
            _not_taken(),
            CHANGED,
            _changes(),
            KEYS,
            table(
                ("Key", "Value", "Methods", "vLLM", "Absent"),
                (_option(name, option) for name, option in OPTIONS.items()),
            ),
            REJECTING,
            table(("Value", "vLLM", ""), _rejections()),
            _refused(),
        )
    )


def _method(method: Method) -> tuple[str, ...]:
    needs = f"{method.needs.value}; needs {method.package} in the image" if method.package else method.needs
    builds = " and ".join(str(version) for version in method.builds)
    has = releases(method.span) + (f" (and some builds of {builds})" if builds else "")
    return f"`{method.name}`", method.title, has, needs, method.drafts.value


def _meaning(method: Method) -> tuple[str, ...]:
    also = [*method.variants, *(["attention looks both ways"] if method.non_causal else [])]
    return f"`{method.name}`", method.tokens, method.runner.value, "; ".join(also)


def _not_taken() -> str:
    rows = [row for row in NOT_TAKEN.values() if row.name not in MTP_ALIASES]
    lines = table(
        ("vLLM's method", "vLLM", "Why", "Instead"),
        ((f"`{row.name}`", releases(row.span), row.why, row.instead) for row in rows),
    )
    return f"{lines}\nOld names of `mtp`: {code(MTP_ALIASES)}.\n"


def _changes() -> str:
    by_sentence: dict[str, list[str]] = {}
    for method in METHODS.values():
        for sentence in method.changes:
            by_sentence.setdefault(sentence, []).append(method.name)
    everywhere = "".join(f"* {sentence}.\n" for sentence in CHANGES)
    some = "".join(f"* {code(names, ', ')}: {sentence}.\n" for sentence, names in by_sentence.items())
    return f"{everywhere}\nSome:\n\n{some}"


def _option(name: str, option: Option) -> tuple[str, ...]:
    methods = "those that draft with a model" if option.methods == MODELS else code(option.methods, ", ")
    return f"`{name}`", option.kind.wanted, methods or "all", releases(option.span), option.default


def _rejections() -> list[tuple[str, ...]]:
    rejections = VALUES["rejection_sample_method"]

    def remark(name: str) -> str:
        if name in LOSSY:
            return "changes what users read; only with `allowLossy: true`"
        now = rejections[name].now
        return f"now `{now}`" if now else ""

    return [(f"`{name}`", releases(span), remark(name)) for name, span in rejections.items()]


def _refused() -> str:
    fields = ", ".join(f"`{key}` (`{field.name}`)" for key, field in FIELDS.items())
    never = ", ".join(f"`{key}` ({why}; {instead})" for key, (why, instead) in REFUSED.items())
    return (
        f"\nKeys that are fields of the drafter: {fields}. Refused: {never}; {code(SYNTHETIC, ', ')} and "
        "`rejection_sample_method: synthetic`, a test hook that makes answers up.\n"
    )


if __name__ == "__main__":
    PAGE.write_text(page())
