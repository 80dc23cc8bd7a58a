"""Writes docs/catalogue.md and docs/catalogue.schema.json: `PYTHONPATH=operator:. python tools/catalogue.py`.

The words and numbers come from the catalogue's files and the types of their entries; a test fails when a
committed file is another.
"""

import json
from pathlib import Path

import msgspec

from specdeploy.engine.catalogue.entries import Checkpoint, Target
from specdeploy.engine.catalogue.evidence import best_measured, called, in_words
from specdeploy.engine.catalogue.load import targets
from tools.markdown import table

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "catalogue.md"
HEAD = ("Method", "Checkpoint", "N", "Begin with", "Best measured", "vLLM", "Source")
SCHEMA = DOCS / "catalogue.schema.json"

INTRODUCTION = """# The catalogue

Generated from `operator/specdeploy/engine/catalogue/data/` by `tools/catalogue.py`; don't edit.

What is known of targets and of their drafters: `lint` advises by it, `specdeploy catalog MODEL` prints it.
It is evidence, not a promise: ratios are of somebody's traffic and hardware; what serves is decided by yours.

## Adding to it

Copy an entry in one of the files, change it, and run

    PYTHONPATH=operator:. python tools/catalogue.py
    pytest tests/engine/test_catalogue.py

An editor with a YAML language server checks the files by `docs/catalogue.schema.json`. Leave out what you do
not know: a missing key means unknown. Each target, drafter and measurement names its source.

Entries of your own, for `lint` and `catalog`, go into a file of the same form: `--catalog FILE`. What it says
of a target that is known here goes before what is known, and its drafters come first. The operator takes the
same entries as the chart's value `catalog`.

| Key of a target | Meaning |
| --- | --- |
| `model` | hub id |
| `family` | groups targets that share rules |
| `attention` | `gqa`, `mla`, `sparse-mla`, or `hybrid`: some layers keep a state instead of a cache |
| `precision` | of the checkpoint's weights |
| `parameters`, `active` | billions: all, and those that a token uses |
| `weightsGib` | size of the checkpoint, where it is published |
| `layers`, `kvHeads`, `headDim` | of the layers that keep a cache of the whole context |
| `stateLayers`, `stateMib` | layers that keep a state, and the state of one request in all of them |
| `heads`, `experts` | of attention; that a router chooses from, 0 of a dense model |
| `vocabulary`, `context` | tokens |
| `config` | where a copy of its config.json was read, of which heads, experts and context are then |
| `since` | first vLLM release that runs it |
| `verified`, `unsupported` | accelerators on which vLLM's recipes say that the model runs, or does not; \
nothing on its drafters |
| `gated`, `licence` | on the hub |
| `source` | who says so |

| Key of a drafter | Meaning |
| --- | --- |
| `method`, `model` | as in `spec.drafters`; no `model`: the layers are in the target |
| `tokens` | `least` and `most` that make sense, and the number to begin with |
| `block` | tokens that it was trained to draft at once; DFlash counts its anchor |
| `chain` | mtp layers that draft one token each, where they are several |
| `parameters` | billions |
| `layers`, `kvHeads`, `headDim` | of its own cache; 0 layers: it reads the target's |
| `kvShare` | share of all cache that it takes, where that is published instead |
| `since`, `gated`, `licence`, `source` | as above |
| `backends` | attention backend by architecture with which it is known to work, where others are not |
| `options` | keys of vLLM's speculative config that it needs |
| `unsupported` | accelerators on which it is known not to run |
| `notes` | what else to know |
| `measured` | rows of measurements, as below |

| Key of a measurement | Meaning |
| --- | --- |
| `hardware`, `gpus` | kind and number of accelerators |
| `workload`, `concurrency` | prompts, and requests at once |
| `tokens` | numSpeculativeTokens |
| `ratio` | throughput relative to that without speculation |
| `acceptedLength` | tokens a step, the target's own included |
| `source` | who says so |
"""


def page() -> str:
    """docs/catalogue.md."""
    return "\n".join((INTRODUCTION, *map(_section, targets())))


def schema() -> str:
    """docs/catalogue.schema.json, of one file of the catalogue."""
    return json.dumps(msgspec.json.schema(tuple[Target, ...]), indent=2) + "\n"


def _section(target: Target) -> str:
    return f"## {target.model}\n\n{_where(target)}" + table(HEAD, map(_cells, target.drafters))


def _where(target: Target) -> str:
    """What its recipe says of accelerators; empty where that is nothing."""
    runs, fails = ", ".join(target.verified), ", ".join(target.unsupported)
    said = (
        f"Runs on {runs} by its recipe (the model, not its drafters)." if runs else "",
        f"Not on {fails} by its recipe." if fails else "",
    )
    return "".join(f"{each}\n" for each in said if each) + ("\n" if any(said) else "")


def _cells(drafter: Checkpoint) -> tuple[str, ...]:
    tokens, best = drafter.tokens, best_measured(drafter)
    return (
        called(drafter.method),
        f"`{drafter.model}`" if drafter.model else "in the target",
        f"{tokens.least} to {tokens.most}" if tokens.least < tokens.most else str(tokens.most),
        str(tokens.suggested),
        in_words(best) if best else "",
        drafter.since or "",
        drafter.source,
    )


if __name__ == "__main__":
    PAGE.write_text(page())
    SCHEMA.write_text(schema())
