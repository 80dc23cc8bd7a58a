"""Writes docs/catalogue.md and docs/catalogue.schema.json: `PYTHONPATH=operator:. python tools/catalogue.py`.

The words and numbers come from the catalogue's files and the types of their entries; a test fails when a
committed file is another.
"""

import json
from pathlib import Path
from typing import get_args

import msgspec

from specdeploy.engine.catalogue.entries import Checkpoint, Measured, Method, Precision, Target, Tokens
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

```yaml
%s```

All that is wrong with an entry is told when it is read.

"""

# An entry with what most have; a test reads it.
EXAMPLE = """\
- model: our/Qwen3-8B-tuned
  family: qwen3
  attention: gqa
  precision: bf16
  parameters: 8.2
  layers: 36
  kvHeads: 8
  headDim: 128
  heads: 32
  experts: 0
  vocabulary: 151936
  context: 40960
  source: our own config.json
  drafters:
    - method: eagle3
      model: our/Qwen3-8B-tuned-eagle3
      tokens: {least: 2, most: 6, suggested: 4}
      parameters: 0.4
      layers: 1
      kvHeads: 8
      headDim: 128
      source: our own measurements, May 2026
      measured:
        - {hardware: MI300X, gpus: 1, workload: our chats, tokens: 4, ratio: 1.6, source: our own}
"""

# Of each kind of entry: its name, its type, and rows of keys that are told together.
KEYS: tuple[tuple[str, type[msgspec.Struct], tuple[tuple[tuple[str, ...], str], ...]], ...] = (
    (
        "target",
        Target,
        (
            (("model",), "hub id, or the path in the container"),
            (
                ("family",),
                "groups targets that share rules, such as qwen3.5; a name of your own where none does",
            ),
            (("source",), "who says so"),
            (
                ("attention",),
                "gqa; mla, which keeps a latent; sparse-mla, where an indexer picks the tokens too; hybrid, "
                "where some layers keep a state instead of a cache",
            ),
            (("precision",), "of the checkpoint's weights: " + ", ".join(get_args(Precision))),
            (("parameters", "active"), "billions: all, and those that a token uses"),
            (("weightsGib",), "size of the checkpoint, where it is published"),
            (("layers", "kvHeads", "headDim"), "of the layers that keep a cache of the whole context"),
            (("latent",), "of a hybrid target: whether those keep a latent, as with mla; no kvHeads then"),
            (
                ("stateLayers", "stateMib"),
                "layers that keep a state, and the state of one request in all of them",
            ),
            (("heads", "experts"), "of attention; that a router chooses from, 0 of a dense model"),
            (("vocabulary", "context"), "tokens"),
            (
                ("config",),
                "where a copy of its config.json was read, of which heads, experts, vocabulary and context "
                "are then",
            ),
            (("since",), "first vLLM release that runs it, such as 0.24.0"),
            (
                ("verified", "unsupported"),
                "accelerators on which vLLM's recipes say that the model runs, or does not; nothing on its "
                "drafters",
            ),
            (("gated", "licence"), "on the hub"),
            (("drafters",), "a list, as below"),
        ),
    ),
    (
        "drafter",
        Checkpoint,
        (
            (("method",), "as in `spec.drafters`: " + ", ".join(get_args(Method))),
            (("tokens",), "numbers of tokens, as below"),
            (("source",), "who says so"),
            (("model",), "the checkpoint; none: the layers are in the target"),
            (
                ("block",),
                "tokens that it was trained to draft at once; DFlash counts its anchor, so at least 2",
            ),
            (("chain",), "mtp layers that draft one token each, where they are several"),
            (("parameters",), "billions"),
            (("layers", "kvHeads", "headDim"), "of its own cache; 0 layers: it reads the target's"),
            (
                ("vocabulary", "config"),
                "of a small model that drafts: tokens, and where a copy of its config.json was read",
            ),
            (("kvShare",), "share of all cache that it takes, where that is published instead"),
            (("since", "gated", "licence"), "as above"),
            (
                ("backends",),
                "attention backend by architecture with which it is known to work, where others are not",
            ),
            (("options",), "keys of vLLM's speculative config that it needs"),
            (("unsupported",), "accelerators on which it is known not to run"),
            (("notes",), "what else to know"),
            (("measured",), "a list of measurements, as below"),
        ),
    ),
    (
        "drafter's `tokens`",
        Tokens,
        (
            (("least", "most"), "values of numSpeculativeTokens that make sense"),
            (("suggested",), "the one to begin with, not outside of them"),
        ),
    ),
    (
        "measurement",
        Measured,
        (
            (("hardware",), "kind of accelerator; not stated, where a source does not say"),
            (("workload",), "prompts"),
            (("tokens",), "numSpeculativeTokens"),
            (("ratio",), "throughput relative to that without speculation"),
            (("source",), "who says so"),
            (("gpus", "concurrency"), "accelerators, and requests at once"),
            (("acceptedLength",), "tokens a step, the target's own included"),
        ),
    ),
)


def page() -> str:
    """docs/catalogue.md."""
    keys = (_keys(*each) for each in KEYS)
    return "\n".join((INTRODUCTION % EXAMPLE + "\n".join(keys), *map(_section, targets())))


def schema() -> str:
    """docs/catalogue.schema.json, of one file of the catalogue."""
    return json.dumps(msgspec.json.schema(tuple[Target, ...]), indent=2) + "\n"


def _keys(name: str, kind: type[msgspec.Struct], rows: tuple[tuple[tuple[str, ...], str], ...]) -> str:
    required = {field.encode_name for field in msgspec.structs.fields(kind) if field.required}
    cells = [
        (", ".join(f"`{key}`" for key in keys), "yes" if required & set(keys) else "", text)
        for keys, text in rows
    ]
    return table((f"Key of a {name}", "Required", "Meaning"), cells)


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
