"""Writes docs/versions.md from the engine's tables: `PYTHONPATH=operator:. python tools/versions.py`.

What each release of vLLM brought and lost, as the rules know it; a test fails when the page is another.
"""

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

from specdeploy.engine.image import DEFAULT_IMAGE, DEPRECATED, NOT_ROCM
from specdeploy.engine.tables import flags, metrics, variables
from specdeploy.engine.tables.defaults import DEFAULTS
from specdeploy.engine.versions import NEWEST, OLDEST, Span
from tools.markdown import code, releases, table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "versions.md"

INTRODUCTION = f"""# Versions of vLLM

Generated from the tables in `operator/specdeploy/engine/` by `tools/versions.py`; don't edit.

The rules know vLLM {OLDEST} to {NEWEST}. The version is `engine.vllmVersion`; else what a running engine says
of itself; else what the image's tag says: `v0.33.0`, `v0.33.0-rocm72`, `v0.34.0rc1`,
`rocm7.0.0_vllm_0.18.1_20260101`. Where nothing tells, and for a newer vLLM, the rules of {NEWEST} are
applied, and what they do not know is doubted, not refused.

| Image | |
| --- | --- |
"""
NEW_RELEASE = """
## A new release

Add what it brought and lost to the tables in `engine/tables/` (flags, their values, keys, words and bounds,
variables, metrics, defaults), to `methods.py` and `options.py`; raise `NEWEST` in `versions.py`, name it in
`READ_WHOLE` if its configuration was read whole; run `make test-vllm` with that release installed: its own
parser tells what is missing.
"""


def page() -> str:
    """The whole page."""
    return "\n".join(
        (
            INTRODUCTION + _images() + NEW_RELEASE,
            _changes("Flags of `vllm serve`", flags.SPANS),
            _pairs("Flags that were gone before", ("Flag", "Now"), flags.GONE_BEFORE),
            _pairs("Flags that will go", ("Flag", "vLLM warns"), _warnings()),
            _changes("Environment variables", variables.SPANS),
            _pairs("Variables that are gone", ("Variable", "Now"), variables.INSTEAD),
            _defaults(),
            _changes("Metrics", metrics.SPANS),
            _pairs("What takes metrics away", ("With", "Missing"), metrics.TAKEN_AWAY, as_code=False),
        )
    )


def _images() -> str:
    rows = [(f"`{DEFAULT_IMAGE}`", "where a spec names none")]
    rows += [(f"`{name}`", f"{what}: refused on AMD GPUs") for name, what in NOT_ROCM.items()]
    rows += [(f"`{name}`", "deprecated by AMD") for name in DEPRECATED]
    return "".join(f"| {name} | {what} |\n" for name, what in rows)


def _warnings() -> dict[str, str]:
    spans = flags.DEPRECATED
    return {name: f"{releases(span)}; {flags.INSTEAD[name]}" for name, span in spans.items()}


def _defaults() -> str:
    rows = [
        (
            f"`{row.flag}`",
            f"{row.value:g}",
            releases(row.span),
            f"{row.memory_gib:g} GiB" if row.memory_gib else "any",
        )
        for row in DEFAULTS
    ]
    return "## Defaults\n\nThe first row that holds.\n\n" + table(
        ("Flag", "Default", "vLLM", "GPUs from"), rows
    )


def _changes(title: str, spans: Mapping[str, Span]) -> str:
    """Release by release, what came and what went."""
    steps = [(span.since, 0, name) for name, span in spans.items() if span.since]
    steps += [(span.until, 1, name) for name, span in spans.items() if span.until]
    rows = []
    for release, changes in groupby(sorted(steps), key=lambda step: step[0]):
        listed = list(changes)
        brought, lost = (code(name for _, kind, name in listed if kind == which) for which in (0, 1))
        rows.append((str(release), brought, lost))
    steady = sum(span.since is None for span in spans.values())
    return f"## {title}\n\n{steady} are known of {OLDEST}.\n\n" + table(("vLLM", "Brought", "Lost"), rows)


def _pairs(title: str, head: tuple[str, str], pairs: Mapping[str, str], as_code: bool = True) -> str:
    rows = [(f"`{name}`" if as_code else name, text) for name, text in pairs.items()]
    return f"### {title}\n\n" + table(head, rows)


if __name__ == "__main__":
    PAGE.write_text(page())
