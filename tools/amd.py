"""Writes docs/amd.md from the engine's tables: `PYTHONPATH=operator python -m tools.amd`.

A test fails when the committed page is another.
"""

from pathlib import Path

from specdeploy.engine.accelerators import ARCHITECTURES, GPUS, Gpu
from specdeploy.engine.aiter import SWITCHES
from specdeploy.engine.attention import BACKENDS, READ, Backend
from specdeploy.engine.known_bad import KNOWN_BAD, NOT_CHECKABLE, KnownBad
from specdeploy.engine.versions import ALWAYS, Span
from tools.markdown import code, releases, table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "amd.md"

INTRODUCTION = """# AMD Instinct

Generated from the tables in `operator/specdeploy/engine/` by `tools/amd.py`; don't edit.

## Accelerators

`accelerator.type` becomes a node affinity on these device ids. Memory is that of one undivided device.

"""
PARTS = """
With the device plugin's naming strategy `mixed` a partition is a resource of its own, such as
`amd.com/cpx_nps4`: give it as `accelerator.resourceName`. With `single`, its default, partitions are
`amd.com/gpu` too, and only the node's labels tell how large one is. Clusters that offer GPUs by dynamic
resource allocation (DRA) alone are not supported yet.

| Architecture | FP8 in hardware | MXFP4, MXFP8 in hardware | AITER |
| --- | --- | --- | --- |
"""
ATTENTION = f"""
## Attention backends

In the order in which vLLM tries those that it chooses by itself, as read in {READ.since}. Name them for the
target (`engine.attentionBackend`) and for each drafter (`drafters[].attentionBackend`): what vLLM chooses has
changed between releases.

"""
SWITCHED = """
## Switches of AITER

All of them are identical in every arm: they move the speed more than many drafters do.

"""
BAD = """
## Known-bad combinations

Each is found by `lint` before a GPU is taken. Issues and pull requests are of vllm-project/vllm where no
other project is named.

"""
UNKNOWN = """
Not known before the start:

"""


def page() -> str:
    """The whole page."""
    generations = "".join(
        f"| {each.name} | {each.fp8 or 'no'} | {_yes(each.mx)} | {_yes(each.aiter)} |\n"
        for each in ARCHITECTURES.values()
    )
    return "".join(
        (
            INTRODUCTION,
            table(("Type", "Architecture", "GiB", "Device ids", "Partitions"), map(_gpu, GPUS.values())),
            PARTS,
            generations,
            ATTENTION,
            table(
                ("Backend", "Attention", "Runs on", "DFlash, DSpark", "Adaptive verification", "By itself"),
                map(_backend, BACKENDS.values()),
            ),
            SWITCHED,
            table(
                ("Variable", "Unless set", "Decides about"),
                ((f"`{s.name}`", _default(s.on), s.chooses) for s in SWITCHES.values()),
            ),
            BAD,
            table(("What happens", "vLLM", "What to do", "Source"), map(_bad, KNOWN_BAD)),
            UNKNOWN,
            table(("What", "Why, and what sees it"), NOT_CHECKABLE),
        )
    )


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def _gpu(gpu: Gpu) -> tuple[str, ...]:
    ids = code(gpu.physical) + (f", virtual {code(gpu.virtual)}" if gpu.virtual else "")
    modes = "unknown" if gpu.compute is None else ", ".join(f"{m} ({n})" for m, n in gpu.compute.items())
    pairs = ", ".join(sorted(f"{compute}_{memory}" for compute, memory in gpu.pairs))
    return (
        gpu.name,
        gpu.architecture,
        str(gpu.memory_gib),
        ids,
        (f"{modes}; {pairs}" if pairs else modes or "none"),
    )


def _backend(backend: Backend) -> tuple[str, ...]:
    uneven = "no" if backend.uneven is None else releases(backend.uneven)
    itself = f"with `{backend.switch}`" if backend.switch else "yes"
    return (
        f"`{backend.name}`",
        backend.kind.value,
        ", ".join(backend.architectures) or "none of these",
        "unknown" if backend.non_causal is None else ", ".join(backend.non_causal) or "no",
        uneven,
        itself if backend.chosen else "no",
    )


def _default(on: Span | None) -> str:
    return "off" if on is None else "on" if on == ALWAYS else f"on {releases(on)}"


def _bad(row: KnownBad) -> tuple[str, ...]:
    return f"{row.what} ({row.effect.value})", releases(row.span), row.fix, row.source


if __name__ == "__main__":
    PAGE.write_text(page())
